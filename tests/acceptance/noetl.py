"""NoETL as a whole process over a home of its own: what a person at a terminal, or a script, has in hand."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

SECONDS_MAX = 60.0  # for one command; far more than any needs on a busy machine
LOOK_SECONDS = 0.02
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: trial, path: tests/trial}\n"
WITH_FAULT = """
import sys
from pkgutil import resolve_name

def divide(*_, **__):
    return 1 / 0

owner, _, name = sys.argv[1].rpartition(".")
setattr(resolve_name(owner), name, divide)
from noetl.cli import main
sys.exit(main(sys.argv[2:]))
"""


class Ended(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        assert self.out, self.err
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The JSON objects on standard output, one per line."""
        return [json.loads(line) for line in self.out.splitlines()]


class Noetl:
    """A folder with playbooks in it, and the command line over a NOETL_HOME below it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.store = self.home / "noetl.db"
        self.results = self.home / "noetl.results"
        self.environ: dict[str, str] = {}

    def write(self, body: str, name: str = "trial.yaml") -> str:
        """Write a playbook; its head is added unless it has one."""
        text = textwrap.dedent(body).lstrip("\n")
        (self.folder / name).write_text(text if "apiVersion:" in text else HEAD + text, encoding="utf-8")
        return name

    def __call__(self, *words: str, stdin: str = "") -> Ended:
        """Run one command to its end."""
        ended = self._ended([sys.executable, "-m", "noetl", *words], stdin)
        assert "Traceback" not in ended.err, ended.err
        return ended

    def with_fault(self, place: str, *words: str) -> Ended:
        """Run one command in which a function of NoETL, named by its dotted place, divides by zero."""
        return self._ended([sys.executable, "-c", WITH_FAULT, place, *words])

    def _ended(self, command: list[str], stdin: str = "") -> Ended:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            cwd=self.folder,
            timeout=SECONDS_MAX,
            env=self.variables,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def run(self, body: str, *words: str) -> Ended:
        """`noetl run` of a playbook written here, as JSON."""
        return self("run", self.write(body), "--format", "json", *words)

    def succeed(self, body: str, *words: str) -> dict[str, Any]:
        """What a run printed that must have ended well."""
        ended = self.run(body, *words)
        assert ended.code == 0, (ended.out, ended.err)
        return dict(ended.document)

    def events(self, execution: str = "last") -> list[dict[str, Any]]:
        return self("events", execution, "--format", "json").lines

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Read the store's file itself, not through NoETL."""
        connection = sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def log(self) -> list[dict[str, Any]]:
        """Every event of the store's file, as it was written."""
        blocks = [body for (body,) in self.rows("SELECT body FROM event_block ORDER BY execution_id, last_seq")]
        return [event for body in blocks for event in json.loads(body if body[:1] == b"[" else zlib.decompress(body))]

    @property
    def variables(self) -> dict[str, str]:
        return {**os.environ, "NOETL_HOME": str(self.home), **self.environ}

    @contextmanager
    def running(self, *words: str) -> Iterator["Running"]:
        """A command that goes on while the test does something else; ended by force if the test did not end it."""
        process = subprocess.Popen(
            [sys.executable, "-m", "noetl", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=self.folder,
            env=self.variables,
        )
        try:
            yield Running(process)
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


class Running:
    """A command under way."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def interrupt(self) -> None:
        """What Ctrl-C sends."""
        self.process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        self.process.kill()

    def ended(self) -> Ended:
        """Wait for its end."""
        out, err = self.process.communicate(timeout=SECONDS_MAX)
        assert "Traceback" not in err, err
        return Ended(self.process.returncode, out, err)


def until(is_so: Callable[[], object], what: str) -> None:
    """Look until something another process does has happened."""
    deadline = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(LOOK_SECONDS)


def named(events: list[dict[str, Any]], name: str, **fields: Any) -> list[dict[str, Any]]:
    """The events of a name whose top-level fields are these."""
    return [event for event in events if event["name"] == name and fields.items() <= event.items()]
