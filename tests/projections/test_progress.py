"""Progress: what the events of an execution say about where it stands."""

import pytest

from noetl.engine.events import (
    ChildDone,
    EngineError,
    ExecutionRecovered,
    LoopDone,
    LoopIterationDone,
    LoopIterationStarted,
    LoopStarted,
    NextEvaluated,
    Patch,
    PlaybookCancelRequested,
    SignalReceived,
    StepCancelled,
    StepScheduled,
    StepSkipped,
    StepWaiting,
    TaskStarted,
    TaskWaiting,
    WorkflowFailing,
)
from noetl.projections.progress import CHILD_IDS_MAX, Progress
from tests.projections.histories import BAD, OK, History


@pytest.fixture
def history():
    return History().begin()


def fold(events):
    progress = Progress()
    for event in events:
        progress.apply(event)
    return progress


def statuses(progress):
    return {step.step: (step.runs, step.status) for step in progress.steps}


def test_a_finished_execution_has_its_result_output_and_duration(history):
    run = history.schedule("start")
    history.task(run).done(run, "start").finish()

    progress = fold(history)

    assert (progress.status, progress.output, progress.error) == ("success", OK, None)
    assert (progress.path, progress.version, progress.workload) == ("orders", 2, {"a": 1})
    assert progress.duration_ms == (len(history) - 1) * 1000


def test_steps_stand_in_the_order_of_their_first_scheduling(history):
    for step in ("start", "load", "start"):
        run = history.schedule(step)
        history.done(run, step)
    history.schedule("save")

    progress = fold(history)

    assert statuses(progress) == {"start": (2, "success"), "load": (1, "success"), "save": (1, "running")}


def test_a_step_with_a_run_under_way_is_running_whatever_an_earlier_run_came_to(history):
    first = history.schedule("load")
    history.fail(first, "load")
    history.schedule("load")

    assert statuses(fold(history)) == {"load": (2, "running")}


def test_a_cancelled_run_and_a_retired_token_are_told_apart(history):
    run = history.schedule("load")
    history.add(StepCancelled, run=run, step="load")
    history.add(StepSkipped, step="audit", token=9)

    assert statuses(fold(history)) == {"load": (1, "cancelled"), "audit": (0, "skipped")}


def test_a_compensation_does_not_change_how_its_step_ended(history):
    run = history.schedule("book")
    history.done(run, "book")
    undo = history.schedule("book", compensates=run)
    history.fail(undo, "book")

    progress = fold(history)

    assert statuses(progress) == {"book": (1, "success")}
    assert progress.steps[0].compensations == 1


def test_retries_and_the_last_error_are_kept(history):
    run = history.schedule("load")
    history.task(run, do="retry", output=BAD).task(run, do="retry", output=BAD, attempt=2).task(run, attempt=3)

    step = fold(history).steps[0]

    assert (step.retries, step.error["message"]) == (2, "connection refused")


@pytest.mark.spec("LP-08")
def test_a_loop_is_counted(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 4).iteration(run, 0).iteration(run, 1, is_failed=True)
    history.add(LoopIterationStarted, run=run, iter=2)

    loop = fold(history).steps[0].loop

    assert (loop.total, loop.done, loop.failed, loop.in_flight) == (4, 1, 1, 1)


@pytest.mark.spec("LP-09")
def test_inner_loops_are_counted_together_and_apart_from_the_outer_one(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 2, has_inner=True)
    for index, inner in enumerate((8, 9)):
        history.add(LoopIterationStarted, run=run, iter=index)
        history.loop(inner, "load", 3, parent_run=run, parent_iter=index)
    history.iteration(8, 0).iteration(8, 1).iteration(8, 2).loop_done(8, "load", 3)
    history.add(LoopIterationDone, run=run, iter=0, output=OK).iteration(9, 0)

    step = fold(history).steps[0]

    assert (step.loop.total, step.loop.done, step.loop.in_flight) == (2, 1, 1)
    assert (step.nested.total, step.nested.done, step.nested.in_flight) == (6, 4, 0)
    assert step.status == "running"


def test_the_loops_of_several_runs_of_a_step_are_added_up(history):
    for _ in range(2):
        run = history.schedule("load", has_loop=True)
        history.loop(run, "load", 1).iteration(run, 0).loop_done(run, "load", 1)

    progress = fold(history)

    assert progress.steps[0].loop.done == 2
    assert progress.steps[0].loop.done == 2, "looking changes nothing"


@pytest.mark.spec("LP-10")
def test_memory_does_not_grow_with_iterations(history):
    run = history.schedule("load", has_loop=True)
    progress = fold(history.loop(run, "load", 1000))
    for index in range(1000):
        start = LoopIterationStarted(ts=1.0, run=run, iter=index)
        inner = LoopStarted(ts=1.0, run=2000 + index, step="load", count=0, parent_run=run, parent_iter=index)
        task = TaskStarted(ts=1.0, run=run, iter=index, task="fetch", kind="noop")
        end = LoopDone(ts=1.0, run=2000 + index, step="load", total=0, done=0, failed=0, skipped=0, output=OK)
        for event in (start, inner, task, end, LoopIterationDone(ts=1.0, run=run, iter=index, output=OK)):
            progress.apply(event)

    assert progress.steps[0].loop.done == 1000
    assert (len(progress.runs.places), len(progress.runs.current)) == (1, 0)


def test_tasks_under_way_are_those_started_and_not_done(history):
    run = history.schedule("load", has_loop=True)
    for index in range(3):
        history.add(TaskStarted, run=run, iter=index, task="fetch", kind="http")
    history.task(run, "fetch", iter=0)

    progress = fold(history)

    assert progress.tasks_under_way("load") == {"fetch": 2}
    assert progress.tasks_under_way("save") == {}


