"""What a person who watches is told: lines on a pipe, bounded whatever happens."""

import pytest

from noetl.cli import progress as module
from noetl.cli.progress import LINES_PER_SECOND_MAX, Narrator, Silent, observer_for
from noetl.engine.events import LoopIterationFailed, StepDone, StepScheduled
from tests.projections.histories import BAD, OK, REFUSED, History


class Time:
    """A clock that stands still until told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    time = Time()
    monkeypatch.setattr(module, "time", time)
    return time


@pytest.fixture
def narrator(clock, capsys):
    found = Narrator(draws=False)
    found.started(7, "orders", "orders.yaml", ["load"])
    return found


@pytest.fixture
def history():
    return History().begin()


def lines(capsys):
    said = capsys.readouterr()
    assert said.out == ""
    return said.err.splitlines()


def test_steps_are_told_as_they_begin_and_end(narrator, history, capsys):
    run = history.schedule("load")
    narrator.committed(7, 1, history.done(run, "load"))

    assert lines(capsys) == ["▸ orders: execution 7", "▸ load: started", "✓ load: done in 1.0 s"]


def test_events_of_children_are_left_to_their_caller(narrator, history, capsys):
    history.schedule("load")
    narrator.committed(8, 1, history)

    assert lines(capsys) == ["▸ orders: execution 7"]


def test_retries_that_come_by_the_thousand_are_told_once_a_second(narrator, clock, history, capsys):
    run = history.schedule("load")
    for _ in range(1000):
        history.task(run, do="retry", output=BAD)
    narrator.committed(7, 1, history)
    clock.now += 1
    narrator.committed(7, 1, History().task(run, do="retry", output=BAD))

    assert sum("attempt 2" in line for line in lines(capsys)) == 2


def test_failures_of_iterations_are_told_once_a_second(narrator, history, capsys):
    run = history.schedule("load", has_loop=True)
    for index in range(1000):
        history.add(LoopIterationFailed, run=run, iter=index, error=REFUSED)
    narrator.committed(7, 1, history)

    assert sum("iteration" in line for line in lines(capsys)) == 1


def test_of_a_flood_of_steps_only_so_many_lines_are_shown(narrator, clock, capsys):
    for run in range(1, 1001):
        narrator.committed(7, 1, [StepScheduled(ts=1.0, run=run, step="again", tokens=[run])])
        narrator.committed(7, 1, [StepDone(ts=1.0, run=run, step="again", output=OK)])
    narrator.close()

    said = lines(capsys)
    assert len(said) == LINES_PER_SECOND_MAX + 1
    assert said[-1] == f"· ({2001 - LINES_PER_SECOND_MAX:,} lines left out)"


def test_a_loop_is_reported_with_counts_and_rate_at_growing_pauses(narrator, clock, history, capsys):
    run = history.schedule("load", has_loop=True)
    narrator.committed(7, 1, history.loop(run, "load", 1000))
    told = []
    for second in range(20):
        clock.now += 1
        step = History()
        for index in range(10):
            step.iteration(run, second * 10 + index)
        narrator.committed(7, 1, step)
        narrator.tick()
        told += [(second, line) for line in lines(capsys) if "done" in line]

    assert [second for second, _ in told] == [1, 3, 7, 15]
    assert told[0][1] == "▸ load: 20 of 1,000 iterations done, 0 in flight, 10/s"
    assert told[1][1] == "▸ load: 40 of 1,000 iterations done, 0 in flight, 10/s"


def test_what_a_task_prints_is_shown_with_its_place_and_cannot_talk_to_the_terminal(narrator, capsys):
    narrator.printed(7, "load", "fetch", "hello \x1b[2J")

    assert lines(capsys)[-1] == "| load/fetch: hello �[2J"


def test_stopping_says_what_is_still_at_work(narrator, capsys):
    narrator.stopping(3)

    assert lines(capsys)[-1] == "■ stopping: 3 tasks still at work; press Ctrl-C again to stop at once"


def test_nobody_watches_where_data_or_quiet_was_asked_for(capsys):
    for observer in (observer_for("json", is_quiet=False), observer_for("text", is_quiet=True)):
        assert isinstance(observer, Silent)
        observer.started(7, "orders", "orders.yaml", [])
        observer.committed(7, 1, History().begin())
        observer.printed(7, "load", "fetch", "hello")
        observer.tick()
        observer.close()

    assert lines(capsys) == []


def test_a_pipe_is_not_drawn_on():
    observer = observer_for("text", is_quiet=False)

    assert isinstance(observer, Narrator)
    assert not observer.draws
