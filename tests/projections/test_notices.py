"""Notices: what a person who watches is told, and what is left to the counts."""

from noetl.engine.events import (
    ChildDone,
    ExecutionRecovered,
    Patch,
    SignalReceived,
    StepFailed,
    StepWaiting,
    TaskWaiting,
)
from noetl.projections.notices import notices
from noetl.projections.progress import Progress
from tests.projections.histories import BAD, History


def told(history):
    return notices(Progress(), history)


def test_a_step_is_told_at_its_beginning_and_its_end():
    history = History().begin()
    run = history.schedule("load")
    history.task(run).done(run, "load").finish()

    found = told(history)

    assert [(one.what, one.step) for one in found] == [("started", "load"), ("done", "load")]
    assert found[1].seconds == 3.0


def test_a_retry_is_told_with_attempt_wait_and_reason():
    history = History().begin()
    run = history.schedule("load")
    history.task(run, do="retry", output=BAD, attempt=2, delay_seconds=1.5)

    retry = told(history)[-1]

    assert (retry.what, retry.task, retry.attempt, retry.seconds) == ("retry", "fetch", 2, 1.5)
    assert retry.message == "connection refused"


def test_iterations_that_succeed_are_not_told_one_by_one():
    history = History().begin()
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 3)
    history.iteration(run, 0).iteration(run, 1, is_failed=True).iteration(run, 2).loop_done(run, "load", 2, 1)

    found = told(history)

    assert [one.what for one in found] == ["started", "loop", "iteration_failed", "done"]
    assert (found[-1].total, found[-1].done, found[-1].failed) == (3, 2, 1)


def test_the_end_of_an_inner_loop_is_not_the_end_of_its_step():
    history = History().begin()
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 1, has_inner=True).loop(7, "load", 0, parent_run=run, parent_iter=0)
    history.loop_done(7, "load", 0)

    assert [one.what for one in told(history)] == ["started", "loop"]


def test_what_happens_in_a_nested_loop_is_told_with_the_outer_iteration_too():
    history = History().begin()
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 3, has_inner=True).loop(7, "load", 9, parent_run=run, parent_iter=2)
    history.task(7, iter=4, do="retry", output=BAD)
    history.task(7, iter=4, do="fail", output=BAD, attempt=2)
    history.add(StepFailed, run=run, step="load", error={"message": "refused", "iteration": "2.4"})

    retry, failed = told(history)[-2:]

    assert (retry.what, retry.iteration) == ("retry", "2.4")
    assert (failed.what, failed.iteration) == ("failed", "2.4")


def test_a_failure_is_told_with_its_place():
    history = History().begin()
    run = history.schedule("load")
    history.task(run, "save", do="fail", output=BAD).fail(run, "load")

    failed = told(history)[-1]

    assert (failed.what, failed.task, failed.message) == ("failed", "save", "connection refused")


def test_children_signals_and_recoveries_are_told():
    history = History().begin()
    run = history.schedule("call")
    history.add(TaskWaiting, run=run, task="sub", child={"path": "sub/report"})
    history.add(ExecutionRecovered)
    history.add(ChildDone, run=run, task="sub", child_execution_id=9, result="success")
    history.add(StepWaiting, step="approve", token=4, is_for_signal=True)
    history.add(SignalReceived, patches=[Patch("ctx.go", True)])

    found = told(history)[1:]

    assert [(one.what, one.path or one.message) for one in found] == [
        ("child", "sub/report"),
        ("recovered", ""),
        ("child_done", "sub/report"),
        ("waiting", ""),
        ("signal", "ctx.go"),
    ]
