"""A log under the magnifying glass: does folding it give the state that was recorded, and do the invariants hold?

What is compared is the digest of the state that the engine had in memory when it wrote the last event, with the digest
of the state that the log alone gives (EV-05, I10). The other checks read only the events (protocol §11).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from noetl.control.reading import EVENTS_PER_READ
from noetl.control.shares import digest
from noetl.engine import events as facts
from noetl.engine.apply import apply
from noetl.engine.events import Event
from noetl.engine.patches import patched
from noetl.engine.state import ENGINE_VERSION, State, canonical, read
from noetl.errors import InternalError, UnknownExecution
from noetl.stores.contract import LIVE, Store

JOB_ENDS = (
    facts.StepDone,
    facts.StepFailed,
    facts.StepCancelled,
    facts.LoopIterationDone,
    facts.LoopIterationFailed,
    facts.LoopIterationCancelled,
)
PATCHING = (
    facts.TaskDone,
    facts.StepDone,
    facts.LoopDone,
    facts.NextEvaluated,
    facts.SignalReceived,
    facts.ExecutionForked,
)


class Audit:
    """Reads a log event by event and keeps what does not fit; memory follows what is in flight."""

    def __init__(self, execution_id: int) -> None:
        self.state = State(execution_id=execution_id)
        self.ctx: dict[str, Any] = {}
        self.faults: dict[str, str] = {}
        self.open_tasks: Counter[tuple[int, int, str, int, int]] = Counter()
        self.ended: set[tuple[int, int]] = set()
        self.loops: dict[int, int] = {}
        self.count = 0

    def read(self, seq: int, event: Event) -> None:
        self.count += 1
        self.check("I1", seq == self.count, f"event {self.count} has seq {seq}")
        self._check_tasks(seq, event)
        self._check_ends(seq, event)
        if isinstance(event, PATCHING):
            self.ctx = patched(self.ctx, event.patches, "ctx")
        try:
            apply(self.state, event)
        except InternalError as error:
            self.check("I11", False, f"event {seq}: {error}")
        except (KeyError, AttributeError, TypeError) as error:
            self.check("I10", False, f"event {seq} ({facts.name_of(event)}) cannot be folded: {error!r}")

    def check(self, name: str, is_ok: bool, detail: str) -> None:
        if not is_ok:
            self.faults.setdefault(name, detail)

    def _check_tasks(self, seq: int, event: Event) -> None:
        """I3: each attempt of a task is recorded once, and began before it ended."""
        key = (event.run, event.iter, event.task, event.visit, event.attempt)
        if isinstance(event, facts.TaskStarted):
            self.check("I3", not self.open_tasks[key], f"event {seq}: task {event.task} began twice")
            self.open_tasks[key] += 1
        elif isinstance(event, facts.TaskDone):
            self.check("I3", self.open_tasks.pop(key, 0) == 1, f"event {seq}: task {event.task} ended without a start")

    def _check_ends(self, seq: int, event: Event) -> None:
        """I4: one terminal event per job. Iterations of a run that has ended are forgotten."""
        if isinstance(event, JOB_ENDS):
            key = (event.run, event.iter)
            if event.iter < 0 and not self._is_withdrawn_plan(event):
                self.check("I4", key not in self.ended, f"event {seq}: run {event.run} ended twice")
                self.ended.add(key)
        if isinstance(event, facts.LoopIterationStarted):
            expected = self.loops.get(event.run, 0)
            self.check("I6", event.iter == expected, f"event {seq}: iteration {event.iter} began, {expected} was next")
            self.loops[event.run] = event.iter + 1

    def _is_withdrawn_plan(self, event: Event) -> bool:
        """A planner's job has ended when it has a plan; its run may still be cancelled while the plan is checked."""
        run = self.state.runs.get(event.run)
        return isinstance(event, facts.StepCancelled) and run is not None and run.is_planning


async def verify(store: Store, execution_id: int) -> dict[str, Any]:
    """Audit one log."""
    row = await store.execution(execution_id)
    if row is None:
        raise UnknownExecution(execution_id, store.name)
    audit = Audit(execution_id)
    snapshot = await store.snapshot(execution_id)
    while True:
        rows = await store.events(execution_id, audit.count, EVENTS_PER_READ)
        for seq, event in rows:
            audit.read(seq, event)
            if snapshot is not None and seq == snapshot.seq and snapshot.engine == ENGINE_VERSION:
                same = canonical(read(snapshot.body)) == canonical(audit.state)
                audit.check("I10", same, f"the snapshot at event {seq} is not the state that the log gives there")
        if len(rows) < EVENTS_PER_READ:
            break
    audit.check("I8", audit.ctx == audit.state.ctx, "ctx is not the fold of its patches")
    audit.check("I10", audit.count >= row.head, f"the log has {audit.count} events, but its head is {row.head}")
    if row.status not in LIVE:
        same = row.digest == digest(audit.state)
        audit.check("I10", same, "the state that the log gives is not the one that was recorded at its end")
    return report(execution_id, audit, row.status)


CHECKS = {
    "I1": "the log has no gap",
    "I3": "each attempt of a task is recorded once, in order",
    "I4": "each run ends once",
    "I6": "iterations begin in order",
    "I8": "ctx is the fold of its patches",
    "I10": "replay gives the recorded state",
    "I11": "nothing follows the end, and every move is legal",
}


def report(execution_id: int, audit: Audit, status: str) -> dict[str, Any]:
    checks = [
        {"name": f"{name} {claim}", "ok": name not in audit.faults, "detail": audit.faults.get(name, "")}
        for name, claim in CHECKS.items()
    ]
    return {
        "execution_id": str(execution_id),
        "status": status,
        "events": audit.count,
        "is_equal": not audit.faults,
        "checks": checks,
    }
