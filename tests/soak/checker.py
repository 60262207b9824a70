"""Whether an embedded deployment kept its word, by what is on record: its SQLite file, its result files, the ledger.

    python -m tests.soak.checker HOME LEDGER PROMISES

Imports nothing of NoETL, so it cannot share a mistake with it. What there is to say of executions and their logs is
said by the checker of clusters; this one reads them from SQLite, and adds what only an embedded deployment has: the
file is sound, each result that the log refers to is there and whole, and what a command printed is what is on record.
Run it when nobody has the store. Prints one JSON document; exit code 1 where it finds a fault.
"""

import hashlib
import json
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.cluster.checks import check_record
from tests.cluster.record import LOST, Event, Execution, Logs, Report


def check(home: Path, ledger_file: Path, promises_file: Path) -> Report:
    report = Report()
    with closing(sqlite3.connect(f"file:{home / 'noetl.db'}?mode=ro", uri=True)) as connection:
        damage = damage_of(connection)
        report.demand(not damage, f"the file is damaged: {damage[:5]}", LOST)
        if not damage:
            check_executions(report, connection, home, ledger_file, promises_file)
    return report


def damage_of(connection: sqlite3.Connection) -> list[str]:
    """What SQLite says of its own file."""
    try:
        found = [word for (word,) in connection.execute("PRAGMA integrity_check")]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [] if found == ["ok"] else found


def check_executions(
    report: Report, connection: sqlite3.Connection, home: Path, ledger_file: Path, promises_file: Path
) -> None:
    executions = executions_of(connection)
    results = Results(home / "noetl.results", report)
    logs = Logs(lambda execution_id: events_of(connection, execution_id, results))
    check_strays(report, connection)
    check_record(report, executions, logs, ledger_file, promises_file)
    check_printed(report, executions, promises_file)


def check_strays(report: Report, connection: sqlite3.Connection) -> None:
    (strays,) = connection.execute(
        "SELECT count(*) FROM event_block WHERE execution_id NOT IN (SELECT id FROM execution)"
    ).fetchone()
    report.demand(strays == 0, f"{strays} blocks of events belong to no execution", LOST)


def executions_of(connection: sqlite3.Connection) -> list[Execution]:
    rows = connection.execute(
        "SELECT id, path, status, head, request_key, parent_id, parent_key FROM execution ORDER BY id"
    )
    return [Execution(*row) for row in rows]


def events_of(connection: sqlite3.Connection, execution_id: int, results: "Results") -> list[Event]:
    """The log, whole."""
    log = [event_of(seq, body) for seq, body in bodies_of(connection, execution_id)]
    results.fill_in(execution_id, log)
    return log


def bodies_of(connection: sqlite3.Connection, execution_id: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each event as it was written, and its number: a block is named by that of its last one."""
    blocks = connection.execute(
        "SELECT last_seq, body FROM event_block WHERE execution_id = ? ORDER BY last_seq", (execution_id,)
    )
    for last_seq, block in blocks:
        bodies = json.loads(block if block.startswith(b"[") else zlib.decompress(block))
        yield from enumerate(bodies, last_seq - len(bodies) + 1)


def event_of(seq: int, body: dict[str, Any]) -> Event:
    return {"run": 0, "iter": -1, "lease": 0, **body, "seq": seq, "body": body}


class Results:
    """Payloads that are kept beside the log, in files named by their content."""

    def __init__(self, folder: Path, report: Report) -> None:
        self.folder = folder
        self.report = report
        self._checked: set[int] = set()

    def fill_in(self, execution_id: int, log: list[Event]) -> None:
        """Give outputs that were stored their data, where they were made: later ones that name it pass it on."""
        named: set[str] = set()
        for event, reference in references_in(log):
            sha = reference["meta"]["sha256"]
            data = self._read(f"execution {execution_id}, event {event['seq']}", sha, reference["meta"]["bytes"])
            if sha not in named and data is not None:
                event["output"] = {**event["output"], "data": json.loads(data)}
            named.add(sha)
        if execution_id not in self._checked:
            self._checked.add(execution_id)
            self.report.seen["stored results"] += len(named)

    def _read(self, where: str, sha: str, size: int) -> bytes | None:
        file = self.folder / sha[:2] / sha[2:]
        data = file.read_bytes() if file.exists() else None
        is_whole = data is not None and len(data) == size and hashlib.sha256(data).hexdigest() == sha
        self.report.demand(is_whole, f"{where}: the result {sha} is not there, or not whole", LOST)
        return data if is_whole else None


def references_in(log: list[Event]) -> Iterator[tuple[Event, dict[str, Any]]]:
    for event in log:
        reference = (event.get("output") or {}).get("ref") if event["name"] == "task.done" else None
        if reference is not None:
            yield event, reference


def check_printed(report: Report, executions: list[Execution], promises_file: Path) -> None:
    """I13: how a command said that an execution has ended is how it has."""
    statuses = {str(one.id): one.status for one in executions}
    for promise in map(json.loads, promises_file.read_text(encoding="utf-8").splitlines()):
        if promise["what"] == "end":
            found = statuses.get(promise["execution_id"])
            report.demand(found == promise["status"], f"I13, {promise} was printed, but it is {found}", LOST)


def main(words: list[str]) -> int:
    home, ledger, promises = map(Path, words)
    report = check(home, ledger, promises)
    print(json.dumps(report.as_data(), indent=1))
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
