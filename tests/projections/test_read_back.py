"""Envelopes read back: the same events, and what is folded from them is the same."""

import msgspec
import pytest

from noetl.engine.events import EVENTS, Emitted, Patch, PlaybookProcessed, SignalReceived, TaskDone
from noetl.projections.envelopes import Envelopes, envelope
from noetl.projections.read_back import event_of, seq_of

DEFAULTS = {str: "x", int: 3, bool: True, dict: {"a": 1}, list: [], float: 2.5}


def sent(event, seq=12):
    return msgspec.json.decode(msgspec.json.encode(envelope(4097, seq, event, {3: "load"})))


def sample(kind):
    """An event of a kind with all fields that it must have."""
    needed = {}
    for field in msgspec.structs.fields(kind):
        if field.required and field.name != "ts":
            base = getattr(field.type, "__origin__", field.type)
            needed[field.name] = DEFAULTS.get(base, {"a": 1})
    return kind(ts=1772366400.125, run=3, iter=17, task="fetch", visit=2, attempt=1, **needed)


@pytest.mark.spec("EV-01")
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_comes_back_as_it_was(kind):
    event = sample(kind)

    assert event_of(sent(event)) == event


def test_what_an_event_holds_comes_back():
    event = TaskDone(
        ts=1.5, run=3, task="a:b", visit=2, attempt=2, do="retry", patches=[Patch("ctx.a", [1])], logs=["x"], lease=77
    )

    found = event_of(sent(event))

    assert found == msgspec.structs.replace(event, lease=0)  # what a worker proves itself with stays on the server


def test_an_event_of_the_whole_execution_has_no_run():
    event = SignalReceived(ts=1.0, patches=[Patch("ctx.a", 1)])

    assert event_of(sent(event)) == event


def test_an_authors_own_event_keeps_its_name():
    event = Emitted(ts=1.0, run=3, event="orders.loaded", step="load", on="step.done")

    assert event_of(sent(event)) == event


def test_the_place_in_the_log_is_known():
    envelopes = Envelopes(4097)

    assert seq_of(envelopes.envelope(12, PlaybookProcessed(ts=1.0, result="success"))) == 12


@pytest.mark.parametrize("spoilt", [{"payload": {}}, {"timestamp": "yesterday"}, {"step_run_id": "x:y"}])
def test_what_is_no_envelope_is_refused(spoilt):
    with pytest.raises(ValueError, match=r"no event|isoformat|literal"):
        event_of(sent(TaskDone(ts=1.0, run=3, do="continue")) | spoilt)
