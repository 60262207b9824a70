"""A loop that failed, reopened in a fork: which events of the source are kept, and what stands for its bad ends (pure).

Comes in: a log and the step to go on from. Goes out: the beginning of a fork's log, in which the step's latest run is
under way with every iteration that is done, and with those that failed or were cancelled put back to what is to do.

The new log has as many events as were kept, and each at its place: only where an iteration ended badly a
`loop.reopened` stands instead. So nothing has to be taken out of the state again: an iteration that never ended was
never counted, never closed its loop and left its place between the folds of its neighbours' writes free (SC-12). The
same holds for loops inside: one that failed, or that ended well with failed iterations (`best_effort`), did not end,
nor did the iteration that it stands in; it goes on with what it has.

What such an iteration wrote to ctx before it failed stays written; where writes wait for the end of the loop (a
parallel one) they are dropped with the attempt.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noetl.engine import events as facts
from noetl.engine.events import Event

RUN_ENDS = (facts.StepFailed, facts.StepCancelled, facts.LoopDone)
BAD_ENDS = (facts.LoopIterationFailed, facts.LoopIterationCancelled)
ITERATION_ENDS = (*BAD_ENDS, facts.LoopIterationDone)


class Reopening(msgspec.Struct, frozen=True, kw_only=True):
    """How a fork begins."""

    run: int  # the step run that goes on
    prefix: list[Event]


def reopened(events: Sequence[Event], step: str) -> Reopening | None:
    """The log to go on from with the finished iterations of a step's latest run; None: there are none to keep, or
    nothing of the loop is left to do."""
    begun = _latest(events, step, len(events))
    if begun < 0:
        return None
    run = events[begun].run
    until = _end(events, begun, run)
    if until is None:
        return None
    kept = list(events[:until])
    is_all_well, has_done = _put_back(kept, begun, run)
    has_succeeded = until < len(events) and isinstance(events[until], facts.LoopDone)
    if not has_done or (has_succeeded and is_all_well):
        return None
    return Reopening(run=run, prefix=kept)


def _latest(events: Sequence[Event], step: str, until: int) -> int:
    """Where the latest run of a step was scheduled; -1: nowhere, or it has no loop."""
    for place in range(until - 1, -1, -1):
        event = events[place]
        if isinstance(event, facts.StepScheduled) and event.step == step and not event.compensates:
            return place if event.has_loop else -1
    return -1


def _end(events: Sequence[Event], begun: int, run: int) -> int | None:
    """How many events there are before the loop ended, or before what ended it from outside."""
    for place in range(begun, len(events)):
        event = events[place]
        if isinstance(event, facts.PlaybookCancelRequested) or (event.run == run and isinstance(event, RUN_ENDS)):
            return place
        if isinstance(event, facts.WorkflowFailing) and not event.is_best_effort:
            return _before_other(events, event.step, place, begun)
    return len(events)


def _before_other(events: Sequence[Event], step: str, until: int, begun: int) -> int | None:
    """Another step's failure cancelled the loop: that step is to run again as well, so it is gone on from before it.
    None: that is before the loop."""
    for place in range(until - 1, begun, -1):
        event = events[place]
        if isinstance(event, facts.StepScheduled) and event.step == step:
            return place
    return None


def _put_back(kept: list[Event], begun: int, run: int) -> tuple[bool, bool]:
    """Reopen, in place, what ended badly in the loops of a run. Whether nothing did; whether something is done."""
    around = {run: (0, -1)}  # run of a loop: the loop and the iteration it stands in
    unwell: set[int] = set()  # loops with something to do again
    undone: set[tuple[int, int]] = set()  # iterations whose inner loop is one of these
    has_done = False
    for place in range(begun, len(kept)):
        event = kept[place]
        if isinstance(event, facts.LoopStarted) and event.parent_run in around:
            around[event.run] = event.parent_run, event.parent_iter
        elif event.run not in around:
            continue
        elif isinstance(event, ITERATION_ENDS):
            spot = event.run, event.iter
            if isinstance(event, BAD_ENDS) or spot in undone:
                undone.discard(spot)
                unwell.add(event.run)
                kept[place] = facts.LoopReopened(ts=event.ts, run=event.run, iter=event.iter)
            else:
                has_done = True
        elif isinstance(event, facts.LoopDone) and (event.error is not None or event.run in unwell):
            undone.add(around[event.run])  # of an inner loop: the outermost one's end is not kept
            kept[place] = facts.LoopReopened(ts=event.ts, run=event.run)
    return not unwell, has_done
