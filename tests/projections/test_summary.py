"""The document that run and resume print."""

import pytest

from noetl.engine.events import EngineError, StepWaiting, WorkflowFinished
from noetl.projections.progress import Progress
from noetl.projections.summary import summary
from tests.projections.histories import OK, History


def summary_of(history, *names):
    progress = Progress()
    for event in history:
        progress.apply(event)
    return summary(4097, progress, names)


@pytest.mark.spec("RT-13")
def test_a_run_that_succeeded():
    history = History().begin()
    run = history.schedule("start")
    history.done(run, "start").finish()

    assert summary_of(history, "start", "never") == {
        "execution_id": "4097",
        "status": "success",
        "output": OK,
        "ctx": {},
        "error": None,
        "steps": [
            {"step": "start", "runs": 1, "status": "success"},
            {"step": "never", "runs": 0, "status": "not_run"},
        ],
        "duration_ms": (len(history) - 1) * 1000,
    }


@pytest.mark.spec("RT-05")
def test_a_run_that_failed_says_where_and_why():
    history = History().begin()
    run = history.schedule("start")
    history.task(run, do="fail").fail(run, "start").failing("start").finish("failed")

    found = summary_of(history, "start")

    assert (found["status"], found["output"]) == ("failed", None)
    assert found["error"] == {
        "kind": "connection", "message": "connection refused", "step": "start", "task": "fetch"
    }  # fmt: skip
    assert found["steps"] == [{"step": "start", "runs": 1, "status": "failed"}]


@pytest.mark.spec("ST-06")
def test_a_run_that_waits_has_no_duration_yet():
    history = History().begin()
    run = history.schedule("start")
    history.done(run, "start").add(StepWaiting, step="approve", token=9, is_for_signal=True)

    found = summary_of(history, "start", "approve")

    assert (found["status"], found["duration_ms"], found["error"]) == ("waiting", None, None)
    assert found["steps"][1] == {"step": "approve", "runs": 0, "status": "not_run"}


def test_an_incident_is_said_as_the_error():
    found = summary_of(History().begin().add(EngineError, message="I8 does not hold"))

    assert found["status"] == "incident"
    assert found["error"] == {"kind": "incident", "message": "I8 does not hold", "step": None, "task": None}


@pytest.mark.spec("RT-08")
def test_steps_that_a_planner_added_come_after_those_of_the_playbook():
    history = History().begin()
    for step in ("added", "start"):
        run = history.schedule(step)
        history.done(run, step)

    assert [row["step"] for row in summary_of(history, "start", "plan")["steps"]] == ["start", "plan", "added"]


@pytest.mark.spec("RS-01")
def test_an_output_kept_outside_the_log_has_all_keys_of_an_envelope():
    history = History().begin()
    history.add(WorkflowFinished, result="success", output={"status": "ok", "ref": {"sha256": "0"}, "meta": {}})

    output = summary_of(history)["output"]

    assert output == {"status": "ok", "data": None, "ref": {"sha256": "0"}, "error": None, "meta": {}}
