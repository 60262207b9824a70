"""Which processes a test has started, through whomever: a probe for what a tool leaves behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
PS_SECONDS_MAX = 10.0


class Processes:
    """The processes below this one, and those that once were: an orphan is nobody's child, and runs all the same."""

    def __init__(self) -> None:
        self.before = _below(os.getpid(), _table())
        self.seen: set[int] = set()

    def __call__(self) -> frozenset[int]:
        """Those started since this probe was made that still run."""
        table = _table()
        self.seen |= _below(os.getpid(), table) - self.before
        return frozenset(self.seen & table.keys())


def _below(top: int, parents: dict[int, int]) -> set[int]:
    found: set[int] = set()
    newest = {top}
    while newest:
        newest = {process for process, parent in parents.items() if parent in newest} - found
        found |= newest
    return found


def _table() -> dict[int, int]:
    """Each running process and its parent; zombies have ended."""
    rows = _rows_of_linux() if PROC.is_dir() else _rows_of_ps()
    return {int(process): int(parent) for process, parent, state in rows if not state.startswith("Z")}


def _rows_of_linux() -> Iterator[tuple[str, str, str]]:
    for file in PROC.glob("[0-9]*/stat"):
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it ended meanwhile
        state, parent = text.rpartition(")")[2].split()[:2]  # a name may have spaces and brackets of its own
        yield file.parent.name, parent, state


def _rows_of_ps() -> Iterator[tuple[str, str, str]]:
    with subprocess.Popen(["/bin/ps", "-A", "-o", "pid=,ppid=,state="], stdout=subprocess.PIPE, text=True) as ps:
        for line in ps.communicate(timeout=PS_SECONDS_MAX)[0].splitlines():
            process, parent, state = line.split()
            if process != str(ps.pid):
                yield process, parent, state
