"""What a log says, in the names of `expectations`: a run's number becomes "the second run of s3, iteration 0.1".

Only the events themselves are read; nothing of the engine is run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from noetl.engine import events as facts
from noetl.engine.events import Event, Patch
from noetl.testing.simulator.reference.expectations import STORED, RunKey, Tally, TaskKey


class Story(msgspec.Struct, kw_only=True):
    """What a log says."""

    status: str = ""  # empty: it has not ended
    ctx: dict[str, Any] = {}
    output: Any = STORED
    tallies: dict[str, Tally] = {}
    tasks: dict[TaskKey, list[facts.TaskDone]] = {}
    runs: dict[int, RunKey] = {}

    def key_of(self, event: Event) -> TaskKey:
        """Which attempt of which task an event speaks of."""
        return TaskKey(at(self.runs[event.run], event.iter), event.task, event.visit, event.attempt)


def at(run: RunKey, index: int) -> RunKey:
    """A run, or one of its iterations."""
    return run if index < 0 else run._replace(indexes=(*run.indexes, index))


def goes_on(_event: Event, _story: Story) -> bool:
    """To the end of the log."""
    return False


def told(log: Sequence[Event], stops: Callable[[Event, Story], bool] = goes_on) -> Story:
    """What a log says, up to where it stops."""
    reader = _Reader()
    for event in log:
        reader.read(event)
        if stops(event, reader.story):
            break
    return reader.story


class _Reader:
    """Folds a log into a story."""

    def __init__(self) -> None:
        self.story = Story(ctx={}, tallies={}, tasks={}, runs={})
        self.numbers: dict[str, int] = {}

    def read(self, event: Event) -> None:
        handle = _HANDLERS.get(type(event))
        if handle is not None:
            handle(self, event)
        self._write(getattr(event, "patches", ()), event)

    def _write(self, patches: Sequence[Patch], event: Event) -> None:
        if isinstance(event, facts.LoopIterationDone):
            return  # held until the loop's end, where they stand again, as merged
        for patch in patches:
            if patch.path.startswith("ctx."):
                self.story.ctx[patch.path[4:]] = patch.value

    def _tally(self, step: str) -> Tally:
        return self.story.tallies.setdefault(step, Tally())

    def scheduled(self, event: facts.StepScheduled) -> None:
        if event.compensates:
            self.story.runs[event.run] = self.story.runs[event.compensates]._replace(is_undo=True)
            self._tally(event.step).undone += 1
            return
        self.numbers[event.step] = number = self.numbers.get(event.step, 0) + 1
        self.story.runs[event.run] = RunKey(event.step, number)

    def loop_started(self, event: facts.LoopStarted) -> None:
        if event.parent_run:
            self.story.runs[event.run] = at(self.story.runs[event.parent_run], event.parent_iter)

    def iteration_done(self, event: facts.LoopIterationDone) -> None:
        self._tally(self.story.runs[event.run].step).iterations_done += 1

    def iteration_failed(self, event: facts.LoopIterationFailed) -> None:
        self._tally(self.story.runs[event.run].step).iterations_failed += 1

    def done(self, event: facts.StepDone | facts.LoopDone) -> None:
        if not self.story.runs[event.run].is_undo and not self.story.runs[event.run].indexes:
            self._tally(event.step).done += 1

    def failed(self, event: facts.StepFailed) -> None:
        if not self.story.runs[event.run].is_undo:
            self._tally(event.step).failed += 1

    def skipped(self, event: facts.StepSkipped) -> None:
        self._tally(event.step).skipped += 1

    def task_done(self, event: facts.TaskDone) -> None:
        self.story.tasks.setdefault(self.story.key_of(event), []).append(event)

    def finished(self, event: facts.WorkflowFinished) -> None:
        self.story.status = event.result
        self.story.output = (event.output or {"data": None}).get("data", STORED)


_HANDLERS: dict[type[Event], Any] = {
    facts.StepScheduled: _Reader.scheduled,
    facts.LoopStarted: _Reader.loop_started,
    facts.LoopIterationDone: _Reader.iteration_done,
    facts.LoopIterationFailed: _Reader.iteration_failed,
    facts.StepDone: _Reader.done,
    facts.LoopDone: _Reader.done,
    facts.StepFailed: _Reader.failed,
    facts.StepSkipped: _Reader.skipped,
    facts.TaskDone: _Reader.task_done,
    facts.WorkflowFinished: _Reader.finished,
}
