"""What checkers look at: executions and their logs, the ledger that the tools wrote, and the report of what was found.

Imports nothing of NoETL: it knows the names of events and the shape of two files. A line of the ledger:

    begun   <key> <attempt> <nonce> <nonce of the result it was given, or -> <time>
    ended   the same
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

LOST, DOUBLED, LIMIT, LIVING = "lost", "doubled", "limits exceeded", "not ended"
KINDS = (LOST, DOUBLED, LIMIT, LIVING, OTHER := "other faults")
FAULTS_SHOWN_MAX = 50

Attempt = tuple[str, int]  # task run and attempt
Event = dict[str, Any]


class Execution(NamedTuple):
    id: int
    path: str
    status: str
    head: int
    request_key: str | None
    parent_id: int | None
    parent_key: str | None


class Execute(NamedTuple):
    """One execution of a tool, from its line in the ledger."""

    attempt: Attempt
    nonce: str
    previous: str
    begun_at: float
    ended_at: float | None


class Record(NamedTuple):
    """What counted of one attempt."""

    nonce: str
    execution_id: int
    run: int
    iter: int


class Report:
    """The faults, and what was looked at: a checker that looked at nothing finds nothing."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.kinds: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
        self.seen: Counter[str] = Counter()

    def demand(self, is_so: object, fault: str, kind: str = OTHER) -> None:
        self.seen["demands"] += 1
        if not is_so:
            self.faults.append(fault)
            self.kinds[kind] += 1

    def as_data(self) -> dict[str, Any]:
        return {
            "faults": self.faults[:FAULTS_SHOWN_MAX],
            "fault_count": len(self.faults),
            "kinds": dict(self.kinds),
            "seen": dict(self.seen),
        }


class Logs:
    """The logs by execution, each read when it is asked for: an hour of them is more than memory should hold."""

    def __init__(self, read: Callable[[int], list[Event]]) -> None:
        self._read = read
        self._latest: tuple[int, list[Event]] = (0, [])

    def __getitem__(self, execution_id: int) -> list[Event]:
        if self._latest[0] != execution_id:
            self._latest = (execution_id, self._read(execution_id))
        return self._latest[1]


def ledger_of(file: Path) -> tuple[dict[str, Execute], int]:
    """Executions of tools by their nonce; and lines that are torn: a process was killed while it wrote."""
    found: dict[str, Execute] = {}
    torn = 0
    for line in file.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if len(words) != 6 or words[0] not in ("begun", "ended"):
            torn += 1
            continue
        word, key, attempt, nonce, previous, at = words
        if word == "begun":
            found[nonce] = Execute((task_run_of(key), int(attempt)), nonce, previous, float(at), None)
        elif nonce in found:
            found[nonce] = found[nonce]._replace(ended_at=float(at))
    return found, torn


def task_run_of(key: str) -> str:
    """`<trace>.<task run>.<answers before>` → the task run."""
    return key.partition(".")[2].rpartition(".")[0]


def task_run(execution_id: int, event: Event) -> str:
    return f"{execution_id}:{event['run']}:{event['iter']}:{event['task']}:{event['visit']}"


def records_of(execution: Execution, log: list[Event]) -> Iterator[tuple[Attempt, Record]]:
    """Attempts whose result is a nonce."""
    for event in log:
        data = (event.get("output") or {}).get("data") if event["name"] == "task.done" else None
        if isinstance(data, dict) and "nonce" in data:
            name = task_run(execution.id, event)
            yield (name, event["attempt"]), Record(data["nonce"], execution.id, event["run"], event["iter"])
