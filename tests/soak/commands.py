"""Rounds of `noetl run` in a home of their own: killed or paused in the middle, and resumed until they have ended.

What a command has printed is a promise: the number of the execution, and at its end how it went.
"""

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

from tests.soak.playbooks import ALL

SHAPES = ("chain", "loops", "caller", "stubborn", "bulky")
KILL_SECONDS = (0.2, 6.0)  # after the start of a command
PAUSE_SECONDS = (0.5, 8.0)
COMMAND_SECONDS_MAX = 600.0
RESUMES_MAX = 200  # of one execution: it is left for the checker to find
BETWEEN_SECONDS = 0.5
LIVE = "SELECT id FROM execution WHERE parent_id IS NULL AND status IN ('running', 'waiting', 'incident') ORDER BY id"
BEGUN = re.compile(r"^▸ \S+: execution (\d+)$", re.MULTILINE)
ENDED = re.compile(r"^\S (success|failed|cancelled) in .* · execution (\d+)$", re.MULTILINE)


class Commands:
    """See above; used as a block, at whose end every execution has ended or has had its chances."""

    def __init__(self, folder: Path, seed: int, environ: Mapping[str, str]) -> None:
        self.home = folder / "home"
        self.ledger = folder / "ledger"
        self.promises = folder / "promises"
        self.printed = folder / "printed"
        self.environ = {**environ, "NOETL_HOME": str(self.home)}
        self.chance = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.failure: BaseException | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="commands", daemon=True)
        folder.mkdir(parents=True)
        self.ledger.touch()
        self.promises.touch()
        for name, text in ALL.items():
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")

    def __enter__(self) -> "Commands":
        code = self._started("catalog", "register", str(self._file("called"))).wait(COMMAND_SECONDS_MAX)
        assert code == 0, self.printed.read_text(encoding="utf-8")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.calm()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def calm(self) -> None:
        """From here on nothing happens to a command, and the round that is under way is the last one."""
        self._ending.set()

    def _run(self) -> None:
        try:
            while not self._ending.wait(BETWEEN_SECONDS):
                self.play(self.chance.choice(SHAPES))
        except BaseException as failure:  # raised where the soak waits for this thread
            self.failure = failure

    def play(self, shape: str) -> None:
        """One round: run, disturb, resume."""
        self.counts["run"] += 1
        self._disturbed("run", str(self._file(shape)), "--set", f"ledger={self.ledger}")
        for _ in range(RESUMES_MAX):
            if not (left := live_in(self.home)):
                return
            self._disturbed("resume", str(left[0]))

    def _disturbed(self, *words: str) -> None:
        """One command, to which something may happen."""
        process = self._started(*words)
        fault = "" if self._ending.is_set() else self.chance.choice(("kill", "kill", "pause", ""))
        with suppress(subprocess.TimeoutExpired):
            process.wait(self.chance.uniform(*KILL_SECONDS) if fault else COMMAND_SECONDS_MAX)
        if process.poll() is None:
            assert fault, f"{words} takes longer than {COMMAND_SECONDS_MAX} s"
            self.counts[fault] += 1
            self._hit(process, fault)
        self._promise_printed()

    def _hit(self, process: "subprocess.Popen[bytes]", fault: str) -> None:
        if fault == "kill":
            process.kill()
        else:
            process.send_signal(signal.SIGSTOP)
            self._ending.wait(self.chance.uniform(*PAUSE_SECONDS))
            process.send_signal(signal.SIGCONT)
        process.wait(COMMAND_SECONDS_MAX)

    def _started(self, *words: str) -> "subprocess.Popen[bytes]":
        with self.printed.open("wb") as printed:
            return subprocess.Popen(
                [sys.executable, "-m", "noetl", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=printed,
                env=self.environ,
                start_new_session=True,
            )

    def _promise_printed(self) -> None:
        text = self.printed.read_text(encoding="utf-8", errors="replace")
        begun = [{"what": "begin", "execution_id": number} for number in BEGUN.findall(text)]
        ended = [{"what": "end", "execution_id": number, "status": status} for status, number in ENDED.findall(text)]
        with self.promises.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(promise) + "\n" for promise in (*begun, *ended))
            file.flush()
            os.fsync(file.fileno())

    def _file(self, shape: str) -> Path:
        return self.ledger.with_name(f"{shape}.yaml")


def live_in(home: Path) -> list[int]:
    """Executions that nobody called and that have not ended."""
    try:
        with closing(sqlite3.connect(f"file:{home / 'noetl.db'}?mode=ro", uri=True)) as connection:
            return [number for (number,) in connection.execute(LIVE)]
    except sqlite3.OperationalError:  # it was killed before there was a file, or a table
        return []
