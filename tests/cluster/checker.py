"""Whether a cluster kept its word, by what is on record: the database, and the file that the tools appended to.

    python -m tests.cluster.checker DATABASE_URL LEDGER PROMISES

Knows nothing of NoETL but the tables and the names of events: it imports nothing of it, so it cannot share a mistake
with it. The ledger has a line when a tool begins and one when it ends, with a word (nonce) that it made up and that is
also its result: so the record tells which of several executions of one attempt is the one that counted. The promises
are what the load was told by a server: starts, cancels. Prints one JSON document; exit code 1 where it finds a fault.
"""

import json
import sys
from pathlib import Path

import psycopg

from tests.cluster.checks import check_record
from tests.cluster.record import Event, Execution, Logs, Report


def check(url: str, ledger_file: Path, promises_file: Path) -> Report:
    report = Report()
    with psycopg.connect(url) as connection:
        check_queue(report, connection)
        logs = Logs(lambda execution_id: events_of(connection, execution_id))
        check_record(report, executions_of(connection), logs, ledger_file, promises_file)
    return report


def check_queue(report: Report, connection: psycopg.Connection) -> None:
    """I9: when all has ended, nothing is queued."""
    (left,) = connection.execute("SELECT count(*) FROM job").fetchone() or (0,)
    report.demand(left == 0, f"I9, {left} jobs are left in the queue")


def executions_of(connection: psycopg.Connection) -> list[Execution]:
    rows = connection.execute(
        "SELECT id, path, status, head, request_key, parent_id, parent_key FROM execution ORDER BY id"
    )
    return [Execution(*row) for row in rows]


def events_of(connection: psycopg.Connection, execution_id: int) -> list[Event]:
    """The log, whole: the columns win over the body, so that one that disagrees is found."""
    rows = connection.execute(
        "SELECT seq, name, run, iter, lease, body FROM event WHERE execution_id = %s ORDER BY seq", (execution_id,)
    )
    return [
        {**body, "seq": seq, "name": name, "run": run, "iter": iter_, "lease": lease, "body": body}
        for seq, name, run, iter_, lease, body in rows
    ]


def main(words: list[str]) -> int:
    url, ledger, promises = words
    report = check(url, Path(ledger), Path(promises))
    print(json.dumps(report.as_data(), indent=1))
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
