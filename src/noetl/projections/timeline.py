"""The step runs of an execution, one row each: what `noetl show` draws.

Comes in: events, in order. Rows are bounded: of a very long history the first and the last runs are kept, the ones
between are counted. A loop is one row with counts, whatever its length.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec

from noetl.engine.events import Event, StepScheduled, timestamp
from noetl.projections.progress import Children, Progress
from noetl.projections.runs import Counts, Run, Runs
from noetl.projections.summary import error_of, whole

FIRST_ROWS_MAX = 500
LAST_ROWS_MAX = 500


class Timeline:
    """The rows of one execution."""

    def __init__(self, runs: Runs | None = None) -> None:
        """`runs`: those of a fold that takes every event in before this one is to `note` it."""
        self.runs = runs or Runs()
        self.first: list[Run] = []
        self.last: deque[Run] = deque(maxlen=LAST_ROWS_MAX)
        self.count = 0

    def apply(self, event: Event) -> None:
        """Take one event in."""
        self.runs.apply(event)
        self.note(event)

    def note(self, event: Event) -> None:
        """The same, where its runs have taken it in already."""
        if not isinstance(event, StepScheduled):
            return
        self.count += 1
        rows = self.first if len(self.first) < FIRST_ROWS_MAX else self.last
        rows.append(self.runs.places[event.run].run)

    @property
    def rows(self) -> list[Run]:
        return [*self.first, *self.last]

    @property
    def omitted(self) -> int:
        return self.count - len(self.first) - len(self.last)


def show(execution_id: int, progress: Progress, timeline: Timeline) -> dict[str, Any]:
    """All that `noetl show` prints of an execution."""
    return {
        "execution_id": str(execution_id),
        "path": progress.path,
        "version": progress.version,
        "status": progress.status,
        "created_at": moment(progress.began_at),
        "ended_at": moment(progress.ended_at),
        "duration_ms": progress.duration_ms,
        "parent_execution_id": None if progress.parent_execution_id is None else str(progress.parent_execution_id),
        "forked_from": forked_from(progress),
        "events": progress.seq,
        "error": error_of(progress),
        "output": whole(progress.output),
        "ctx": progress.ctx,
        "runs": [row(run, progress.requested_at or run.scheduled_at) for run in timeline.rows],
        "omitted_runs": timeline.omitted,
        "children": [child(one) for one in progress.children.values()],
        "waiting": [
            {"step": one.step, "since": timestamp(one.since), "is_for_signal": one.is_for_signal}
            for one in progress.waiting.values()
        ],
    }


def forked_from(progress: Progress) -> dict[str, Any] | None:
    """Of a rerun: the execution that it does again, and how many events of it it begins with."""
    if progress.forked_from is None:
        return None
    source, seq = progress.forked_from
    return {"execution_id": str(source), "seq": seq}


def moment(seconds: float | None) -> str | None:
    return None if seconds is None else timestamp(seconds)


def row(run: Run, origin: float) -> dict[str, Any]:
    """One step run; offset_ms is when it began, counted from the request."""
    return {
        "step": run.step,
        "run": run.id,
        "status": run.status,
        "started_at": timestamp(run.began_at),
        "offset_ms": round((run.began_at - origin) * 1000),
        "duration_ms": None if run.ended_at is None else round((run.ended_at - run.began_at) * 1000),
        "retries": run.retries,
        "compensates": run.compensates or None,
        "loop": counts(run.loop),
        "nested": counts(run.nested),
        "tasks": [{"task": label, **msgspec.structs.asdict(task)} for label, task in run.tasks.items()],
        "error": run.error if run.status == "failed" else None,
        "failed_task": run.failed_task or None,
        "failed_iteration": run.failed_iteration if run.failed_iteration >= 0 else None,
    }


def counts(found: Counts | None) -> dict[str, int] | None:
    return msgspec.structs.asdict(found) if found else None


def child(children: Children) -> dict[str, Any]:
    return {
        "path": children.path,
        "started": children.started,
        "done": children.done,
        "failed": children.failed,
        "execution_ids": [str(one) for one in children.ids],
    }
