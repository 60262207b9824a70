"""Whether a cluster kept its word, by what is on record: the database, and the file that the tools appended to.

    python checker.py DATABASE_URL LEDGER PROMISES

Knows nothing of NoETL but the tables and the names of events: it imports nothing of it, so it cannot share a mistake
with it. The ledger has a line when a tool begins and one when it ends, with a word (nonce) that it made up and that is
also its result: so the record tells which of several executions of one attempt is the one that counted. The promises
are what the load was told by a server: starts, cancels. Prints one JSON document; exit code 1 where it finds a fault.

    begun   <key> <attempt> <nonce> <nonce of the result it was given, or -> <time>
    ended   the same
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

LIVE = ("running", "waiting", "incident")
FAULTS_SHOWN_MAX = 50
JOB_ENDS = ("step.done", "step.failed", "step.cancelled")
ITERATION_ENDS = ("loop.iteration.done", "loop.iteration.failed", "loop.iteration.cancelled")
LOOP_ENDS = ("loop.done", "step.failed", "step.cancelled")
LAST = "playbook.processed"

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
        self.seen: Counter[str] = Counter()

    def demand(self, is_so: object, fault: str) -> None:
        self.seen["demands"] += 1
        if not is_so:
            self.faults.append(fault)

    def as_data(self) -> dict[str, Any]:
        return {"faults": self.faults[:FAULTS_SHOWN_MAX], "fault_count": len(self.faults), "seen": dict(self.seen)}


# --- what is on record -----------------------------------------------------------------------------------------------


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


# --- one log ---------------------------------------------------------------------------------------------------------


def check_log(report: Report, execution: Execution, log: list[Event]) -> None:
    """I1, I11, I15: gapless, and one end that nothing follows."""
    where = f"execution {execution.id}"
    report.seen["events"] += len(log)
    report.demand([event["seq"] for event in log] == list(range(1, len(log) + 1)), f"{where}: I1, seq has gaps")
    report.demand(len(log) == execution.head, f"{where}: I1, head is {execution.head}, events are {len(log)}")
    report.demand(execution.status not in LIVE, f"{where}: I15, it is still {execution.status}")
    ends = [event["seq"] for event in log if event["name"] == LAST]
    report.demand(ends == [len(log)], f"{where}: I11, it ends at {ends} of {len(log)}")
    for event in log:
        is_same = all(event["body"].get(name, default) == event[name] for name, default in COLUMNS)
        report.demand(is_same, f"{where}: event {event['seq']} and its columns disagree")


COLUMNS = (("name", None), ("run", 0), ("iter", -1), ("lease", 0))


def check_jobs(report: Report, execution: Execution, log: list[Event]) -> None:
    """I2, I4: a job ends once, and once another lease was heard, the earlier one is heard no more."""
    ends: Counter[tuple[int, int]] = Counter()
    begun: set[tuple[int, int]] = set()
    leases: dict[tuple[int, int], list[int]] = defaultdict(list)
    for event in log:
        key = (event["run"], event["iter"])
        if event["name"] == "step.scheduled" or event["name"] == "loop.iteration.started":
            begun.add(key)
        if event["name"] in JOB_ENDS or event["name"] in ITERATION_ENDS or event["name"] == "loop.done":
            ends[key] += 1
        if event["lease"] and (not leases[key] or leases[key][-1] != event["lease"]):
            leases[key].append(event["lease"])
    where = f"execution {execution.id}"
    for key in begun:
        report.demand(ends[key] == 1, f"{where}: I4, job {key} ended {ends[key]} times")
    for key, found in leases.items():
        report.seen["leases"] += len(found)
        report.demand(len(set(found)) == len(found), f"{where}: I2, job {key} was heard under {found}")


def check_loops(report: Report, execution: Execution, log: list[Event]) -> None:
    """I6, I7: indices begin in order and end once; never more in flight than allowed."""
    limits = {event["run"]: event.get("max_in_flight", 1) for event in log if event["name"] == "loop.started"}
    for run, limit in limits.items():
        events = [event for event in log if event["run"] == run]
        check_iterations(report, f"execution {execution.id}, run {run}", limit, events)


def check_iterations(report: Report, where: str, limit: int, events: list[Event]) -> None:
    in_flight: set[int] = set()
    started: list[int] = []
    for event in events:
        if event["name"] == "loop.iteration.started":
            started.append(event["iter"])
            in_flight.add(event["iter"])
            report.demand(len(in_flight) <= limit, f"{where}: I7, {len(in_flight)} of {limit} in flight")
        elif event["name"] in ITERATION_ENDS:
            report.demand(event["iter"] in in_flight, f"{where}: I6, {event['iter']} ended out of flight")
            in_flight.discard(event["iter"])
    report.seen["iterations"] += len(started)
    report.demand(started == list(range(len(started))), f"{where}: I6, it began {started}")
    report.demand(not in_flight, f"{where}: I6, {sorted(in_flight)} never ended")
    over = [event for event in events if event["name"] in LOOP_ENDS and event["iter"] < 0]
    report.demand(len(over) == 1, f"{where}: I6, it was over {len(over)} times")
    counted = sum(end["done"] + end["failed"] for end in over if end["name"] == "loop.done")
    cancelled = sum(event["name"] == "loop.iteration.cancelled" for event in events)
    if any(end["name"] == "loop.done" for end in over):
        report.demand(counted + cancelled == len(started), f"{where}: I6, it counted {counted} of {len(started)}")


def check_attempts(report: Report, execution: Execution, log: list[Event]) -> None:
    """I3: each attempt is recorded once, and attempts of a task run are 1, 2, 3, …"""
    recorded: dict[str, list[int]] = defaultdict(list)
    for event in log:
        if event["name"] == "task.done":
            recorded[task_run(execution.id, event)].append(event["attempt"])
    for name, attempts in recorded.items():
        report.seen["attempts"] += len(attempts)
        expected = list(range(1, len(attempts) + 1))
        report.demand(attempts == expected, f"execution {execution.id}: I3, {name} has attempts {attempts}")


def task_run(execution_id: int, event: Event) -> str:
    return f"{execution_id}:{event['run']}:{event['iter']}:{event['task']}:{event['visit']}"


def records_of(execution: Execution, log: list[Event]) -> Iterator[tuple[Attempt, Record]]:
    """Attempts whose result is a nonce."""
    for event in log:
        data = (event.get("output") or {}).get("data") if event["name"] == "task.done" else None
        if isinstance(data, dict) and "nonce" in data:
            name = task_run(execution.id, event)
            yield (name, event["attempt"]), Record(data["nonce"], execution.id, event["run"], event["iter"])


# --- callers and children --------------------------------------------------------------------------------------------


def check_children(report: Report, executions: list[Execution], logs: dict[int, list[Event]]) -> None:
    """Each call has one child, ever, and was told what that came to."""
    called = {child.parent_key for child in executions if child.parent_key is not None}
    statuses = {one.id: one.status for one in executions}
    for execution in executions:
        where, log = f"execution {execution.id}", logs[execution.id]
        asked = {event["child"]["key"] for event in log if event["name"] == "task.waiting" and event.get("child")}
        report.seen["calls"] += len(asked)
        if execution.status == "success":
            report.demand(asked <= called, f"{where}: the children of {asked - called} are lost")
        told = [(event["child_execution_id"], event["result"]) for event in log if event["name"] == "child.done"]
        report.demand(len({child for child, _ in told}) == len(told), f"{where} was told twice of a child: {told}")
        for child, result in told:
            report.demand(
                statuses.get(child) == result, f"{where} was told that {child}, {statuses.get(child)}, is {result}"
            )


# --- the ledger ------------------------------------------------------------------------------------------------------


def check_ledger(report: Report, records: dict[Attempt, Record], ledger: dict[str, Execute], known: set[int]) -> None:
    """What is recorded was done, by the execution that says so; and nothing was done for nobody."""
    for attempt, record in records.items():
        done = ledger.get(record.nonce)
        report.demand(done is not None and done.ended_at, f"{attempt} is on record, but not in the ledger")
        if done is not None:
            report.demand(done.attempt == attempt, f"{attempt} has the result of {done.attempt}")
    for execute in ledger.values():
        execution_id = int(execute.attempt[0].partition(":")[0])
        report.demand(execution_id in known, f"{execute.attempt} was executed for an execution that there is not")
    counts = Counter(execute.attempt for execute in ledger.values())
    report.seen["executions of tools"] = len(ledger)
    report.seen["repeats"] = sum(count - 1 for count in counts.values())


def check_lineage(report: Report, records: dict[Attempt, Record], ledger: dict[str, Execute]) -> None:
    """I3: the result that a tool was given is one that is on record, never that of an execution which did not count."""
    recorded = {record.nonce for record in records.values()}
    for record in records.values():
        done = ledger.get(record.nonce)
        if done is not None and done.previous != "-":
            report.seen["lineages"] += 1
            report.demand(done.previous in recorded, f"{done.attempt} was given {done.previous}, which nobody recorded")


def check_limits(
    report: Report, logs: dict[int, list[Event]], records: dict[Attempt, Record], ledger: dict[str, Execute]
) -> None:
    """I7, in the world: executions that counted never overlapped more than allowed. The others are those of lost
    leases, whose tools may still run when their iteration has long been done by another worker."""
    moments: dict[tuple[int, int], list[tuple[float, int]]] = defaultdict(list)
    for record in records.values():
        done = ledger.get(record.nonce)
        if record.iter >= 0 and done is not None and done.ended_at is not None:
            moments[record.execution_id, record.run] += [(done.begun_at, 1), (done.ended_at, -1)]
    for (execution_id, run), found in moments.items():
        (limit,) = (
            event.get("max_in_flight", 1)
            for event in logs[execution_id]
            if event["name"] == "loop.started" and event["run"] == run
        )
        most = most_at_once(found)
        report.seen["loops measured"] += 1
        report.demand(most <= limit, f"execution {execution_id}, run {run}: {most} at once, {limit} allowed")


def most_at_once(moments: Iterable[tuple[float, int]]) -> int:
    now = most = 0
    for _, step in sorted(moments):  # an end at the same moment comes first
        now += step
        most = max(most, now)
    return most


# --- promises --------------------------------------------------------------------------------------------------------


def check_promises(report: Report, executions: list[Execution], promises: Iterable[dict[str, Any]]) -> None:
    """I13: what was acknowledged is there: the same execution under the same key, cancelled where that was said."""
    by_id = {str(one.id): one for one in executions}
    keys = Counter(one.request_key for one in executions if one.request_key is not None)
    report.demand(max(keys.values(), default=1) == 1, f"a request key has several executions: {keys.most_common(1)}")
    for promise in promises:
        report.seen[f"promised {promise['what']}"] += 1
        found = by_id.get(promise["execution_id"])
        report.demand(found is not None, f"I13, {promise} was acknowledged and is not there")
        if found is None:
            continue
        if promise["what"] == "start":
            is_same = found.request_key is not None and found.request_key.endswith(promise["key"])
            report.demand(is_same, f"I13, {promise} has the key {found.request_key}")
        elif promise["what"] == "cancel":
            report.demand(found.status == "cancelled", f"I13, {promise} was acknowledged, but it is {found.status}")


def check_ends(report: Report, executions: list[Execution], logs: dict[int, list[Event]]) -> None:
    """What failed, failed for a reason that the faults explain: its workers were lost, five times in a row."""
    for execution in executions:
        report.seen[f"ended {execution.status}"] += 1
        errors = [event.get("error") or {} for event in logs[execution.id] if event["name"] == "workflow.finished"]
        if execution.status == "failed":
            is_explained = all(error.get("kind") in ("worker_lost", "child_failed") for error in errors)
            report.demand(is_explained, f"execution {execution.id} failed: {errors}")


def check_queue(report: Report, connection: psycopg.Connection) -> None:
    """I9: when all has ended, nothing is queued."""
    (left,) = connection.execute("SELECT count(*) FROM job").fetchone() or (0,)
    report.demand(left == 0, f"I9, {left} jobs are left in the queue")


def check_schedules(report: Report, executions: list[Execution], logs: dict[int, list[Event]]) -> None:
    """Each due time of a schedule with a fixed interval started one execution, outages included; the payload says
    which interval: `every_seconds`."""
    due: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for execution in executions:
        if execution.request_key is not None and execution.request_key.startswith("schedule:"):
            _, name, at = execution.request_key.split(":", 2)
            every = logs[execution.id][0]["payload"]["every_seconds"]
            due[name].append((datetime.fromisoformat(at).timestamp(), every))
    for name, found in due.items():
        report.seen["due times"] += len(found)
        moments = sorted(at for at, _ in found)
        gaps = {round(after - before, 3) for before, after in pairwise(moments)}
        report.demand(gaps <= {found[0][1]}, f'the schedule "{name}" fired with gaps of {sorted(gaps)} seconds')


def check(url: str, ledger_file: Path, promises_file: Path) -> Report:
    report = Report()
    ledger, report.seen["torn lines"] = ledger_of(ledger_file)
    promises = [json.loads(line) for line in promises_file.read_text(encoding="utf-8").splitlines()]
    with psycopg.connect(url) as connection:
        executions = executions_of(connection)
        logs = {one.id: events_of(connection, one.id) for one in executions}
        check_queue(report, connection)
    report.seen["executions"] = len(executions)
    records: dict[Attempt, Record] = {}
    for execution in executions:
        for check_one in (check_log, check_jobs, check_loops, check_attempts):
            check_one(report, execution, logs[execution.id])
        records |= records_of(execution, logs[execution.id])
    check_children(report, executions, logs)
    check_ledger(report, records, ledger, {one.id for one in executions})
    check_lineage(report, records, ledger)
    check_limits(report, logs, records, ledger)
    check_promises(report, executions, promises)
    check_ends(report, executions, logs)
    check_schedules(report, executions, logs)
    return report


def main(words: list[str]) -> int:
    url, ledger, promises = words
    report = check(url, Path(ledger), Path(promises))
    print(json.dumps(report.as_data(), indent=1))
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
