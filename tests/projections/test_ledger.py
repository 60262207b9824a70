"""Rows of a ledger: runs over time, iterations, attempts. Histories in, pages out."""

import pytest

from noetl.engine.events import (
    ChildDone,
    Fired,
    LoopIterationCancelled,
    LoopIterationStarted,
    NextEvaluated,
    StepCancelled,
    StepDone,
    StepSkipped,
    TaskDone,
    TaskStarted,
    TaskWaiting,
)
from noetl.projections import attempts as packed
from noetl.projections import iterations as kept
from noetl.projections import run_rows
from noetl.projections.ledger import Ledger
from noetl.projections.pages import attempt_page, iteration_page, timeline_page
from noetl.projections.words import WORD_CHARACTERS_MAX, Words
from tests.projections.histories import BAD, OK, REFUSED, History

ALL = 1000


def ledger_of(history):
    ledger = Ledger(4097)
    ledger.apply(enumerate(history, 1))
    return ledger


def runs_of(history):
    return timeline_page(ledger_of(history), 0, ALL)["runs"]


def attempts_of(history, run=None, iteration=None):
    return attempt_page(ledger_of(history), run, iteration, 0, ALL)["attempts"]


@pytest.fixture
def history():
    return History().begin()


class Net(History):
    """A history whose runs hand tokens on."""

    def step(self, name, tokens, seconds=0, to=(), **facts):
        """One run that takes tokens, lasts, and sends one to each of some steps; gives its number."""
        from noetl.engine.events import StepScheduled

        run = next(self.runs)
        self.add(StepScheduled, run=run, step=name, tokens=tokens, **facts)
        for _ in range(seconds):
            next(self.clock)
        self.add(StepDone, run=run, step=name, output=OK)
        fired = [Fired(arc=place, step=step) for place, step in enumerate(to)]
        self.add(NextEvaluated, run=run, step=name, boundary="step.done", boundary_seq=len(self), fired=fired)
        return run


# --- runs ------------------------------------------------------------------------------------------------------------


def test_times_count_from_the_request_in_milliseconds(history):
    run = history.schedule("load")
    history.done(run, "load").finish()

    page = timeline_page(ledger_of(history), 0, ALL)

    assert (page["origin"], page["duration_ms"], page["last_seq"]) == ("1970-01-01T00:01:40.000Z", 8000, 9)
    assert [(row["scheduled_ms"], row["started_ms"], row["ended_ms"]) for row in page["runs"]] == [(3000, 4000, 5000)]


def test_a_run_under_way_has_no_end_and_a_failed_one_its_message(history):
    history.schedule("load")
    run = history.schedule("save")
    history.task(run, do="fail", output=BAD).fail(run, "save")

    rows = runs_of(history)

    assert [(row["status"], row["ended_ms"], row["error"]) for row in rows] == [
        ("running", None, None),
        ("failed", 9000, "connection refused"),
    ]


def test_a_loop_is_one_row_with_counts_and_all_its_attempts(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 3)
    for index in range(2):
        history.add(LoopIterationStarted, run=run, iter=index).task(run, iter=index)

    (row,) = runs_of(history)

    assert row["loop"] == {"total": 3, "done": 0, "failed": 0, "in_flight": 2}
    assert (row["attempts"], row["retries"]) == (2, 0)


def test_a_run_names_the_runs_whose_tokens_it_took():
    net = Net().begin()
    net.step("start", [1], to=("left", "right"))
    net.step("left", [2], to=("join",))
    net.step("right", [3], to=("join",))
    net.step("join", [4, 5])

    assert [(row["step"], row["sources"]) for row in runs_of(net)] == [
        ("start", []),
        ("left", [1]),
        ("right", [1]),
        ("join", [2, 3]),
    ]


