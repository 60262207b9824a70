"""A log under the magnifying glass: does folding it give the state that was recorded, and do the invariants hold?

What is compared is the digest of the state that the engine had in memory when it wrote the last event, with the digest
of the state that the log alone gives (EV-05, I10). The other checks read only the events (protocol §11).
"""

from __future__ import annotations

from collections.abc import Callable
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

Patching = (
    facts.TaskDone
    | facts.StepDone
    | facts.LoopDone
    | facts.NextEvaluated
    | facts.SignalReceived
    | facts.ExecutionForked
)


class Audit:
    """Reads a log event by event and keeps what does not fit; memory follows what is in flight."""

    def __init__(self, execution_id: int) -> None:
        self.state = State(execution_id=execution_id)
        self.ctx: dict[str, Any] = {}
        self.faults: dict[str, str] = {}
        self.open_tasks: set[tuple[int, int, str, int, int]] = set()
        self.ended: set[int] = set()
        self.loops: dict[int, int] = {}
        self.again: set[tuple[int, int]] = set()  # iterations that a fork does once more
        self.count = 0

    def read(self, seq: int, event: Event) -> None:
        self.count += 1
        if seq != self.count:
            self.fault("I1", f"event {self.count} has seq {seq}")
        for look in LOOKS.get(type(event), ()):
            look(self, seq, event)
        try:
            apply(self.state, event)
        except InternalError as error:
            self.fault("I11", f"event {seq}: {error}")
        except (KeyError, AttributeError, TypeError) as error:
            self.fault("I10", f"event {seq} ({facts.name_of(event)}) cannot be folded: {error!r}")

    def fault(self, name: str, detail: str) -> None:
        self.faults.setdefault(name, detail)

    def check(self, name: str, is_ok: bool, detail: str) -> None:
        if not is_ok:
            self.fault(name, detail)

    def _task_started(self, seq: int, event: facts.TaskStarted) -> None:
        """I3: each attempt of a task is recorded once, and began before it ended."""
        key = (event.run, event.iter, event.task, event.visit, event.attempt)
        if key in self.open_tasks:
            self.fault("I3", f"event {seq}: task {event.task} began twice")
        self.open_tasks.add(key)

    def _task_done(self, seq: int, event: facts.TaskDone) -> None:
        key = (event.run, event.iter, event.task, event.visit, event.attempt)
        if key not in self.open_tasks:
            self.fault("I3", f"event {seq}: task {event.task} ended without a start")
        self.open_tasks.discard(key)

    def _run_ended(self, seq: int, event: Event) -> None:
        """I4: one terminal event per run; that iterations end once is seen in folding."""
        if self._is_withdrawn_plan(event):
            return
        if event.run in self.ended:
            self.fault("I4", f"event {seq}: run {event.run} ended twice")
        self.ended.add(event.run)

    def _iteration_started(self, seq: int, event: facts.LoopIterationStarted) -> None:
        expected = self.loops.get(event.run, 0)
        if (event.run, event.iter) in self.again:
            self.again.discard((event.run, event.iter))
            return
        if event.iter != expected:
            self.fault("I6", f"event {seq}: iteration {event.iter} began, {expected} was next")
        self.loops[event.run] = event.iter + 1

    def _reopened(self, _seq: int, event: facts.LoopReopened) -> None:
        """Of a fork: what that iteration had begun is begun again."""
        if event.iter >= 0:
            self.again.add((event.run, event.iter))
            self.open_tasks = {key for key in self.open_tasks if key[:2] != (event.run, event.iter)}

    def _written(self, _seq: int, event: Patching) -> None:
        """I8: ctx is the fold of its patches."""
        if event.patches:
            self.ctx = patched(self.ctx, event.patches, "ctx")

    def _is_withdrawn_plan(self, event: Event) -> bool:
        """A planner's job has ended when it has a plan; its run may still be cancelled while the plan is checked."""
        run = self.state.runs.get(event.run)
        return isinstance(event, facts.StepCancelled) and run is not None and run.is_planning


LOOKS: dict[type[Event], tuple[Callable[[Audit, int, Any], None], ...]] = {
    facts.TaskStarted: (Audit._task_started,),
    facts.TaskDone: (Audit._task_done, Audit._written),
    facts.StepDone: (Audit._run_ended, Audit._written),
    facts.StepFailed: (Audit._run_ended,),
    facts.StepCancelled: (Audit._run_ended,),
    facts.LoopIterationStarted: (Audit._iteration_started,),
    facts.LoopDone: (Audit._written,),
    facts.LoopReopened: (Audit._reopened,),
    facts.NextEvaluated: (Audit._written,),
    facts.SignalReceived: (Audit._written,),
    facts.ExecutionForked: (Audit._written,),
}


async def verify(store: Store, execution_id: int) -> dict[str, Any]:
    """Audit one log."""
    row = await store.execution(execution_id)
    if row is None:
        raise UnknownExecution(execution_id, store.name)
    audit = Audit(execution_id)
    snapshot = await store.snapshot(execution_id)
    snapshot_seq = snapshot.seq if snapshot is not None and snapshot.engine == ENGINE_VERSION else 0
    while True:
        rows = await store.events(execution_id, audit.count, EVENTS_PER_READ)
        for seq, event in rows:
            audit.read(seq, event)
            if seq == snapshot_seq and snapshot is not None:
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
