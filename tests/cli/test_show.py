"""How show and events lay out an execution, from histories."""

import time

import pytest

from noetl.cli.events import Nesting, line_of
from noetl.cli.show import bar, ending, head, timeline
from noetl.engine.events import Fired, NextEvaluated, StepWaiting
from noetl.projections.envelopes import Envelopes
from noetl.projections.progress import Progress
from noetl.projections.timeline import Timeline, show
from tests.projections.histories import BAD, History


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def history():
    return History().begin()


def shown(history):
    progress, rows = Progress(), Timeline()
    for event in history:
        progress.apply(event)
        rows.apply(event)
    return show(4097, progress, rows)


def lines_of(history, width=100):
    found = shown(history)
    return [*head(found), *timeline(found, width), *ending(found, [])]


def test_the_head_says_what_ran_how_it_ended_and_how_long_it_took(history):
    run = history.schedule("load")
    history.done(run, "load").finish()

    first, second = head(shown(history))

    assert first == "orders@2  ✓ success  execution 4097"
    assert second.endswith(f"took 8.0 s, {len(history)} events")


def test_a_run_is_a_line_with_its_tasks_and_retries(history):
    run = history.schedule("load")
    history.task(run, do="retry", output=BAD).task(run, attempt=2).done(run, "load").finish()

    line = timeline(shown(history), 100)[0]

    assert line.startswith("✓ load  ")
    assert line.endswith("fetch (1 retry)")


def test_why_it_failed_is_told_once_below_the_runs(history):
    found = {**shown(history), "runs": [], "error": {"message": "refused"}}
    run = {**shown_run(history), "error": {"message": "refused"}}

    assert "refused" not in timeline({**found, "runs": [run]}, 100)[0]
    assert timeline({**found, "runs": [{**run, "error": {"message": "late"}}]}, 100)[0].endswith("late")


def shown_run(history):
    run = history.schedule("load")
    history.done(run, "load").finish()
    return shown(history)["runs"][0]


def test_runs_of_one_step_are_told_apart(history):
    for _ in range(2):
        run = history.schedule("load")
        history.done(run, "load")

    assert [line[:9] for line in timeline(shown(history), 100)] == ["✓ load #1", "✓ load #2"]


def test_a_loop_is_one_line_with_counts(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 3).iteration(run, 0).iteration(run, 1, is_failed=True)

    (line,) = timeline(shown(history), 100)

    assert "running" in line
    assert "1 of 3 iterations, 1 failed" in line


def test_a_waiting_execution_says_for_what(history):
    lines = lines_of(history.add(StepWaiting, step="approve", token=4, is_for_signal=True))

    assert lines[-1].startswith('"approve" waits for a signal since ')


def test_a_bar_stands_where_the_run_stood():
    drawn = [
        bar({"offset_ms": offset, "duration_ms": duration}, 100, 10)
        for offset, duration in ((0, 50), (50, 50), (90, 0), (100, 5), (30, None))
    ]

    assert drawn == ["━━━━━     ", "     ━━━━━", "         ━", "         ━", "   ━━━━━━━"]


@pytest.mark.parametrize("width", [20, 80, 300])
def test_names_and_bars_fit_narrow_and_wide_terminals(history, width):
    run = history.schedule("a" * 100)
    history.done(run, "a" * 100)

    (line,) = timeline(shown(history), width)

    assert len(line) <= max(width, 60)


def test_what_a_playbook_names_cannot_talk_to_the_terminal(history):
    run = history.schedule("\x1b[2J")
    history.done(run, "\x1b[2J")

    assert all("\x1b" not in line for line in lines_of(history))


def test_an_event_is_a_line_with_place_and_detail(history):
    run = history.schedule("load", has_loop=True)
    history.task(run, iter=17, do="retry", output=BAD, attempt=2)
    envelopes = Envelopes(4097)

    lines = [line_of(envelopes.envelope(seq, event)) for seq, event in enumerate(history, 1)]

    assert lines[0].split()[::2] == ["1", "playbook.execution.requested"]
    assert lines[0].endswith(":40.000  playbook.execution.requested  path=orders")
    assert lines[3].split()[2:] == ["step.scheduled", "load"]
    assert lines[-1].endswith("load[17]/fetch #2  do=retry  connection: connection refused")
    assert all(line == line.rstrip() for line in lines)


def test_events_of_a_nested_loop_name_the_outer_iteration_too(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 3, has_inner=True).loop(7, "load", 9, parent_run=run, parent_iter=2)
    history.task(7, iter=4)
    envelopes, nesting = Envelopes(4097), Nesting()

    rows = [envelopes.envelope(seq, event) for seq, event in enumerate(history, 1)]
    lines = [line_of(row, nesting.within(row)) for row in rows]

    assert any("loop.started" in line and "load  count=3" in line for line in lines)
    assert any("loop.started" in line and "load[2]  count=9" in line for line in lines)
    assert any("task.done" in line and "load[2.4]/fetch" in line for line in lines)


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system's zone is fixed")
def test_events_are_told_in_the_zone_that_show_uses(history, monkeypatch):
    monkeypatch.setenv("TZ", "America/Lima")
    time.tzset()
    try:
        line = line_of(Envelopes(4097).envelope(1, next(iter(history))))
        (_, started, *_) = lines_of(history)
    finally:
        monkeypatch.undo()
        time.tzset()

    assert line.split()[1] == "19:01:40.000"
    assert "19:01:40" in started


def test_an_arc_whose_token_was_dropped_as_a_duplicate_is_not_shown_as_fired(history):
    run = history.schedule("load")
    fired = [Fired(arc=0, step="save"), Fired(arc=1, step="again", is_duplicate=True)]
    event = NextEvaluated(ts=1.0, run=run, step="load", boundary="step.done", boundary_seq=3, fired=fired)

    line = line_of(Envelopes(4097).envelope(4, event))

    assert "→ save" in line
    assert "again" not in line