def test_a_token_that_was_sent_before_is_not_counted_and_a_retired_one_is_nobodys():
    net = Net().begin()
    net.step("start", [1])
    net[-1] = NextEvaluated(
        ts=1.0,
        run=1,
        step="start",
        boundary="step.done",
        boundary_seq=5,
        fired=[
            Fired(arc=0, step="a", is_duplicate=True, dedupe="x"),
            Fired(arc=1, step="b"),
            Fired(arc=2, step="c", token=9),
        ],
    )
    net.add(StepSkipped, step="b", token=2)
    net.step("c", [9])

    assert runs_of(net)[-1]["sources"] == [1]


def test_the_critical_path_goes_by_the_branch_that_ended_last():
    net = Net().begin()
    net.step("start", [1], to=("fast", "slow"))
    net.step("fast", [2], to=("join",))
    net.step("slow", [3], seconds=60, to=("join",))
    net.step("join", [4, 5])
    net.finish()

    page = timeline_page(ledger_of(net), 0, ALL)

    assert [row["step"] for row in page["runs"] if row["is_critical"]] == ["start", "slow", "join"]
    assert page["critical_ms"] == 63_000  # what its three runs took


def test_nothing_is_critical_before_the_end():
    net = Net().begin()
    net.step("start", [1], to=("next",))

    page = timeline_page(ledger_of(net), 0, ALL)

    assert (page["critical_ms"], [row["is_critical"] for row in page["runs"]]) == (0, [False])


def test_what_was_undone_last_decides_the_end_and_what_failed_comes_before_it():
    net = Net().begin()
    net.step("book", [1], to=("pay",))
    net.step("pay", [2], seconds=5)
    net.step("pay", [], compensates=2)
    net.step("book", [], compensates=1)
    net.finish("failed")

    rows = runs_of(net)

    assert [(row["run"], row["compensates"], row["is_critical"]) for row in rows] == [
        (1, None, True),
        (2, None, True),
        (3, 2, True),
        (4, 1, True),
    ]


def test_runs_come_in_pages(history):
    for _ in range(5):
        run = history.schedule("again")
        history.done(run, "again")
    ledger = ledger_of(history)

    found, after = [], 0
    while after is not None:
        page = timeline_page(ledger, after, 2)
        found += [row["run"] for row in page["runs"]]
        after = page["next"]

    assert found == [1, 2, 3, 4, 5]


def test_of_very_many_runs_the_first_are_kept_and_it_says_so(monkeypatch, history):
    monkeypatch.setattr(run_rows, "RUNS_MAX", 2)
    for _ in range(4):
        run = history.schedule("again")
        history.task(run).done(run, "again")

    page = timeline_page(ledger_of(history), 0, ALL)

    assert ([row["run"] for row in page["runs"]], page["is_cut"]) == ([1, 2], True)


# --- iterations ------------------------------------------------------------------------------------------------------


@pytest.fixture
def looped(history):
    """A loop of 6: one done, one failed, one cancelled, one in flight, two that have not begun."""
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 6)
    history.iteration(run, 0).iteration(run, 1, is_failed=True)
    history.add(LoopIterationStarted, run=run, iter=2).add(LoopIterationCancelled, run=run, iter=2)
    history.add(LoopIterationStarted, run=run, iter=3).task(run, iter=3, do="retry", output=BAD)
    history.task(run, iter=3, attempt=2)
    return ledger_of(history)


def test_iterations_stand_by_index_with_their_times_attempts_and_errors(looped):
    page = iteration_page(looped, 1, None, 0, ALL)

    assert (page["step"], page["total"], page["next"]) == ("load", 6, None)
    assert page["counts"] == {"done": 1, "failed": 1, "cancelled": 1, "in_flight": 1, "not_started": 2}
    assert [(row["iteration"], row["status"], row["attempts"], row["error"]) for row in page["iterations"]] == [
        (0, "done", 0, None),
        (1, "failed", 0, "connection refused"),
        (2, "cancelled", 0, None),
        (3, "in_flight", 2, None),
        (4, "not_started", 0, None),
        (5, "not_started", 0, None),
    ]
    assert [(row["started_ms"], row["ended_ms"]) for row in page["iterations"]][:1] == [(6000, 7000)]
    assert [row["ended_ms"] for row in page["iterations"][3:]] == [None, None, None]


