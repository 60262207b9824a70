"""A program that a test starts, kills, stops and starts again; what it prints goes to a file."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

STOP_SECONDS_MAX = 60.0
LOOK_SECONDS = 0.02
LOG_CHARACTERS_SHOWN_MAX = 4_000


class Program:
    """One role of NoETL as a process of its own, in a session of its own."""

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        *,
        folder: Path,
        environ: Mapping[str, str],
        is_ready: Callable[["Program"], bool],
    ) -> None:
        self.name = name
        self.words = tuple(words)
        self.folder = folder
        self.environ = dict(environ)
        self.log_file = folder / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._is_ready = is_ready
        self._log_start = 0

    def start(self) -> None:
        """Start it; does not wait until it is ready."""
        assert not self.is_running, f"{self.name} runs already"
        with self.log_file.open("ab") as log:
            self._log_start = log.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "noetl", *self.words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self.environ,
                start_new_session=True,
            )

    def await_ready(self, seconds_max: float) -> None:
        deadline = time.monotonic() + seconds_max
        while not self._is_ready(self):
            assert self.is_running, f"{self.name} ended by itself:\n{self.log_tail}"
            assert time.monotonic() < deadline, f"{self.name} is not ready after {seconds_max} s:\n{self.log_tail}"
            time.sleep(LOOK_SECONDS)

    @property
    def is_settled(self) -> bool:
        """Ready, or ended: not in the middle of its start."""
        return not self.is_running or self._is_ready(self)

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def log(self) -> str:
        """What it has printed since it was last started."""
        with suppress(FileNotFoundError), self.log_file.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode("utf-8", "replace")
        return ""

    @property
    def log_tail(self) -> str:
        return self.log[-LOG_CHARACTERS_SHOWN_MAX:]

    def signal(self, number: signal.Signals) -> None:
        """To the process alone; what it has started has to notice by itself."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)

    def kill(self) -> None:
        """kill -9, and gone when this returns."""
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait(STOP_SECONDS_MAX)

    def pause(self) -> None:
        self.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.signal(signal.SIGCONT)

    def stop(self, seconds_max: float = STOP_SECONDS_MAX) -> int:
        """SIGTERM, and wait for the clean end; what it ended with."""
        assert self.process is not None
        self.go_on()
        self.signal(signal.SIGTERM)
        return self.process.wait(seconds_max)

    def discard(self) -> None:
        """The test is over: nothing of it may stay behind, its children included."""
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_SECONDS_MAX)
