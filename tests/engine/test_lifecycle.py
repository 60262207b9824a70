"""Legal moves, as tables: each one is taken by some history, every other one is refused."""

import pytest

from noetl.engine import events as facts
from noetl.engine.apply import apply, replay
from noetl.engine.commands import Expire, Fork
from noetl.engine.events import EVENTS
from noetl.engine.lifecycle import RUN_MOVES, move
from noetl.engine.output import failure
from noetl.engine.state import ENDED, SCHEDULED, STARTED, Run, State
from noetl.errors import BrokenInvariant
from noetl.testing.samples import sample
from tests.engine.books import engine, ran

BROKEN = failure("server_error", "no")
ONE = "workflow: [{step: start, tool: {kind: noop}}]"
LOOP = "workflow: [{step: start, loop: {in: [1], iterator: n}, tool: [{name: each, kind: noop}]}]"
PLANNER = "workflow: [{step: start, spec: {policy: {plan: true}}, tool: [{name: plan, kind: noop}]}]"


def done():
    return ran(ONE)


def failed():
    return ran("workflow: [{step: start, tool: [{name: bad, kind: noop}]}]", {"bad": BROKEN})


def looped():
    return ran(LOOP)


def reopened_loop():
    made = engine("workflow: [{step: start, loop: {in: [1, 2], iterator: n}, tool: [{name: each, kind: noop}]}]")
    made.start()
    made.run_job(1, 0)
    made.do(Fork(execution_id=1, path="t", version=1, sha="sha", source_execution_id=7, prefix=[], reopened=1))
    return made


def cancelled_in_the_queue():
    made = engine(ONE)
    made.start()
    made.cancel()
    return made


def cancelled_under_way():
    made = engine("workflow: [{step: start, tool: [{name: one, kind: noop}, {name: two, kind: noop}]}]")
    made.start()
    made.run_job(1, -1, tasks=1)
    made.cancel()
    return made


def late_in_the_queue():
    made = engine(ONE)
    made.start()
    made.do(Expire(execution_id=1, run=1, message="late"))
    return made


def cancelled_planner():
    made = engine(PLANNER, {"plan": [[]]})
    made.start()
    made.run_job(1, -1)
    made.cancel()
    return made


HISTORIES = (
    done,
    failed,
    looped,
    reopened_loop,
    cancelled_in_the_queue,
    cancelled_under_way,
    late_in_the_queue,
    cancelled_planner,
)


def moves_of(log):
    """The moves that the runs of a log make: phases before, with the event that came."""
    state, found = State(execution_id=1), set()
    for event in log:
        run = state.runs.get(event.run)
        phase = run.phase if run else ""
        found.add((phase, type(event)))
        apply(state, event)
    return found


def test_every_legal_move_is_taken_by_some_history():
    taken = set().union(*(moves_of(history().log) for history in HISTORIES))

    assert set(RUN_MOVES) <= taken


ILLEGAL = [
    (phase, kind)
    for phase in (SCHEDULED, STARTED, ENDED)
    for kind in (
        facts.StepStarted,
        facts.StepDone,
        facts.StepFailed,
        facts.StepCancelled,
        facts.LoopStarted,
        facts.LoopDone,
    )
    if (phase, kind) not in RUN_MOVES
]


@pytest.mark.parametrize(("phase", "kind"), ILLEGAL, ids=lambda one: one if isinstance(one, str) else one.__name__)
def test_every_other_move_is_refused(phase, kind):
    run = Run(id=41, step="start", phase=phase)

    with pytest.raises(BrokenInvariant, match=f"run 41 of step start is {phase}"):
        move(run, sample(kind))


@pytest.mark.spec("EV-06")
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_nothing_follows_the_end_of_a_log(kind):
    made = done()

    with pytest.raises(BrokenInvariant, match="I11"):
        apply(made.state, sample(kind))


@pytest.mark.parametrize("kind", [kind for kind in EVENTS if kind is not facts.PlaybookProcessed])
def test_after_workflow_finished_only_playbook_processed_may_come(kind):
    state = replay(1, done().log[:-1])

    with pytest.raises(BrokenInvariant, match="I11"):
        apply(state, sample(kind))


def test_an_iteration_that_is_not_next_is_refused():
    made = engine(LOOP)
    made.start()

    with pytest.raises(BrokenInvariant, match="I6"):
        apply(made.state, facts.LoopIterationStarted(ts=1.0, run=1, iter=5))


def test_more_iterations_than_the_window_allows_are_refused():
    made = engine(LOOP.replace("[1]", "[1, 2]"))
    made.start()

    with pytest.raises(BrokenInvariant, match="I7"):
        apply(made.state, facts.LoopIterationStarted(ts=1.0, run=1, iter=1))


def test_an_iteration_ends_once():
    made = engine(LOOP.replace("[1]", "[1, 2]"))
    made.start()
    made.run_job(1, 0)

    with pytest.raises(BrokenInvariant, match="I6"):
        apply(made.state, facts.LoopIterationDone(ts=1.0, run=1, iter=0, output={"data": 1}))


def test_a_task_of_a_job_that_is_not_there_is_refused():
    made = done_halfway()

    with pytest.raises(BrokenInvariant, match="I4"):
        apply(made.state, facts.TaskStarted(ts=1.0, run=9, task="x", visit=1, attempt=1, kind="noop"))


def done_halfway():
    made = engine(ONE)
    made.start()
    return made