@pytest.mark.parametrize("status", kept.STATUSES)
def test_iterations_are_chosen_by_status(looped, status):
    page = iteration_page(looped, 1, status, 0, ALL)

    assert {row["status"] for row in page["iterations"]} == {status}
    assert len(page["iterations"]) == page["counts"][status]


def test_iterations_come_in_pages(looped):
    found, after = [], 0
    while after is not None:
        page = iteration_page(looped, 1, None, after, 4)
        found += [row["iteration"] for row in page["iterations"]]
        after = page["next"]

    assert found == [0, 1, 2, 3, 4, 5]


def test_a_run_without_a_loop_has_no_iterations(history):
    history.schedule("load")

    assert iteration_page(ledger_of(history), 1, None, 0, ALL) is None


def test_an_iteration_names_the_loop_inside_it(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 2, has_inner=True).add(LoopIterationStarted, run=run, iter=0)
    history.loop(7, "load", 3, parent_run=run, parent_iter=0).iteration(7, 0)
    ledger = ledger_of(history)

    outer, inner = iteration_page(ledger, run, None, 0, ALL), iteration_page(ledger, 7, None, 0, ALL)

    assert [row["inner_run"] for row in outer["iterations"]] == [7, None]
    assert [row["status"] for row in inner["iterations"]] == ["done", "not_started", "not_started"]


def test_a_run_that_is_cancelled_takes_along_what_was_in_flight_in_its_loops(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 1, has_inner=True).add(LoopIterationStarted, run=run, iter=0)
    history.loop(7, "load", 1, parent_run=run, parent_iter=0).add(LoopIterationStarted, run=7, iter=0)
    history.add(TaskStarted, run=7, iter=0, task="fetch", visit=1, attempt=1, kind="http")
    history.add(StepCancelled, run=run, step="load")
    ledger = ledger_of(history)

    counts = [iteration_page(ledger, number, None, 0, ALL)["counts"] for number in (run, 7)]
    (attempt,) = attempt_page(ledger, None, None, 0, ALL)["attempts"]

    assert [(one["in_flight"], one["cancelled"]) for one in counts] == [(0, 1), (0, 1)]
    assert (attempt["status"], attempt["seq_ended"], attempt["do"]) == ("cancelled", len(history), None)


def test_of_very_many_iterations_the_first_are_kept_and_all_are_counted(monkeypatch, history):
    monkeypatch.setattr(kept, "ITERATIONS_MAX", 2)
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 4)
    for index in range(4):
        history.iteration(run, index)

    page = iteration_page(ledger_of(history), run, None, 0, ALL)

    assert (page["counts"]["done"], page["counts"]["in_flight"], page["is_cut"]) == (4, 0, True)
    assert [row["iteration"] for row in page["iterations"]] == [0, 1]


def test_an_iteration_that_no_engine_begins_takes_no_memory(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 10**12).add(LoopIterationStarted, run=run, iter=10**9)

    page = iteration_page(ledger_of(history), run, None, 0, 5)

    assert page["is_cut"]


# --- attempts --------------------------------------------------------------------------------------------------------


def test_an_attempt_says_how_it_went_and_what_followed(history):
    run = history.schedule("load")
    history.task(run, do="retry", output=BAD, rule=0, delay_seconds=1.5)
    history.task(run, attempt=2, do="jump", to="save", rule=2)
    history.task(run, "save", do="skip", output=None)

    first, second, third = attempts_of(history)

    assert (first["status"], first["do"], first["rule"], first["delay_seconds"]) == ("error", "retry", 0, 1.5)
    assert (first["error"], first["seq_started"], first["seq_ended"]) == ("connection refused", 6, 7)
    assert (second["status"], second["attempt"], second["to"], second["rule"]) == ("ok", 2, "save", 2)
    assert (second["delay_seconds"], second["error"]) == (None, None)
    assert (third["task"], third["status"], third["do"]) == ("save", "skipped", "skip")


