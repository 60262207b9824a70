"""Step runs: where each one stands, with its loop as counts and its tasks as counts. Below progress and timeline.

Comes in: events, in order. Goes out: a `Run` for each step run, handed over when it ends. An inner loop has a run of
its own in the log; here it is part of the step run it belongs to. Memory follows what is in flight: a loop of a million
iterations is one `Counts`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from noetl.engine.events import (
    Event,
    ExecutionRecovered,
    LoopDone,
    LoopIterationCancelled,
    LoopIterationDone,
    LoopIterationFailed,
    LoopIterationStarted,
    LoopReopened,
    LoopStarted,
    StepCancelled,
    StepDone,
    StepFailed,
    StepScheduled,
    StepStarted,
    TaskDone,
    TaskStarted,
    TaskWaiting,
)

RUNNING, SUCCESS, FAILED, CANCELLED = "running", "success", "failed", "cancelled"


class Counts(msgspec.Struct, kw_only=True):
    """Iterations of a loop."""

    total: int = 0
    done: int = 0
    failed: int = 0
    in_flight: int = 0

    def add(self, other: Counts) -> None:
        self.total += other.total
        self.done += other.done
        self.failed += other.failed
        self.in_flight += other.in_flight


class TaskCounts(msgspec.Struct, kw_only=True):
    """What became of one task of a pipeline, in all iterations together."""

    kind: str = ""
    runs: int = 0
    retries: int = 0
    failed: int = 0


class Run(msgspec.Struct, kw_only=True):
    """One step run."""

    id: int
    step: str
    scheduled_at: float
    compensates: int = 0  # the run that it undoes
    status: str = RUNNING
    started_at: float | None = None
    ended_at: float | None = None
    retries: int = 0
    loop: Counts | None = None  # the outermost one
    nested: Counts | None = None  # all inner ones together
    tasks: dict[str, TaskCounts] = {}
    error: dict[str, Any] | None = None  # the latest, of an attempt, an iteration or the run
    failed_task: str = ""  # where it failed first
    failed_iteration: int = -1

    @property
    def began_at(self) -> float:
        return self.scheduled_at if self.started_at is None else self.started_at


class Place(NamedTuple):
    """What a run number of the log stands for."""

    run: Run  # the step run that it is, or is part of
    counts: Counts | None  # of the loop whose iterations carry this number
    within: str = ""  # of an inner loop: the iterations that it is in, such as "3."


class Current(NamedTuple):
    """A task under way."""

    run: Run
    task: str
    is_waiting: bool


class Runs:
    """The step runs of one execution that have not ended."""

    def __init__(self) -> None:
        self.places: dict[int, Place] = {}
        self.current: dict[
            tuple[int, int], Current
        ] = {}  # by run number and iteration: a pipeline has one task at once

    @property
    def live(self) -> list[Run]:
        return [place.run for number, place in self.places.items() if number == place.run.id]

    def run(self, number: int) -> Run | None:
        place = self.places.get(number)
        return place.run if place else None

    def iteration(self, event: Event) -> int | str:
        """Which iteration an event is of; of nested loops a text such as 3.7, outer ones first."""
        place = self.places.get(event.run)
        return f"{place.within}{event.iter}" if place and place.within and event.iter >= 0 else event.iter

    def apply(self, event: Event) -> Run | None:
        """Take one event in; gives the step run that it ended, if it did."""
        kind = type(event)
        if kind in OPENINGS:
            OPENINGS[kind](self, event)
            return None
        place = self.places.get(event.run)
        if place is None:  # it speaks of the whole execution
            return None
        if kind in CHANGES:
            CHANGES[kind](self, place, event)
        return self.end(place, event, ENDS[kind]) if kind in ENDS else None

    def end(self, place: Place, event: Event, status: str) -> Run | None:
        """Take a run out; with a step run go its inner loops and, where it was cut short, its tasks."""
        run = place.run
        if event.run != run.id:
            del self.places[event.run]
            return None
        del self.places[run.id]
        self.current.pop((run.id, -1), None)
        if run.loop:
            self.current = {key: now for key, now in self.current.items() if now.run is not run}
        if run.nested:
            self.places = {number: one for number, one in self.places.items() if one.run is not run}
        run.status, run.ended_at = status, event.ts
        return run


def scheduled(runs: Runs, event: StepScheduled) -> None:
    run = Run(id=event.run, step=event.step, scheduled_at=event.ts, compensates=event.compensates)
    runs.places[event.run] = Place(run, None)


def loop_started(runs: Runs, event: LoopStarted) -> None:
    run = runs.run(event.parent_run or event.run)
    if run is None:
        return
    if event.parent_run:
        counts = run.nested = run.nested or Counts()
    else:
        counts = run.loop = run.loop or Counts()
    counts.total += event.count
    outer = runs.places[event.parent_run].within if event.parent_run else ""
    runs.places[event.run] = Place(run, counts, f"{outer}{event.parent_iter}." if event.parent_run else "")


def recovered(runs: Runs, _event: ExecutionRecovered) -> None:
    """The process that ran these tasks is gone; each begins again with a task.started of its own."""
    runs.current.clear()


def started(_runs: Runs, place: Place, event: StepStarted) -> None:
    if place.run.started_at is None:
        place.run.started_at = event.ts


def iteration_started(_runs: Runs, place: Place, _event: LoopIterationStarted) -> None:
    if place.counts:
        place.counts.in_flight += 1


def iteration_ended(runs: Runs, place: Place, event: Event) -> None:
    runs.current.pop((event.run, event.iter), None)
    if place.counts is None:
        return
    place.counts.in_flight -= 1
    if isinstance(event, LoopIterationDone):
        place.counts.done += 1
    elif isinstance(event, LoopIterationFailed):
        place.counts.failed += 1
        note_failure(place.run, event, event.error)


def reopened(runs: Runs, place: Place, event: LoopReopened) -> None:
    """Of a fork: an iteration is to be done again, or the loop goes on; what ended it before does not count."""
    if event.iter >= 0:
        iteration_ended(runs, place, event)
    run = place.run
    run.error, run.failed_task, run.failed_iteration = None, "", -1


def task_started(runs: Runs, place: Place, event: TaskStarted) -> None:
    runs.current[event.run, event.iter] = Current(place.run, event.task, False)
    counts = task_counts(place.run, event.task)
    counts.kind = event.kind
    if event.attempt <= 1:
        counts.runs += 1


def task_done(runs: Runs, place: Place, event: TaskDone) -> None:
    runs.current.pop((event.run, event.iter), None)
    if event.do == "retry":
        place.run.retries += 1
        task_counts(place.run, event.task).retries += 1
    elif event.do == "fail":
        task_counts(place.run, event.task).failed += 1
        note_failure(place.run, event, event.error)
    if event.output and event.output.get("error"):
        place.run.error = event.output["error"]


def task_waiting(runs: Runs, place: Place, event: TaskWaiting) -> None:
    runs.current[event.run, event.iter] = Current(place.run, event.task, True)


def task_counts(run: Run, label: str) -> TaskCounts:
    if label not in run.tasks:
        run.tasks[label] = TaskCounts()
    return run.tasks[label]


def note_failure(run: Run, event: Event, error: dict[str, Any] | None) -> None:
    """Remember why, and where it failed first: with fail_fast that is what ended the step."""
    run.error = error or run.error
    if run.failed_iteration < 0:
        run.failed_iteration = event.iter
    if not run.failed_task:
        run.failed_task = event.task


def failed(_runs: Runs, place: Place, event: StepFailed) -> None:
    note_failure(place.run, event, event.error)


OPENINGS: dict[type[Event], Callable[[Runs, Any], None]] = {
    StepScheduled: scheduled,
    LoopStarted: loop_started,
    ExecutionRecovered: recovered,
}
CHANGES: dict[type[Event], Callable[[Runs, Place, Any], None]] = {
    StepStarted: started,
    LoopIterationStarted: iteration_started,
    LoopIterationDone: iteration_ended,
    LoopIterationFailed: iteration_ended,
    LoopIterationCancelled: iteration_ended,
    LoopReopened: reopened,
    TaskStarted: task_started,
    TaskDone: task_done,
    TaskWaiting: task_waiting,
    StepFailed: failed,
}
ENDS: dict[type[Event], str] = {StepDone: SUCCESS, LoopDone: SUCCESS, StepFailed: FAILED, StepCancelled: CANCELLED}
