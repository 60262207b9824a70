"""A program of a peer and all it starts: what they say, the most memory they have, and their end.

The program gets a session of its own. When it has ended, or is given up, whatever is left of that session is killed.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.machine import shared_mebibytes, tree

STOP_SECONDS_MAX = 30.0
COMPLAINT_CHARACTERS_MAX = 300
FOLDER = re.compile(r"(?<![\w:/])/(?:[^\s/:'\"]+/)+")  # of a file's path, not of an address
SESSION = 3  # of the fields of /proc/PID/stat after the name


class Program:
    """A started program.

    What it says goes to files: a pipe would stay open as long as anything that it left behind. Its standard input is a
    pipe that nobody writes to: it ends with us, so that a program can end when we are killed.
    """

    def __init__(self, command: Sequence[str], folder: Path, output: Path, variables: Mapping[str, str]) -> None:
        self.output, self.errors = output / "output.txt", output / "errors.txt"
        self.peak_mebibytes: float | None = None
        with self.output.open("wb") as out, self.errors.open("wb") as err:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=variables,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def return_code(self) -> int | None:
        return self._process.returncode

    def wait(self, seconds_max: float, look_seconds: float | None) -> None:
        """Until it ends, looking at its memory every `look_seconds`. Raises subprocess.TimeoutExpired."""
        looking = _Looking(self._process.pid, look_seconds) if look_seconds is not None else None
        try:
            self._process.wait(seconds_max)
        finally:
            if looking is not None:
                self.peak_mebibytes = looking.end()

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS_MAX)
        _kill_session(self._process.pid)
        self._process.communicate()  # waits for it, and closes the pipe

    def lines(self) -> list[str]:
        return self.output.read_text(encoding="utf-8", errors="replace").splitlines()

    def complaint(self) -> str:
        """The last thing it said, without the folders of this machine."""
        said = self.errors.read_text(encoding="utf-8", errors="replace").splitlines() or self.lines()
        last = next((line.strip() for line in reversed(said) if line.strip()), "it said nothing")
        return FOLDER.sub("", last)[:COMPLAINT_CHARACTERS_MAX]


class _Looking:
    """A thread that looks at the memory of a process and of all below it. Without /proc it finds nothing."""

    def __init__(self, pid: int, look_seconds: float) -> None:
        self._pid, self._look_seconds = pid, look_seconds
        self._mebibytes = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._is_over.is_set():
            self._mebibytes = max(self._mebibytes, shared_mebibytes(tree(self._pid)))
            self._is_over.wait(self._look_seconds)

    def end(self) -> float | None:
        self._is_over.set()
        self._thread.join()
        return self._mebibytes or None


@contextmanager
def started(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> Iterator[Program]:
    """A program that runs in `folder`; afterwards nothing of it runs."""
    with tempfile.TemporaryDirectory(prefix="bench-") as output:
        program = Program(command, folder, Path(output), variables)
        try:
            yield program
        finally:
            program.end()


def _kill_session(session: int) -> None:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[SESSION]) == session:
                os.kill(int(entry.name), signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):  # where there is no /proc: at least the group
        os.killpg(session, signal.SIGKILL)