def test_a_failure_that_a_rule_made_is_one_though_the_tool_answered(history):
    run = history.schedule("load")
    history.task(run, do="fail", output=OK, error=REFUSED)

    (row,) = attempts_of(history)

    assert (row["status"], row["error"]) == ("error", "connection refused")


def test_an_attempt_whose_data_is_kept_elsewhere_says_so(history):
    run = history.schedule("load")
    history.task(run, output={**OK, "ref": {"type": "blob", "locator": "x", "meta": {}}})

    assert [row["has_ref"] for row in attempts_of(history)] == [True]


def test_an_attempt_waits_for_a_child_and_goes_on(history):
    run = history.schedule("load")
    ids = {"run": run, "task": "call", "visit": 1, "attempt": 1}
    history.add(TaskStarted, kind="playbook", **ids).add(TaskWaiting, child={"path": "child"}, **ids)

    waiting = attempts_of(history)[0]["status"]
    history.add(ChildDone, run=run, child_execution_id=9, result="success")
    running = attempts_of(history)[0]["status"]
    history.add(TaskDone, do="continue", output=OK, **ids)

    assert (waiting, running, attempts_of(history)[0]["status"]) == ("waiting", "running", "ok")


def test_attempts_are_those_of_a_run_or_of_an_iteration(history):
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 2)
    for index in range(2):
        history.add(LoopIterationStarted, run=run, iter=index)
        history.task(run, iter=index).task(run, "save", iter=index)
    other = history.schedule("next")
    history.task(other)

    assert [row["iteration"] for row in attempts_of(history, run)] == [0, 0, 1, 1]
    assert [row["task"] for row in attempts_of(history, run, 1)] == ["fetch", "save"]
    assert [row["run"] for row in attempts_of(history)] == [1, 1, 1, 1, 2]
    assert attempts_of(history, 99) == []


def test_attempts_come_in_pages(history):
    run = history.schedule("load")
    for visit in range(5):
        history.task(run, f"task{visit}")
    ledger = ledger_of(history)

    found, after = [], 0
    while after is not None:
        page = attempt_page(ledger, run, None, after, 2)
        found += [row["task"] for row in page["attempts"]]
        after = page["next"]

    assert found == ["task0", "task1", "task2", "task3", "task4"]


def test_of_very_many_attempts_the_first_are_kept_and_it_says_so(monkeypatch, history):
    monkeypatch.setattr(packed, "ATTEMPTS_MAX", 2)
    run = history.schedule("load")
    for _ in range(3):
        history.task(run)

    page = attempt_page(ledger_of(history), None, None, 0, ALL)

    assert (len(page["attempts"]), page["is_cut"], runs_of(history)[0]["attempts"]) == (2, True, 3)


def test_a_ledger_takes_few_bytes_for_each_attempt():
    history = History().begin()
    run = history.schedule("load")
    small = ledger_of(history).size_bytes
    for _ in range(1000):
        history.task(run)

    assert (ledger_of(history).size_bytes - small) / 1000 < 100


# --- words -----------------------------------------------------------------------------------------------------------


def test_a_word_is_kept_once_and_a_long_message_is_cut():
    words = Words()

    number = words.message({"message": "x" * 10_000})

    assert words.number("a") == words.number("a")
    assert len(words[number]) == WORD_CHARACTERS_MAX
    assert words.message({"message": "x" * 20_000}) == number
    assert words.message("no mapping") == 0


def test_words_are_bounded(monkeypatch):
    monkeypatch.setattr("noetl.projections.words.WORDS_BYTES_MAX", 1000)
    words = Words()

    numbers = [words.number(f"message {number}") for number in range(100)]

    assert words.size_bytes < 1500
    assert words[numbers[0]] == "message 0"
    assert "too many" in words[numbers[-1]]
