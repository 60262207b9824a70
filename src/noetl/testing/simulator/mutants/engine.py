"""Mistakes in the engine: tokens, loops, ctx and what follows from events (protocol §3, §8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

import noetl.engine.decision as decisions
from noetl.engine import admission, apply_steps, decide, effects, ending, looping, runs
from noetl.engine import commands as ops
from noetl.engine import events as facts
from noetl.engine.apply import HANDLERS
from noetl.engine.decision import Decision
from noetl.engine.events import Patch
from noetl.engine.patches import patched
from noetl.engine.state import Loop, State
from noetl.testing.simulator.case import EMBEDDED
from noetl.testing.simulator.mutants.planting import Mutant, Planting
from noetl.testing.simulator.mutants.pump import nothing


def admission_not_asked(planting: Planting) -> None:
    planting.put(admission, "denying_rule", lambda *_given: admission.ALLOWED)


def run_numbers_reused(planting: Planting) -> None:
    def made(schedule: Any) -> Any:
        def scheduled(decision: Decision, *given: Any) -> None:
            decision.state.last_run = len(decision.state.runs)
            schedule(decision, *given)

        return scheduled

    planting.around(admission, "schedule", made)


def window_ignored(planting: Planting) -> None:
    def made(start: Any) -> Any:
        def started(decision: Decision, loop: Any, *given: Any) -> None:
            start(decision, msgspec.structs.replace(loop, max_in_flight=None), *given)

        return started

    planting.around(looping, "start", made)


def loop_ends_early(planting: Planting) -> None:
    planting.put(Loop, "is_over", property(lambda loop: loop.is_closed or loop.next >= loop.count))


def loop_goes_on(planting: Planting) -> None:
    def made(iteration_failed: Any) -> Any:
        def failed(state: State, event: facts.LoopIterationFailed) -> None:
            iteration_failed(state, event)
            loop = state.runs[event.run].loop
            if loop is not None:
                loop.is_closed = False

        return failed

    planting.put_row(HANDLERS, facts.LoopIterationFailed, made)


def index_skipped(planting: Planting) -> None:
    """Nobody minds: neither the fold nor the counts of the boundary, which are made from it."""

    def made(iteration_done: Any) -> Any:
        def done(state: State, event: facts.LoopIterationDone) -> None:
            iteration_done(state, event)
            loop = state.runs[event.run].loop
            if loop is not None and loop.is_parallel and loop.next == loop.count - 1:
                loop.next += 1

        return done

    planting.put_row(HANDLERS, facts.LoopIterationDone, made)


def ctx_in_memory(planting: Planting) -> None:
    def made(signal: Any) -> Any:
        def signalled(decision: Decision, op: ops.Signal) -> None:
            signal(decision, op)
            decision.state.ctx = {**decision.state.ctx, "signals": len(op.patches)}

        return signalled

    planting.put_row(decide.OPERATIONS, ops.Signal, made)


def patch_lost(planting: Planting) -> None:
    def first_only(data: dict[str, Any], patches: Iterable[Patch], scope: str) -> dict[str, Any]:
        return patched(data, list(patches)[:1], scope)

    planting.put(runs, "patched", first_only)
    planting.put(apply_steps, "patched", first_only)


def cancelled_stay_queued(planting: Planting) -> None:
    kept = tuple(kind for kind in effects.ENDS_A_JOB if kind not in (facts.StepCancelled, facts.LoopIterationCancelled))
    planting.put(effects, "ENDS_A_JOB", kept)


def child_heard_by_nobody(planting: Planting) -> None:
    def made(follow: Any) -> Any:
        def followed(state: State, event: facts.Event) -> Iterator[ops.Change]:
            return iter(()) if type(event) is facts.ChildDone else follow(state, event)

        return followed

    planting.around(decisions, "effects", made)


def jobs_not_rebuilt(planting: Planting) -> None:
    def made(pending: Any) -> Any:
        def found(state: State) -> Iterator[ops.Change]:
            return (change for change in pending(state) if not isinstance(change, ops.JobAdded))

        return found

    planting.around(decide, "pending", made)


def cancel_ignored(planting: Planting) -> None:
    planting.put(ending, "cancel_run", nothing)


MUTANTS = (
    Mutant(
        name="notadmitted",
        meaning="the admission rules of a step are not asked",
        caught_by=("reference", "I5"),
        plant=admission_not_asked,
    ),
    Mutant(
        name="runreuse",
        meaning="a step run gets the number of runs under way, so that a number comes again",
        caught_by=("I5",),
        plant=run_numbers_reused,
    ),
    Mutant(
        name="windowless",
        meaning="max_in_flight of a loop is not looked at",
        caught_by=("I7",),
        plant=window_ignored,
    ),
    Mutant(
        name="loopearly",
        meaning="a loop ends when its last iteration has begun",
        caught_by=("I6",),
        plant=loop_ends_early,
    ),
    Mutant(
        name="loopgoeson",
        meaning="a loop starts further iterations after one has failed",
        caught_by=("I6",),
        plant=loop_goes_on,
    ),
    Mutant(
        name="indexskipped",
        meaning="a parallel loop counts its last index as begun before it has",
        caught_by=("I6",),
        plant=index_skipped,
    ),
    Mutant(
        name="ctxinmemory",
        meaning="a signal writes to ctx in memory what no patch says",
        caught_by=("I10", "I8"),
        overrides={"users_signal": 0.7},
        plant=ctx_in_memory,
    ),
    Mutant(
        name="patchlost",
        meaning="of the patches of one event only the first is folded",
        caught_by=("I8",),
        plant=patch_lost,
    ),
    Mutant(
        name="cancelqueued",
        meaning="the jobs of what is cancelled stay in the queue",
        caught_by=("I9",),
        overrides={"users_cancel": 0.7},
        plant=cancelled_stay_queued,
    ),
    Mutant(
        name="childunheard",
        meaning="a job whose child has ended stays parked",
        caught_by=("I9", "I15"),
        plant=child_heard_by_nobody,
    ),
    Mutant(
        name="jobsnotrebuilt",
        meaning="an execution that is taken up does not get its jobs back",
        caught_by=("I9", "I15"),
        shapes=(EMBEDDED,),
        plant=jobs_not_rebuilt,
    ),
    Mutant(
        name="cancelignored",
        meaning="a cancel lets what runs go on to its end",
        caught_by=("effects", "I11", "I9"),
        overrides={"users_cancel": 0.7},
        plant=cancel_ignored,
    ),
)
