"""One execution as a story that can be compared: what each step run, iteration and task came to, and nothing else.

Comes in: the events of one log, in order. Goes out: step runs, each with threads of facts: one thread for its pipeline,
or one for each iteration, in the order in which that pipeline went, and after them how the run ended and which arcs
fired. Times, leases, durations, places in the log and the order of what ran side by side are no part of it.

A run is known by the way to it: its step, and the runs that its tokens came from. So two executions in which
branches were scheduled in another order have the same runs.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from noetl.engine import events as facts
from noetl.engine.events import Envelope, Event, Patch
from noetl.projections.progress import Progress

ADMISSION, LOOP, TASK, CHILD, END, ARCS = "admission", "loop", "task", "child", "end", "arcs"
Path = tuple[int, ...]  # the iterations around a pipeline, outermost first
HELPERS = {"http": ("status",), "pg": ("affected_rows",), "loop": ("total", "done", "failed", "skipped")}
ERROR_FIELDS = ("kind", "message")


class Fact(NamedTuple):
    """One thing that happened; `value` is compared."""

    what: str
    seq: int
    value: dict[str, Any]
    task: str = ""
    visit: int = 0
    attempt: int = 0


class StoryRun(msgspec.Struct, kw_only=True):
    """One step run."""

    id: int
    step: str
    key: str  # the way to it
    compensates: bool = False
    status: str = "running"
    attempts: int = 0
    threads: dict[Path, list[Fact]] = {}
    before: list[Fact] = []  # admission
    after: list[Fact] = []  # its end, and its arcs


class Story:
    """See above."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.sha = ""
        self.payload: dict[str, Any] = {}
        self.runs: list[StoryRun] = []
        self.skipped: list[str] = []  # steps whose token was retired
        self.signals: list[dict[str, Any]] = []
        self._places: dict[int, tuple[StoryRun, Path]] = {}  # by run number of the log
        self._tokens: dict[int, str] = {}  # the way of each
        self._last_token = 0
        self._keys: Counter[str] = Counter()
        self._kinds: dict[tuple[int, int], str] = {}

    def apply(self, seq: int, event: Event) -> None:
        self.progress.apply(event)
        take = TAKEN.get(type(event))
        if take:
            take(self, seq, event)

    # --- the execution -----------------------------------------------------------------------------------------------

    def _requested(self, _seq: int, event: facts.PlaybookExecutionRequested) -> None:
        self.sha, self.payload = event.sha, event.payload

    def _forked(self, _seq: int, event: facts.ExecutionForked) -> None:
        self.sha = event.sha

    def _entered(self, _seq: int, event: facts.WorkflowStarted) -> None:
        self._tokens[event.token], self._last_token = "", event.token

    def _signalled(self, _seq: int, event: facts.SignalReceived) -> None:
        self.signals.append(written(event.patches))

    # --- step runs ---------------------------------------------------------------------------------------------------

    def _scheduled(self, seq: int, event: facts.StepScheduled) -> None:
        ways = sorted(self._tokens.pop(token, "") for token in event.tokens)
        key = hashlib.sha256(repr((event.step, event.compensates > 0, ways)).encode()).hexdigest()[:16]
        self._keys[key] += 1
        run = StoryRun(
            id=event.run,
            step=event.step,
            key=f"{key}#{self._keys[key]}",
            compensates=event.compensates > 0,
            before=[Fact(ADMISSION, seq, {"tokens": len(ways), "is_join": event.is_join})],
        )
        self.runs.append(run)
        self._places[event.run] = run, ()

    def _retired(self, _seq: int, event: facts.StepSkipped) -> None:
        self._tokens.pop(event.token, None)
        self.skipped.append(event.step)

    def _ended(self, seq: int, event: facts.StepDone | facts.StepFailed | facts.StepCancelled | facts.LoopDone) -> None:
        place = self._places.get(event.run)
        if place is None or place[0].id != event.run:
            return  # an inner loop: its iteration says how it ended
        run = place[0]
        run.status = STATUSES[type(event)]
        value: dict[str, Any] = {"status": run.status}
        if not isinstance(event, facts.StepCancelled):
            value["output"] = comparable(event.output)
        if isinstance(event, facts.StepFailed):
            value["error"] = error_of(event.error)
        elif not isinstance(event, facts.StepCancelled):
            value["writes"] = written(event.patches)
        run.after.append(Fact(END, seq, value))

    def _routed(self, seq: int, event: facts.NextEvaluated) -> None:
        run, _ = self._places.pop(event.run, (None, ()))
        for fired in event.fired:
            if not fired.is_duplicate:
                self._last_token = fired.token or self._last_token + 1
                self._tokens[self._last_token] = f"{run.key if run else ''}>{fired.step}"
        if run is not None:
            value = {
                "fired": [{"step": one.step, "args": one.args} for one in event.fired],
                "arcs": [one.arc for one in event.fired],
                "writes": written(event.patches),
                "error": error_of(event.error),
            }
            run.after.append(Fact(ARCS, seq, value))

    # --- loops -------------------------------------------------------------------------------------------------------

    def _loop(self, seq: int, event: facts.LoopStarted) -> None:
        place = self._places.get(event.parent_run or event.run)
        if place is None:
            return
        run, path = place
        if event.parent_run:
            path = (*path, event.parent_iter)
            self._places[event.run] = run, path
        value = {"count": event.count, "items": event.items, "range": event.range, "ref": reference(event.ref)}
        thread = run.threads.setdefault(path, []) if event.parent_run else run.before
        thread.append(Fact(LOOP, seq, value))

    def _iteration_ended(
        self,
        seq: int,
        event: facts.LoopIterationDone | facts.LoopIterationFailed | facts.LoopIterationCancelled,
    ) -> None:
        output = getattr(event, "output", None)
        value = {"status": STATUSES[type(event)], "output": comparable(output)}
        if isinstance(event, facts.LoopIterationDone):
            value["writes"] = written(event.patches)
        if isinstance(event, facts.LoopIterationFailed):
            value["error"] = error_of(event.error)
        self._note(event, Fact(END, seq, value))

    def _reopened(self, _seq: int, event: facts.LoopReopened) -> None:
        """Of a fork: what it did before it failed does not count; an inner loop's iterations have their own threads."""
        place = self._places.get(event.run)
        if place is not None and event.iter >= 0:
            thread = place[0].threads.get((*place[1], event.iter), [])
            thread[:] = [fact for fact in thread if fact.what == LOOP]

    # --- tasks -------------------------------------------------------------------------------------------------------

    def _task_started(self, _seq: int, event: facts.TaskStarted) -> None:
        self._kinds[event.run, event.iter] = event.kind
        place = self._places.get(event.run)
        if place is not None:
            place[0].attempts += 1

    def _task_done(self, seq: int, event: facts.TaskDone) -> None:
        value = {
            "kind": self._kinds.pop((event.run, event.iter), ""),
            "output": comparable(event.output),
            "error": error_of(event.error),
            "do": event.do,
            "to": event.to,
            "rule": event.rule,
            "writes": written([*event.patches, *event.held]),
        }
        self._note(event, Fact(TASK, seq, value, event.task, event.visit, event.attempt))

    def _task_waiting(self, seq: int, event: facts.TaskWaiting) -> None:
        if event.child is not None:
            value = {name: event.child.get(name) for name in ("path", "version", "payload")}
            self._note(event, Fact(CHILD, seq, value, event.task, event.visit, event.attempt))

    def _note(self, event: Event, fact: Fact) -> None:
        place = self._places.get(event.run)
        if place is not None:
            run, path = place
            run.threads.setdefault((*path, event.iter) if event.iter >= 0 else path, []).append(fact)


