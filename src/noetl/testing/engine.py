"""The pure engine, driven by hand: no store, no event loop, no clock but a counter. Engine tests read as history.

    engine = Engine(text, answers={"fetch": [failure("server_error", "no"), Output(data=1)]})
    engine.start({"n": 3})
    engine.run()
    engine.names()      # ["playbook.execution.requested", …]
    engine.state.ctx

`answers`: by task label, what its tool gives: an Output, any data, a function of the Invocation, or a list of these,
one for each invocation, the last one staying. A noop needs none. After every operation the log is folded from its
beginning and compared with the live state (I10). `crash` drops the state and goes on from the log, as a restarted
process does. Children are not run: `waiting_children` names them and `child_ended` answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noetl.dsl.check import check
from noetl.dsl.findings import ERROR
from noetl.dsl.model import Playbook
from noetl.dsl.normalize import normalize
from noetl.engine import commands as ops
from noetl.engine.apply import replay
from noetl.engine.commands import Change, Operation, Report, Work
from noetl.engine.decide import decide, row_status
from noetl.engine.events import Event, TaskWaiting, decode, encode, name_of
from noetl.engine.net import Net
from noetl.engine.output import Output, envelope
from noetl.engine.pipeline import Answer, Invocation, Pipeline
from noetl.engine.state import State, canonical
from noetl.engine.work import work_of
from noetl.references import is_reference
from noetl.tools.registry import declarations

ROUNDS_MAX = 100_000
Given = Any


class Engine:
    """One execution of one playbook."""

    def __init__(self, text: str, answers: Mapping[str, Given] | None = None, **flags: bool) -> None:
        self.playbook = playbook_of(text, **flags)
        self.net = Net(self.playbook)
        self.answers: dict[str, Given] = dict(answers or {})
        self.state = State(execution_id=1)
        self.log: list[Event] = []
        self.changes: list[Change] = []
        self.invocations: list[Invocation] = []
        self.now = 1000.0
        self.leases = 0

    # --- operations --------------------------------------------------------------------------------------------------

    def start(self, payload: dict[str, Any] | None = None) -> None:
        self.do(ops.Start(execution_id=1, path="t", version=1, sha="sha", payload=payload or {}))

    def do(self, operation: Operation) -> list[Event]:
        """Decide one operation, keep its events, and prove that replay gives the same state."""
        self.now += 0.001
        decision = decide(self.playbook, self.net, self.state, operation, self.now)
        self.log.extend(decode(encode(event)) for event in decision.events)
        self.changes.extend(decision.changes)
        if canonical(replay(1, self.log)) != canonical(self.state):
            raise AssertionError("I10: replay differs from the live state")
        return decision.events

    def crash(self) -> None:
        """Lose everything but the log, and take the execution up again."""
        self.state = replay(1, self.log)
        self.do(ops.Recover(execution_id=1))

    def cancel(self) -> None:
        self.do(ops.Cancel(execution_id=1))

    def signal(self, **ctx: Any) -> None:
        from noetl.engine.events import Patch

        self.do(ops.Signal(execution_id=1, patches=[Patch(f"ctx.{name}", value) for name, value in ctx.items()]))

    def child_ended(self, result: str = "success", data: Any = None) -> None:
        """Answer the first child that is waited for."""
        run, index, child = self.waiting_children()[0]
        output = {"status": "ok", "data": data, "ref": None, "error": None, "meta": {}}
        error = None if result == "success" else {"kind": "exception", "message": "no", "retryable": False}
        task = self.state.runs[run].jobs[index].progress.label or ""
        ended = ops.ChildEnded(
            execution_id=1,
            run=run,
            iter=index,
            task=task,
            key=child["key"],
            child_execution_id=2,
            result=result,
            output=output,
            error=error,
        )
        self.do(ended)

    # --- work --------------------------------------------------------------------------------------------------------

    def ready(self) -> list[tuple[int, int]]:
        """The jobs that a worker could take, oldest run first."""
        return [
            (run.id, index)
            for run in self.state.runs.values()
            for index, job in run.jobs.items()
            if job.child is None and job.waits_until <= self.now
        ]

    def waiting_children(self) -> list[tuple[int, int, dict[str, Any]]]:
        return [
            (run.id, index, job.child)
            for run in self.state.runs.values()
            for index, job in run.jobs.items()
            if job.child is not None
        ]

    def work(self, run: int, index: int) -> Work:
        self.leases += 1
        return work_of(self.playbook, self.state, run, index, self.leases, "")

    def run(self, rounds: int = ROUNDS_MAX) -> State:
        """Let a worker take jobs until there is none."""
        for _ in range(rounds):
            jobs = self.ready()
            if not jobs:
                break
            self.run_job(*jobs[0])
        return self.state

    def run_job(self, run: int, index: int, tasks: int = ROUNDS_MAX) -> None:
        """Run one job to its end, or report after so many tasks and leave it, as a worker does that dies."""
        work = self.work(run, index)
        pipeline = Pipeline(self.playbook, work)
        events = list(pipeline.begin(self.now))
        while pipeline.current() is not None and tasks:
            tasks -= 1
            self.now = max(self.now, pipeline.progress.ready_at)
            is_open = self._run_task(pipeline, events)
            if not is_open:
                self._report(work, events)
                return
        if pipeline.current() is None:
            events.append(pipeline.finish(self.now))
        self._report(work, events)

    def _run_task(self, pipeline: Pipeline, events: list[Event]) -> bool:
        """One task; False: it waits for a child."""
        child = pipeline.progress.child
        opened, invocation = pipeline.enter(self.now)
        events.extend(opened)
        if invocation is None:
            return True
        self.invocations.append(invocation)
        if invocation.task.kind == "playbook" and child is None:
            events.append(waiting(pipeline, invocation, self.now))
            return False
        output = Output(data=child["output"]["data"]) if child else self._output(pipeline, invocation)
        events.append(pipeline.close(invocation, answered(output, invocation.attempt), self.now))
        return True

    def _output(self, pipeline: Pipeline, invocation: Invocation) -> Output:
        given = self.answers.get(invocation.task.label)
        if isinstance(given, list):
            given = given.pop(0) if len(given) > 1 else given[0]
        if callable(given):
            given = given(invocation)
        if given is None and invocation.task.kind == "noop":
            given = invocation.input or (None if pipeline.work.around else pipeline.previous())
        return given if isinstance(given, Output) else Output(data=given)

    def _report(self, work: Work, events: list[Event]) -> None:
        self.do(Report(execution_id=1, run=work.run, iter=work.iter, lease=work.lease, n=1, events=events))

    # --- looking -----------------------------------------------------------------------------------------------------

    def names(self, *prefixes: str) -> list[str]:
        """The names of the log's events, or of those that begin so."""
        names = [name_of(event) for event in self.log]
        return [name for name in names if not prefixes or name.startswith(prefixes)]

    def events(self, name: str) -> list[Any]:
        return [event for event in self.log if name_of(event) == name]

    @property
    def status(self) -> str:
        return row_status(self.state)


def playbook_of(text: str, **flags: bool) -> Playbook:
    checked = check(text, "t.yaml", declarations, **flags)
    errors = [f"{finding.code} {finding.message}" for finding in checked.findings if finding.severity == ERROR]
    if errors:
        raise AssertionError(errors)
    return normalize(checked.drafts[0])


def answered(output: Output, attempt: int) -> Answer:
    made = envelope(output, {"attempt": attempt})
    if is_reference(output.data):
        made["ref"] = made.pop("data")
    return Answer(
        recorded=made,
        hand=made,
        is_definite=output.is_definite,
        retry_after_seconds=output.retry_after_seconds or 0.0,
        logs=list(output.logs),
    )


def waiting(pipeline: Pipeline, invocation: Invocation, now: float) -> TaskWaiting:
    work = pipeline.work
    child = {"path": invocation.input["path"], "payload": {}, "key": invocation.key}
    return TaskWaiting(
        ts=now,
        run=work.run,
        iter=work.iter,
        lease=work.lease,
        task=invocation.task.label,
        visit=invocation.visit,
        attempt=invocation.attempt,
        child=child,
    )
