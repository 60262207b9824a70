"""The rows of `noetl show`."""

import pytest

from noetl.engine.events import ExecutionForked, StepDone, StepScheduled, StepWaiting, timestamp
from noetl.projections.progress import Progress
from noetl.projections.timeline import FIRST_ROWS_MAX, LAST_ROWS_MAX, Timeline, show
from tests.projections.histories import BAD, OK, History


def shown(history):
    progress, timeline = Progress(), Timeline()
    for event in history:
        progress.apply(event)
        timeline.apply(event)
    return show(4097, progress, timeline)


@pytest.fixture
def history():
    return History().begin()


def test_every_run_of_a_step_is_a_row_with_its_time_and_status(history):
    for _ in range(2):
        run = history.schedule("load")
        history.done(run, "load")
    history.schedule("save")

    rows = shown(history)["runs"]

    assert [(row["step"], row["run"], row["status"]) for row in rows] == [
        ("load", 1, "success"),
        ("load", 2, "success"),
        ("save", 3, "running"),
    ]
    assert [(row["offset_ms"], row["duration_ms"]) for row in rows] == [(4000, 1000), (8000, 1000), (12000, None)]


def test_a_fork_began_when_it_was_forked_and_its_runs_stand_in_the_whole_log(history):
    run = history.schedule("load")
    history.done(run, "load")
    history.add(ExecutionForked, source_execution_id=7, source_seq=8, path="orders", version=3, sha="1" * 64)
    forked_at = list(history)[-1].ts
    history.finish()

    found = shown(history)

    assert found["created_at"] == timestamp(forked_at)
    assert found["duration_ms"] == round((list(history)[-1].ts - forked_at) * 1000)
    assert found["runs"][0]["offset_ms"] == 4000


def test_tasks_stand_with_their_attempts(history):
    run = history.schedule("load")
    history.task(run, do="retry", output=BAD).task(run, attempt=2).task(run, "save").done(run, "load")

    row = shown(history)["runs"][0]

    assert row["tasks"] == [
        {"task": "fetch", "kind": "http", "runs": 1, "retries": 1, "failed": 0},
        {"task": "save", "kind": "http", "runs": 1, "retries": 0, "failed": 0},
    ]
    assert (row["retries"], row["error"]) == (1, None)


def test_a_loop_is_one_row_with_counts(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 3).iteration(run, 0).iteration(run, 1).iteration(run, 2).loop_done(run, "load", 3)

    rows = shown(history)["runs"]

    assert [row["loop"] for row in rows] == [{"total": 3, "done": 3, "failed": 0, "in_flight": 0}]


def test_a_failed_run_carries_its_error_and_place(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 9).iteration(run, 4, is_failed=True).fail(run, "load").failing("load").finish("failed")

    found = shown(history)

    row = found["runs"][0]
    assert (row["error"]["message"], row["failed_task"], row["failed_iteration"]) == ("connection refused", "fetch", 4)
    assert found["error"]["step"] == "load"


def test_the_header_says_what_ran_and_what_it_waits_for(history):
    history.add(StepWaiting, step="approve", token=9, is_for_signal=True)

    found = shown(history)

    assert (found["path"], found["version"], found["status"]) == ("orders", 2, "waiting")
    assert (found["created_at"], found["ended_at"]) == ("1970-01-01T00:01:40.000Z", None)
    assert [one["step"] for one in found["waiting"]] == ["approve"]


def test_of_a_very_long_history_the_first_and_the_last_runs_are_kept():
    timeline = Timeline()
    count = FIRST_ROWS_MAX + LAST_ROWS_MAX + 7
    for run in range(1, count + 1):
        timeline.apply(StepScheduled(ts=1.0, run=run, step="again", tokens=[run]))
        timeline.apply(StepDone(ts=1.0, run=run, step="again", output=OK))

    kept = [run.id for run in timeline.rows]

    assert (kept[0], kept[-1], len(kept)) == (1, count, FIRST_ROWS_MAX + LAST_ROWS_MAX)
    assert timeline.omitted == 7