def comparable(output: Envelope | None) -> dict[str, Any] | None:
    """An envelope without what differs from one call to the next by itself; stored data by its checksum."""
    if output is None:
        return None
    found: dict[str, Any] = {"status": output.get("status", "ok")}
    if "data" in output:
        found["data"] = output["data"]
    if output.get("ref"):
        found["ref"] = reference(output["ref"])
    if output.get("error"):
        found["error"] = error_of(output["error"])
    for helper, names in HELPERS.items():
        if isinstance(output.get(helper), dict):
            found[helper] = {name: output[helper].get(name) for name in names}
    return found


def reference(ref: dict[str, Any] | None) -> dict[str, Any] | None:
    """A reference by what it stands for, not by where that is kept."""
    if ref is None:
        return None
    meta = ref.get("meta") or {}
    return {"sha256": meta["sha256"]} if meta.get("sha256") else {"locator": ref.get("locator")}


def error_of(error: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if error is None else {name: error.get(name) for name in ERROR_FIELDS}


def written(patches: list[Patch]) -> dict[str, Any]:
    return {patch.path: patch.value for patch in patches}


STATUSES: dict[type[Event], str] = {
    facts.StepDone: "success",
    facts.LoopDone: "success",
    facts.StepFailed: "failed",
    facts.StepCancelled: "cancelled",
    facts.LoopIterationDone: "done",
    facts.LoopIterationFailed: "failed",
    facts.LoopIterationCancelled: "cancelled",
}
TAKEN: dict[type[Event], Callable[[Story, int, Any], None]] = {
    facts.PlaybookExecutionRequested: Story._requested,
    facts.ExecutionForked: Story._forked,
    facts.WorkflowStarted: Story._entered,
    facts.SignalReceived: Story._signalled,
    facts.StepScheduled: Story._scheduled,
    facts.StepSkipped: Story._retired,
    facts.StepDone: Story._ended,
    facts.StepFailed: Story._ended,
    facts.StepCancelled: Story._ended,
    facts.LoopDone: Story._ended,
    facts.NextEvaluated: Story._routed,
    facts.LoopStarted: Story._loop,
    facts.LoopIterationDone: Story._iteration_ended,
    facts.LoopIterationFailed: Story._iteration_ended,
    facts.LoopIterationCancelled: Story._iteration_ended,
    facts.LoopReopened: Story._reopened,
    facts.TaskStarted: Story._task_started,
    facts.TaskDone: Story._task_done,
    facts.TaskWaiting: Story._task_waiting,
}
