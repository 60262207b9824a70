"""Spans from events: one per execution, step run and task attempt, in their places."""

import pytest

from noetl.engine.events import LoopStarted, PlaybookExecutionRequested, StepCancelled
from noetl.projections.spans import Spans, spans_of
from noetl.traceparent import attempt_span_id, span_id
from tests.projections.histories import BAD, History

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def begun(trace_id=TRACE, **facts):
    history = History()
    return history.add(PlaybookExecutionRequested, path="orders", version=2, sha="0" * 64, trace_id=trace_id, **facts)


def drawn(history, execution_id=7):
    return {span.name: span for span in spans_of(Spans(execution_id), 1, list(history))}


def test_an_execution_its_step_runs_and_its_attempts_hang_together():
    history = begun(parent_span_id=CALLER)
    run = history.schedule("load")
    history.task(run).done(run, "load").finish()

    found = drawn(history)

    assert set(found) == {"orders", "load", "fetch"}
    assert {span.trace_id for span in found.values()} == {TRACE}
    assert found["orders"].parent_id == CALLER
    assert found["load"].parent_id == found["orders"].span_id == span_id(TRACE, "7")
    assert found["fetch"].parent_id == found["load"].span_id
    assert found["fetch"].span_id == attempt_span_id(TRACE, "7:1:-1:fetch:1", 1)


def test_a_span_lasts_from_the_event_that_begins_it_to_the_one_that_ends_it():
    history = begun()
    run = history.schedule("load")
    history.task(run).done(run, "load").finish()

    found = drawn(history)

    assert (found["orders"].started_at, found["orders"].ended_at) == (history[0].ts, history[-1].ts)
    assert (found["load"].started_at, found["load"].ended_at) == (history[1].ts, history[5].ts)
    assert (found["fetch"].started_at, found["fetch"].ended_at) == (history[3].ts, history[4].ts)


def test_each_attempt_is_a_span_and_a_failed_one_says_why():
    history = begun()
    run = history.schedule("load")
    history.task(run, do="retry", output=BAD).task(run, attempt=2)

    found = list(spans_of(Spans(7), 1, list(history)))

    assert [(span.attributes["noetl.attempt"], span.error) for span in found] == [
        (1, "connection: connection refused"),
        (2, None),
    ]
    assert len({span.span_id for span in found}) == 2


def test_a_loop_is_one_step_run_with_its_attempts_below_it_and_those_of_its_inner_loops():
    history = begun()
    run = history.schedule("load", has_loop=True)
    history.loop(run, "load", 2).task(run, "outer", iter=0)
    history.add(LoopStarted, run=9, step="load", count=1, parent_run=run, parent_iter=1).task(9, "inner", iter=0)
    history.loop_done(9, "load", 1).loop_done(run, "load", 2)

    found = drawn(history)

    assert set(found) == {"load", "outer", "inner"}
    assert found["outer"].parent_id == found["inner"].parent_id == found["load"].span_id
    assert found["load"].attributes["noetl.iterations"] == 2
    assert found["inner"].attributes["noetl.iteration"] == 0


def test_a_failed_execution_says_why():
    history = begun()
    run = history.schedule("load")
    history.fail(run, "load").finish("failed", error={"kind": "timeout", "message": "too slow"})

    found = drawn(history)

    assert found["load"].error == "connection: connection refused"
    assert (found["orders"].error, found["orders"].attributes["noetl.status"]) == ("timeout: too slow", "failed")


def test_no_payload_is_drawn():
    history = begun(payload={"canary": "8f14e45f"})
    run = history.schedule("load")
    output = {"status": "ok", "data": "8f14e45f", "ref": None, "error": None, "meta": {}}
    history.task(run, output=output).done(run, "load").finish()

    assert "8f14e45f" not in repr(drawn(history))


def test_a_step_that_is_cut_short_leaves_nothing_behind():
    history = begun()
    run = history.schedule("load")
    history.task(run)
    spans = Spans(7)
    list(spans_of(spans, 1, list(history[:-1])))  # the task has begun

    history.add(StepCancelled, run=run, step="load")
    (span,) = spans_of(spans, len(history), [history[-1]])

    assert span.error == "cancelled"
    assert not spans._tasks
    assert not spans._runs


@pytest.mark.parametrize("trace_id", ["", "d429"])
def test_an_execution_without_a_trace_is_not_drawn(trace_id):
    history = begun(trace_id)
    run = history.schedule("load")
    history.task(run).done(run, "load").finish()

    assert not drawn(history)
