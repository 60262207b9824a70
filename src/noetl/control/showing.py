"""What has been committed, shown to whoever watches a run: events, and the lines that tasks printed.

One that cannot watch any more (its terminal is gone) does not stop the run.
"""

from __future__ import annotations

from collections.abc import Iterable

from noetl.control.catalog import Loaded
from noetl.control.live import Executions
from noetl.control.requests import Nobody, Observer
from noetl.engine.events import (
    Event,
    ExecutionRecovered,
    LoopDone,
    LoopStarted,
    NextEvaluated,
    StepCancelled,
    StepScheduled,
    TaskDone,
)
from noetl.projections.progress import Progress

SHOWN = frozenset((StepScheduled, LoopStarted, TaskDone, NextEvaluated, LoopDone, StepCancelled, ExecutionRecovered))


class Showing:
    """An observer, and what it needs to be told."""

    def __init__(self, observer: Observer, executions: Executions) -> None:
        self.observer = observer
        self._executions = executions
        self._step_names: dict[tuple[int, int], str] = {}  # by execution and run
        self._told: dict[int, int] = {}  # of what begins with the log of another: how many events are no news

    def announce(self, execution_id: int, loaded: Loaded, path: str, so_far: Progress | None = None) -> None:
        """Before the first commit: whoever watches must know whose events these are."""
        self.observer.started(execution_id, loaded.playbook.name, path, list(loaded.playbook.steps), so_far)
        if so_far is not None:
            self._told[execution_id] = so_far.seq

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        old = self._told.pop(execution_id, 0) - first_seq + 1 if self._told else 0
        try:
            if old > 0:
                self._note_names(execution_id, events[:old])
                first_seq, events = first_seq + old, events[old:]
            self._show_prints(execution_id, events)  # what a task printed comes before how it ended
            self.observer.committed(execution_id, first_seq, events)
        except OSError:
            self.observer = Nobody()

    def _show_prints(self, execution_id: int, events: list[Event]) -> None:
        for event in events:
            if type(event) not in SHOWN:
                continue
            if isinstance(event, TaskDone):
                for line in event.logs:
                    step = self._step_names.get((execution_id, event.run), "")
                    self.observer.printed(execution_id, step, event.task, line)
            else:
                self._note_names(execution_id, (event,))

    def _note_names(self, execution_id: int, events: Iterable[Event]) -> None:
        """Which step a run is of, as long as it runs."""
        for event in events:
            if isinstance(event, StepScheduled | LoopStarted):
                self._step_names[execution_id, event.run] = event.step
            elif isinstance(event, NextEvaluated | LoopDone | StepCancelled):
                self._step_names.pop((execution_id, event.run), None)
            elif isinstance(event, ExecutionRecovered) and (live := self._executions.known(execution_id)):
                self._step_names.update(((execution_id, run.id), run.step) for run in live.state.runs.values())
