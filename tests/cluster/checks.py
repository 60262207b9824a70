"""Faults that only all executions together show: children, the ledger, limits in the world, promises, schedules.

`check_record` is all there is to say of executions and their logs, wherever they were read from.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.cluster.log_checks import check_attempts, check_jobs, check_log, check_loops
from tests.cluster.record import (
    DOUBLED,
    LIMIT,
    LOST,
    Attempt,
    Execute,
    Execution,
    Logs,
    Record,
    Report,
    ledger_of,
    records_of,
)

# --- callers and children --------------------------------------------------------------------------------------------


def check_children(report: Report, executions: list[Execution], logs: Logs) -> None:
    """Each call has one child, ever, and was told what that came to."""
    called = {child.parent_key for child in executions if child.parent_key is not None}
    statuses = {one.id: one.status for one in executions}
    for execution in executions:
        where, log = f"execution {execution.id}", logs[execution.id]
        asked = {event["child"]["key"] for event in log if event["name"] == "task.waiting" and event.get("child")}
        report.seen["calls"] += len(asked)
        if execution.status == "success":
            report.demand(asked <= called, f"{where}: the children of {asked - called} are lost", LOST)
        told = [(event["child_execution_id"], event["result"]) for event in log if event["name"] == "child.done"]
        report.demand(
            len({child for child, _ in told}) == len(told), f"{where} was told twice of a child: {told}", DOUBLED
        )
        for child, result in told:
            report.demand(
                statuses.get(child) == result, f"{where} was told that {child}, {statuses.get(child)}, is {result}"
            )


# --- the ledger ------------------------------------------------------------------------------------------------------


def check_ledger(report: Report, records: dict[Attempt, Record], ledger: dict[str, Execute], known: set[int]) -> None:
    """What is recorded was done, by the execution that says so; and nothing was done for nobody."""
    for attempt, record in records.items():
        done = ledger.get(record.nonce)
        report.demand(done is not None and done.ended_at, f"{attempt} is on record, but not in the ledger", LOST)
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


def check_limits(report: Report, logs: Logs, records: dict[Attempt, Record], ledger: dict[str, Execute]) -> None:
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
        report.demand(most <= limit, f"execution {execution_id}, run {run}: {most} at once, {limit} allowed", LIMIT)


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
    report.demand(
        max(keys.values(), default=1) == 1, f"a request key has several executions: {keys.most_common(1)}", DOUBLED
    )
    for promise in promises:
        report.seen[f"promised {promise['what']}"] += 1
        found = by_id.get(promise["execution_id"])
        report.demand(found is not None, f"I13, {promise} was acknowledged and is not there", LOST)
        if found is None:
            continue
        if promise["what"] == "start":
            is_same = found.request_key is not None and found.request_key.endswith(promise["key"])
            report.demand(is_same, f"I13, {promise} has the key {found.request_key}")
        elif promise["what"] == "cancel":
            report.demand(
                found.status == "cancelled", f"I13, {promise} was acknowledged, but it is {found.status}", LOST
            )


def check_ends(report: Report, executions: list[Execution], logs: Logs) -> None:
    """What failed, failed for a reason that the faults explain: its workers were lost, five times in a row."""
    for execution in executions:
        report.seen[f"ended {execution.status}"] += 1
        errors = [event.get("error") or {} for event in logs[execution.id] if event["name"] == "workflow.finished"]
        if execution.status == "failed":
            is_explained = all(error.get("kind") in ("worker_lost", "child_failed") for error in errors)
            report.demand(is_explained, f"execution {execution.id} failed: {errors}")


def check_schedules(report: Report, executions: list[Execution], logs: Logs) -> None:
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
        report.demand(gaps <= {found[0][1]}, f'the schedule "{name}" fired with gaps of {sorted(gaps)} seconds', LOST)


def check_record(
    report: Report, executions: list[Execution], logs: Logs, ledger_file: Path, promises_file: Path
) -> None:
    """See above."""
    ledger, report.seen["torn lines"] = ledger_of(ledger_file)
    promises = [json.loads(line) for line in promises_file.read_text(encoding="utf-8").splitlines()]
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
