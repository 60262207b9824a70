"""Level sandbox: a program behind namespaces, another user and a filter of system calls, with bubblewrap's help.

Inside there is a read-only file system of the interpreter, its packages and the system's libraries, a small /tmp of the
program's own, no network, no other process, and nothing of the worker: not its data, its playbooks or its environment.
A worker that runs as root gives the program another user in earnest; any other worker puts it into a user namespace.
Limits are set by the program's own first lines (confined.py). A child answers one question and is gone, so that
nothing one task left is seen by the next.

Whether this machine can do it is tried once, with the very words that are used later; if not, tasks are refused.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import site
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from noetl.tools.isolation import Launch, scrubbed_environment
from noetl.tools.seccomp import filter_program

PROGRAM = "bwrap"
NOBODY = 65534
TRIAL_SECONDS_MAX = 10.0
REASON_CHARACTERS_MAX = 200
# Whoever the program becomes must still be able to read the interpreter and its packages.
TRIAL = "import sys; sys.path.append(sys.argv[1]); {preparation}; import asyncio, noetl.tools.json_data"
SCRATCH_BYTES_MAX = 64 * 1024 * 1024  # of /tmp and of /dev/shm, which are memory
PACKAGES = Path(__file__).parents[2]
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/ssl", "/etc/pki")
NAMESPACES = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
AS_ROOT = ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")  # to become somebody else
AS_ANYONE = ("--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY), "--cap-drop", "ALL")
HOW_TO = "Install bubblewrap where the worker runs and allow it namespaces, or use process"


class Sandbox:
    """A fence; see `noetl.tools.isolation.Fence`."""

    questions_max = 1

    def __init__(self, hidden: Sequence[Path] = ()) -> None:
        self._hidden = tuple(hidden)  # folders that are not seen, even inside one that is
        self._way: tuple[tuple[str, ...], int] | None = None
        self._fault: str | None = None

    @property
    def preparation(self) -> str:
        """A child's first lines: become another user, if that is left to it, and accept limits."""
        return _preparation(self._way[1] if self._way else 0)

    async def fault(self) -> str | None:
        """Why there is no sandbox on this machine; None: there is one."""
        if self._way is None and self._fault is None:
            self._fault = await self._tried()
        return self._fault

    @contextmanager
    def around(self, words: Sequence[str], env: Mapping[str, str]) -> Iterator[Launch]:
        if self._way is None:
            raise RuntimeError("a sandbox is tried before it is used")
        with self._launch(self._way[0], words, env) as launch:
            yield launch

    async def _tried(self) -> str | None:
        if sys.platform != "linux":
            return f"{sys.platform} has no namespaces"
        if shutil.which(PROGRAM) is None:
            return "bubblewrap (bwrap) is not installed"
        said = ""
        for way in ((AS_ROOT, NOBODY), (AS_ANYONE, 0)) if os.geteuid() == 0 else ((AS_ANYONE, 0),):
            trial = TRIAL.format(preparation=_preparation(way[1]))
            words = (sys.executable, "-I", "-c", trial, str(PACKAGES))
            with self._launch(way[0], words, scrubbed_environment()) as launch:
                said = await _run(launch)
            if not said:
                self._way = way
                return None
        return f"bubblewrap cannot make one here: {said}"

    @contextmanager
    def _launch(self, identity: Sequence[str], words: Sequence[str], env: Mapping[str, str]) -> Iterator[Launch]:
        with ExitStack() as undo:
            descriptors = _filter_descriptors(undo)
            filtering = [word for descriptor in descriptors for word in ("--seccomp", str(descriptor))]
            yield Launch(
                words=(PROGRAM, *NAMESPACES, *identity, *self._file_system(), *filtering, "--die-with-parent", *words),
                env={**env, "HOME": "/tmp", "TMPDIR": "/tmp"},  # noqa: S108 - a /tmp of its own
                descriptors=descriptors,
            )

    def _file_system(self) -> list[str]:
        words = ["--proc", "/proc", "--dev", "/dev", *_scratch("/dev/shm"), *_scratch("/tmp")]  # noqa: S108 - its own
        for folder in map(Path, SYSTEM_FOLDERS):
            if folder.is_symlink():
                words += ["--symlink", str(folder.readlink()), str(folder)]
            elif folder.is_dir():
                words += ["--ro-bind", str(folder), str(folder)]
        shown = [*map(Path, SYSTEM_FILES), *_interpreter_folders()]
        for above in sorted({above for folder in shown for above in folder.parents} - {Path("/"), Path("/usr")}):
            words += ["--dir", str(above)]  # else they would be made for the worker's user alone
        for place in shown:
            words += ["--ro-bind-try", str(place), str(place)]
        for folder in self._hidden:
            is_shown = any(folder.resolve().is_relative_to(each) for each in (Path("/usr"), *shown))
            if is_shown and folder.is_dir():
                words += ["--tmpfs", str(folder.resolve())]
        return [*words, "--remount-ro", "/", "--chdir", "/tmp"]  # noqa: S108 - its own


def _preparation(user: int) -> str:
    return f"from noetl.tools.confined import confine; confine({user})"


def _scratch(place: str) -> tuple[str, ...]:
    """A small folder in memory that anyone may write to."""
    return ("--size", str(SCRATCH_BYTES_MAX), "--perms", "1777", "--tmpfs", place)


def _interpreter_folders() -> list[Path]:
    """Where this interpreter and its packages are, the outer ones first."""
    places = {
        sys.prefix,
        sys.exec_prefix,
        sys.base_prefix,
        sys.base_exec_prefix,
        *site.getsitepackages(),
        str(PACKAGES),
    }
    folders = {Path(place) for place in places} - {Path("/")}  # an odd build must not show the whole machine
    return sorted(folder for folder in folders if not folder.is_relative_to("/usr"))


def _filter_descriptors(undo: ExitStack) -> tuple[int, ...]:
    """The filter of system calls as an open file, which bubblewrap reads to its end: so a new one for each start."""
    program = filter_program()
    if program is None:
        return ()
    descriptor = os.memfd_create("seccomp")
    undo.callback(os.close, descriptor)
    os.write(descriptor, program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return (descriptor,)


async def _run(launch: Launch) -> str:
    """What a program complained of; nothing if it ran."""
    process = await asyncio.create_subprocess_exec(
        *launch.words,
        env=launch.env,
        pass_fds=launch.descriptors,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(TRIAL_SECONDS_MAX):
            _, said = await process.communicate()
    except TimeoutError:
        return f"it did not start within {TRIAL_SECONDS_MAX:g} s"
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    words = said.decode("utf-8", "replace").strip()[-REASON_CHARACTERS_MAX:]
    return "" if process.returncode == 0 else words or f"it ended with exit code {process.returncode}"
