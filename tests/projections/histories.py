"""Histories for the tests of this folder: events as an engine would write them, with a clock that ticks by itself."""

from itertools import count

from noetl.engine.events import (
    Event,
    LoopDone,
    LoopIterationDone,
    LoopIterationFailed,
    LoopIterationStarted,
    LoopStarted,
    NextEvaluated,
    PlaybookExecutionRequested,
    PlaybookProcessed,
    PlaybookRequestEvaluated,
    StepDone,
    StepFailed,
    StepScheduled,
    StepStarted,
    TaskDone,
    TaskStarted,
    WorkflowFailing,
    WorkflowFinished,
    WorkflowStarted,
)

OK = {"status": "ok", "data": 1, "ref": None, "error": None, "meta": {}}
REFUSED = {"kind": "connection", "retryable": True, "message": "connection refused", "details": {}}
BAD = {"status": "error", "data": None, "ref": None, "error": REFUSED, "meta": {}}


class History(list[Event]):
    """A log that grows: each method adds what one thing that happened writes; one second passes between events."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = count(100)
        self.runs = count(1)

    def add(self, kind: type[Event], /, **facts: object) -> "History":
        self.append(kind(ts=float(next(self.clock)), **facts))
        return self

    def begin(self) -> "History":
        self.add(PlaybookExecutionRequested, path="orders", version=2, sha="0" * 64)
        self.add(PlaybookRequestEvaluated, workload={"a": 1})
        return self.add(WorkflowStarted, entry="start", token=1)

    def schedule(self, step: str, **facts: object) -> int:
        run = next(self.runs)
        self.add(StepScheduled, run=run, step=step, tokens=[run], **facts)
        self.add(StepStarted, run=run, step=step)
        return run

    def task(self, run: int, label: str = "fetch", iter: int = -1, do: str = "continue", **facts: object) -> "History":
        ids = {"run": run, "iter": iter, "task": label, "visit": 1, "attempt": facts.pop("attempt", 1), "lease": 5}
        self.add(TaskStarted, kind="http", **ids)
        return self.add(TaskDone, do=do, output=facts.pop("output", OK), **ids, **facts)

    def done(self, run: int, step: str, **facts: object) -> "History":
        self.add(StepDone, run=run, step=step, output=OK, **facts)
        return self.add(NextEvaluated, run=run, step=step, boundary="step.done", boundary_seq=len(self))

    def fail(self, run: int, step: str) -> "History":
        return self.add(StepFailed, run=run, step=step, error=REFUSED)

    def loop(self, run: int, step: str, total: int, **facts: object) -> "History":
        return self.add(LoopStarted, run=run, step=step, count=total, **facts)

    def iteration(self, run: int, index: int, is_failed: bool = False) -> "History":
        self.add(LoopIterationStarted, run=run, iter=index)
        if is_failed:
            return self.add(LoopIterationFailed, run=run, iter=index, task="fetch", error=REFUSED)
        return self.add(LoopIterationDone, run=run, iter=index, output=OK)

    def loop_done(self, run: int, step: str, done: int, failed: int = 0, **facts: object) -> "History":
        return self.add(
            LoopDone, run=run, step=step, total=done + failed, done=done, failed=failed, skipped=0, output=OK, **facts
        )

    def finish(self, result: str = "success", **facts: object) -> "History":
        self.add(WorkflowFinished, result=result, output=OK if result == "success" else None, **facts)
        return self.add(PlaybookProcessed, result=result)

    def failing(self, step: str) -> "History":
        return self.add(WorkflowFailing, step=step, error=REFUSED)
