"""A whole execution on the pure engine: what a server follows up with, and a worker that answers by a script.

Comes in: a playbook and a `Script`, which is data, so that it can be kept beside a log. What a tool answers follows
from the task, its attempt and the script, never from what was asked before: whoever takes a log up in its middle gets
the answers that its first half got. Stored payloads are in `blobs`. Nothing waits: a parked job's time comes at once.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from noetl.control.catalog import Loaded, Text
from noetl.control.planning import BadPlan, extended, new_steps, steps_of
from noetl.engine import commands as ops
from noetl.engine.apply import replay
from noetl.engine.commands import Change, Operation
from noetl.engine.events import Event, LoopIterationDone, TaskWaiting
from noetl.engine.output import Error, Output
from noetl.engine.pipeline import Invocation, Pipeline
from noetl.engine.state import INCIDENT
from noetl.references import JSON, Reference
from noetl.runner.children import answered as answered_by_child
from noetl.runner.execute import PARK_AFTER_SECONDS
from noetl.testing.engine import ROUNDS_MAX, Engine, answered, waiting
from noetl.tools.registry import declarations

MOVES_MAX = 1000
SIGNALS_MAX = 3
encode = msgspec.json.Encoder().encode


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a tool answers to one attempt."""

    data: Any = None
    error: str = ""  # its kind
    is_definite: bool = True
    logs: list[str] = []

    def output(self) -> Output:
        error = Error(kind=self.error, message="as scripted") if self.error else None
        return Output(data=self.data, error=error, is_definite=self.is_definite, logs=tuple(self.logs))


class ChildReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a child comes to."""

    result: str = "success"
    has_output: bool = True
    data: Any = None


class Script(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """By task label, the replies to its attempts, the last one staying; by path, those of children; and a signal."""

    replies: dict[str, list[Reply]] = {}
    children: dict[str, ChildReply] = {}
    signal: dict[str, Any] = {}
    is_legacy: bool = False  # the playbook is read so


class Driven(Engine):
    """The engine with the rest of a process around it."""

    def __init__(self, text: str, script: Script) -> None:
        super().__init__(text, is_legacy=script.is_legacy)
        self.script = script
        self.blobs: dict[str, bytes] = {}
        source = Text(data=text.encode(), name="golden.yaml", is_legacy=script.is_legacy)
        self._loaded = Loaded(self.playbook, self.net, source)

    # --- operations --------------------------------------------------------------------------------------------------

    def do(self, operation: Operation) -> list[Event]:
        """Decide one operation, then all that follows from it."""
        events = super().do(operation)
        changes, self.changes = self.changes, []
        for change in changes:
            if following := self._following(change):
                self.do(following)
        return events

    def _following(self, change: Change) -> Operation | None:
        match change:
            case ops.BlobMade():
                self.blobs[change.sha256] = change.data
            case ops.MoreWanted():
                return ops.Continue(execution_id=1, run=change.run)
            case ops.ListWanted() if change.run in self.state.runs:
                return ops.Collected(execution_id=1, run=change.run, ref=self.kept(self._iteration_data(change.run)))
            case ops.CountWanted():
                count = len(self.fetched(change.ref))
                return ops.Counted(execution_id=1, run=change.run, iter=change.iter, ref=change.ref, count=count)
            case ops.ElementWanted() if (run := self.state.runs.get(change.run)) and run.loop and run.loop.ref:
                element = self.fetched(run.loop.ref)[change.iter]
                return ops.ElementRead(execution_id=1, run=change.run, iter=change.iter, element=element)
            case ops.PlanWanted():
                return self._planned(change)
        return None

    def _iteration_data(self, run: int) -> list[Any]:
        loop = self.state.runs[run].loop
        found: list[Any] = [None] * (loop.count if loop else 0)
        for event in self.log:
            if isinstance(event, LoopIterationDone) and event.run == run:
                found[event.iter] = event.output.get("data")
        return found

    def _planned(self, wanted: ops.PlanWanted) -> Operation:
        try:
            steps = steps_of(wanted.data)
            new_steps(self._loaded, self.state.planned, steps, declarations)
        except BadPlan as problem:
            return ops.Planned(execution_id=1, run=wanted.run, error=problem.as_data())
        self._extend([*self.state.planned, steps])
        return ops.Planned(execution_id=1, run=wanted.run, steps=steps)

    def _extend(self, planned: list[list[Any]]) -> None:
        loaded = extended(self._loaded, planned, declarations)
        self.playbook, self.net = loaded.playbook, loaded.net

    def kept(self, data: Any) -> dict[str, Any]:
        """Store a payload; gives its reference."""
        body = encode(data)
        sha256 = hashlib.sha256(body).hexdigest()
        self.blobs[sha256] = body
        return Reference(
            type="blob", locator=f"sha256:{sha256}", content_type=JSON, bytes=len(body), sha256=sha256
        ).as_data()

    def fetched(self, ref: dict[str, Any]) -> Any:
        return msgspec.json.decode(self.blobs[ref["meta"]["sha256"]])

    def take_up(self, log: list[Event]) -> None:
        """Go on with a log that somebody else wrote, as a process does that has just started."""
        self.log = list(log)
        self.state = replay(1, self.log)
        self.now = max(event.ts for event in log)
        self.leases = max(event.lease for event in log)
        if self.state.workload_ref:
            self.state.workload = self.fetched(self.state.workload_ref)
        self._extend(self.state.planned)
        self.do(ops.Recover(execution_id=1))

    def finish(self) -> None:
        """Do whatever is left to do, until the execution has ended."""
        signals = 0
        for _ in range(MOVES_MAX):
            if self.state.is_ended:
                return
            if self.state.status == INCIDENT:
                self.do(ops.Recover(execution_id=1))
            elif self.ready():
                self.run_job(*self.ready()[0])
            elif self.waiting_children():
                self.end_child()
            elif times := self._times():
                self.now = max(self.now, min(times))
            elif self.script.signal and signals < SIGNALS_MAX:
                signals += 1
                self.signal(**self.script.signal)
            else:
                self.cancel()
        raise AssertionError(f"not over after {MOVES_MAX} moves: {self.names()[-10:]}")

    def _times(self) -> list[float]:
        jobs = [job for run in self.state.runs.values() for job in run.jobs.values()]
        return [job.waits_until for job in jobs if job.waits_until]

    def end_child(self) -> None:
        """The first child that is waited for comes to what the script says."""
        run, index, child = self.waiting_children()[0]
        reply = self.script.children.get(child["path"], ChildReply())
        output = {"status": "ok", "data": reply.data, "ref": None, "error": None, "meta": {}}
        error = None if reply.result == "success" else Error(kind="exception", message="as scripted").as_data()
        self.do(
            ops.ChildEnded(
                execution_id=1,
                run=run,
                iter=index,
                task=self.state.runs[run].jobs[index].progress.label or "",
                key=child["key"],
                child_execution_id=2,
                result=reply.result,
                output=output if reply.has_output else None,
                error=error,
            )
        )

    # --- work --------------------------------------------------------------------------------------------------------

    def run_job(self, run: int, index: int, tasks: int = ROUNDS_MAX) -> None:
        """As a worker does, which parks a job that has long to wait."""
        work = self.work(run, index)
        pipeline = Pipeline(self.playbook, work)
        events = list(pipeline.begin(self.now))
        is_parked = False
        while pipeline.current() is not None and tasks and not is_parked:
            tasks -= 1
            is_parked = self._is_parked(pipeline, events) or not self._run_task(pipeline, events)
        if pipeline.current() is None:
            events.append(pipeline.finish(self.now))
        self._report(work, events)

    def _is_parked(self, pipeline: Pipeline, events: list[Event]) -> bool:
        ready_at, work = pipeline.progress.ready_at, pipeline.work
        if ready_at - self.now <= PARK_AFTER_SECONDS:
            self.now = max(self.now, ready_at)
            return False
        task = pipeline.current()
        assert task is not None  # the caller asks while there is one
        at = {"task": task.label, "visit": pipeline.visit(task), "attempt": pipeline.progress.attempt}
        of_job = {"run": work.run, "iter": work.iter, "lease": work.lease}
        events.append(TaskWaiting(ts=self.now, **of_job, **at, until=ready_at))
        return True

    def _run_task(self, pipeline: Pipeline, events: list[Event]) -> bool:
        child = pipeline.progress.child
        opened, invocation = pipeline.enter(self.now)
        events.extend(opened)
        if invocation is None:
            return True
        self.invocations.append(invocation)
        if invocation.task.kind == "playbook" and child is None:
            events.append(waiting(pipeline, invocation, self.now))
            return False
        output = answered_by_child(child) if child else self._reply(pipeline, invocation)
        events.append(pipeline.close(invocation, answered(output, invocation.attempt), self.now))
        return True

    def _reply(self, pipeline: Pipeline, invocation: Invocation) -> Output:
        replies = self.script.replies.get(invocation.task.label)
        if not replies:
            return self._output(pipeline, invocation)
        return replies[min(invocation.attempt, len(replies)) - 1].output()
