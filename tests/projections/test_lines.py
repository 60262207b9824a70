"""Where something was said: what tasks printed and facts in words, found by what they are about."""

import pytest

from noetl.engine.events import (
    EngineError,
    ExecutionForked,
    ExecutionRecovered,
    Patch,
    PlaybookCancelRequested,
    PlaybookRequestEvaluated,
    SignalReceived,
    StepWaiting,
)
from noetl.projections import lines
from noetl.projections.ledger import Ledger
from noetl.projections.lines import DEBUG, ERROR, INFO, LEVELS, WARNING, Sought, level_of
from tests.projections.histories import BAD, REFUSED, History


def ledger_of(history):
    ledger = Ledger(4097)
    ledger.apply(enumerate(history, 1))
    return ledger


def facts_of(history):
    ledger = ledger_of(history)
    return [
        (LEVELS[place.fact_level], ledger.names[place.step], ledger.messages[place.fact])
        for place in ledger.lines.after(0, Sought())
        if place.fact
    ]


@pytest.fixture
def history():
    return History().begin()


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("ERROR no such table", ERROR),
        ("error: no such table", ERROR),
        ("[Error] no such table", ERROR),
        ("CRITICAL:root:disk full", ERROR),
        ("FATAL out of memory", ERROR),
        ("WARNING:root:slow", WARNING),
        ("  [warn] slow", WARNING),
        ("DEBUG x=1", DEBUG),
        ("debug: x=1", DEBUG),
        ("<trace> x", DEBUG),
        ("INFO ready", INFO),
        ("Error handling is on", INFO),
        ("no errors: 0", INFO),
        ("WARNINGS 3", INFO),
        ("", INFO),
        ("errors", INFO),
    ],
)
def test_a_line_has_the_level_that_it_begins_with(text, level):
    assert level_of(text) == level


def test_a_run_is_told_from_the_request_to_the_end(history):
    run = history.schedule("load")
    history.task(run, do="retry", output=BAD, delay_seconds=2.0).task(run, attempt=2).done(run, "load").finish()

    assert facts_of(history) == [
        ("info", "", "orders@2 was asked for"),
        ("info", "load", "started"),
        ("warning", "load", 'attempt 2 in 2.0 s, task "fetch": connection refused'),
        ("info", "load", "done in 5.0 s (1 retry)"),
        ("info", "", "ended: success"),
    ]


def test_a_failure_is_told_where_it_happened_and_how_it_ended(history):
    run = history.schedule("load")
    history.task(run, do="fail", output=BAD, error=REFUSED).fail(run, "load").failing("load")
    history.finish("failed", error=REFUSED)

    assert facts_of(history)[2:] == [
        ("error", "load", 'failed after 3.0 s, task "fetch": connection refused'),
        ("error", "load", "no arc takes this failure, so what runs is cancelled"),
        ("error", "", "ended: failed: connection refused"),
    ]


def test_whatever_a_person_on_call_looks_for_is_told(history):
    history.add(StepWaiting, step="approve", token=9, is_for_signal=True)
    history.add(SignalReceived, patches=[Patch("ctx.ok", True)])
    history.add(ExecutionRecovered)
    history.add(EngineError, message="a table is missing")
    history.add(PlaybookCancelRequested, reason="enough")
    history.add(ExecutionForked, source_execution_id=7, source_seq=12, path="orders", version=3, sha="1" * 64)
    history.finish("cancelled")

    assert facts_of(history)[1:] == [
        ("info", "approve", "waits for a signal"),
        ("info", "", "a signal wrote ctx.ok"),
        ("warning", "", "going on where it stopped"),
        ("error", "", "a fault of NoETL's own stopped it: a table is missing"),
        ("warning", "", "cancelling: enough"),
        ("info", "", "goes on from event 12 of execution 7, as orders@3"),
        ("warning", "", "ended: cancelled"),
    ]


def test_a_request_that_was_refused_is_told():
    history = History()
    history.add(PlaybookRequestEvaluated, error={"kind": "type", "message": "limit must be a number"})

    assert facts_of(history) == [("error", "", "the request was refused: limit must be a number")]


def test_an_event_that_printed_and_is_tried_again_is_one_place_with_both(history):
    run = history.schedule("load")
    history.task(run, do="retry", output=BAD, logs=["a", "ERROR b"])

    place = list(ledger_of(history).lines.after(0, Sought()))[-1]

    assert (place.printed, bool(place.fact), place.levels) == (2, True, 1 << INFO | 1 << WARNING | 1 << ERROR)


@pytest.fixture
def spoken(history):
    """A loop whose tasks print, and a step that prints nothing."""
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 2)
    history.task(run, "fetch", iter=0, logs=["one"]).task(run, "save", iter=0, logs=["DEBUG two"])
    history.task(run, "fetch", iter=1, logs=["ERROR three"])
    other = history.schedule("next")
    history.task(other, "fetch", logs=["four"])
    return history


@pytest.mark.parametrize(
    ("sought", "count"),
    [
        (Sought(), 8),
        (Sought(step="load"), 5),
        (Sought(run=1), 5),
        (Sought(run=1, iteration=0), 2),
        (Sought(iteration=1), 1),
        (Sought(task="fetch"), 3),
        (Sought(task="fetch", step="next"), 1),
        (Sought(level="debug"), 8),
        (Sought(level="info"), 7),
        (Sought(level="error"), 1),
        (Sought(step="nothing"), 0),
        (Sought(task="nothing"), 0),
    ],
)
def test_lines_are_found_by_what_they_are_about(spoken, sought, count):
    assert len(list(ledger_of(spoken).lines.after(0, sought))) == count


def test_lines_are_found_from_an_event_on(spoken):
    found = list(ledger_of(spoken).lines.after(0, Sought()))

    assert list(ledger_of(spoken).lines.after(found[3].seq, Sought())) == found[4:]


def test_of_very_many_lines_the_first_are_kept(monkeypatch, spoken):
    monkeypatch.setattr(lines, "LINES_MAX", 3)

    ledger = ledger_of(spoken)

    assert (ledger.lines.count, ledger.lines.is_cut) == (3, True)
