"""Whether an execution stands still because of the executions it called: nothing of its own runs, and they all wait.

Told from logs alone, as everybody sees them. Where it is not certain, it is not so: an execution that is thought to go
on costs whoever watches it some patience; one that is wrongly thought to wait would be left half done.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from noetl.projections.progress import INCIDENT, WAITING, Progress
from noetl.projections.read_back import event_of
from noetl.projections.runs import RUNNING
from noetl.remote.following import past
from noetl.remote.line import Line

LIVE = (RUNNING, WAITING, INCIDENT)
DEPTH_MAX = 32  # executions may not be nested deeper
CHILDREN_MAX = 100  # more than these are not looked through


def by_children(line: Line, execution_id: int, progress: Progress, depth: int = 0) -> dict[str, Any]:
    """What to say of its status, and perhaps its error; empty: it goes on, or nobody can tell."""
    if depth > DEPTH_MAX or not only_waits_for_children(progress):
        return {}
    page = line.get("/api/v1/executions", parent=str(execution_id), limit=CHILDREN_MAX)
    live = [row for row in page["executions"] if row["status"] in LIVE]
    if page["next"] is not None or not live:
        return {}
    found = [_said_of(line, row, depth) for row in live]
    if not all(found):
        return {}
    return next((one for one in found if one["status"] == INCIDENT), {"status": WAITING})


def only_waits_for_children(progress: Progress) -> bool:
    """Whether every job in flight is parked for a child: one of each run, or each iteration of a loop."""
    waiting = Counter(run for run, _ in progress.called)
    return bool(waiting) and all(
        waiting[number] == (place.counts.in_flight if place.counts else 1)
        for number, place in progress.runs.places.items()
    )


def _said_of(line: Line, row: dict[str, Any], depth: int) -> dict[str, Any]:
    if row["status"] == WAITING:
        return {"status": WAITING}
    progress, child = Progress(), int(row["execution_id"])
    for envelope in past(line, child):
        progress.apply(event_of(envelope))
    if progress.status == INCIDENT:
        message = f"child execution {child} ({row['path']}): {progress.incident}"
        return {"status": INCIDENT, "error": {"kind": INCIDENT, "message": message, "step": None, "task": None}}
    return by_children(line, child, progress, depth + 1)