def test_a_recovery_forgets_the_tasks_of_the_process_that_died(history):
    run = history.schedule("load")
    history.add(TaskStarted, run=run, task="fetch", kind="http").add(ExecutionRecovered)

    assert fold(history).tasks_under_way("load") == {}


@pytest.mark.spec("SC-02")
def test_ctx_is_the_fold_of_the_patches_of_every_event_that_has_some(history):
    run = history.schedule("load")
    history.task(run, patches=[Patch("ctx.a.b", 1), Patch("step.x", 2), Patch("iter.y", 3)])
    history.done(run, "load", patches=[Patch("ctx.a.c", 2)])
    history.add(
        NextEvaluated, run=run, step="load", boundary="step.done", boundary_seq=1, patches=[Patch("ctx.next", True)]
    )
    loop = history.schedule("each", has_loop=True)
    history.loop_done(loop, "each", 0, patches=[Patch("ctx.sum", 6)])
    history.add(SignalReceived, patches=[Patch("ctx.go", "yes")])

    assert fold(history).ctx == {"a": {"b": 1, "c": 2}, "next": True, "sum": 6, "go": "yes"}


@pytest.mark.spec("SC-12")
def test_writes_that_wait_for_the_end_of_a_loop_are_not_in_ctx_before_it(history):
    run = history.schedule("each", has_loop=True)
    history.task(run, iter=0, held=[Patch("ctx.a", 1)])
    history.add(LoopIterationDone, run=run, iter=0, output=OK, patches=[Patch("ctx.a", 1)])

    assert fold(history).ctx == {}


def test_folding_ctx_leaves_the_events_as_they_were(history):
    run = history.schedule("load")
    history.task(run, patches=[Patch("ctx.a", {"b": 1})]).task(run, patches=[Patch("ctx.a.c", 2)])

    progress = fold(history)

    assert progress.ctx == {"a": {"b": 1, "c": 2}}
    assert history[-3].patches[0].value == {"b": 1}


@pytest.mark.spec("RT-05")
def test_a_failure_names_step_task_and_iteration(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 9).task(run, "fetch", iter=7, do="fail", output=BAD).iteration(run, 7, is_failed=True)
    history.task(run, "other", iter=8, do="fail", output=BAD).iteration(run, 8, is_failed=True)
    history.fail(run, "load").failing("load").finish("failed")

    progress = fold(history)

    assert progress.status == "failed"
    assert progress.error == {
        "kind": "connection",
        "message": "connection refused",
        "step": "load",
        "task": "fetch",
        "iteration": 7,
    }


@pytest.mark.spec("SC-04")
@pytest.mark.parametrize(("given", "shown"), [("7", 7), ("3.7", "3.7")])
def test_an_error_that_names_its_iteration_is_believed(history, given, shown):
    error = {"kind": "type", "message": "no", "step": "load", "task": "fetch", "iteration": given}

    progress = fold(history.add(WorkflowFailing, step="load", error=error))

    assert progress.error == {**error, "iteration": shown}


@pytest.mark.spec("RT-11")
def test_a_failure_that_an_arc_handled_leaves_no_error(history):
    run = history.schedule("load")
    history.fail(run, "load")
    last = history.schedule("repair")
    history.done(last, "repair").finish()

    progress = fold(history)

    assert (progress.status, progress.error) == ("success", None)
    assert statuses(progress) == {"load": (1, "failed"), "repair": (1, "success")}


@pytest.mark.spec("ST-06")
def test_an_execution_waits_when_only_a_token_for_a_signal_is_left(history):
    run = history.schedule("ask")
    history.add(StepWaiting, step="approve", token=7, is_for_signal=True)

    meanwhile = fold(history).status
    still = fold(history.done(run, "ask"))

    assert meanwhile == "running"
    assert still.status == "waiting"
    assert [one.step for one in still.waiting.values()] == ["approve"]


@pytest.mark.spec("ST-06")
def test_an_admitted_token_waits_no_longer(history):
    history.add(StepWaiting, step="approve", token=7, is_for_signal=True)
    history.add(StepScheduled, run=5, step="approve", tokens=[7])

    progress = fold(history)

    assert (progress.status, progress.waiting) == ("running", {})


def test_a_fault_of_the_engine_is_an_incident_until_it_is_taken_up_again(history):
    broken = fold(history.add(EngineError, message="I8 does not hold"))
    again = fold(history.add(ExecutionRecovered))

    assert (broken.status, broken.incident) == ("incident", "I8 does not hold")
    assert again.status == "running"


def test_a_cancellation_says_why(history):
    error = {"kind": "cancelled", "message": "the execution was cancelled"}

    progress = fold(history.add(PlaybookCancelRequested, reason="wrong file").finish("cancelled", error=error))

    assert (progress.status, progress.error["kind"], progress.error["message"]) == (
        "cancelled", "cancelled", "wrong file"
    )  # fmt: skip


def test_children_are_counted_by_path_and_their_ids_are_bounded(history):
    run = history.schedule("each", has_loop=True)
    progress = fold(history)
    for index in range(CHILD_IDS_MAX + 5):
        ids = {"ts": 1.0, "run": run, "iter": index, "task": "call"}
        progress.apply(TaskWaiting(child={"path": "sub/report"}, **ids))
        result = "failed" if index == 0 else "success"
        progress.apply(ChildDone(child_execution_id=1000 + index, result=result, **ids))
    progress.apply(TaskWaiting(ts=1.0, run=run, iter=999, task="call", child={"path": "sub/report"}))

    children = progress.children["sub/report"]

    assert (children.started, children.done, children.failed) == (CHILD_IDS_MAX + 6, CHILD_IDS_MAX + 4, 1)
    assert len(children.ids) == CHILD_IDS_MAX
