"""Trace context: what is read is what was written, and what is neither is nobody's."""

import pytest

from noetl.traceparent import Place, attempt_span_id, is_span_id, read, span_id, written

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_a_header_that_was_written_reads_as_the_same_place():
    assert read(written(TRACE, SPAN)) == Place(TRACE, SPAN)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01" + " " * 300,
    ],
)
def test_what_is_no_place_in_a_trace_is_not_taken_for_one(header):
    assert read(header) is None


def test_a_version_to_come_may_say_more():
    assert read(f"42-{TRACE}-{SPAN}-01-and-more") == Place(TRACE, SPAN)


@pytest.mark.parametrize("trace_id", ["", "d429", "0" * 32, TRACE.upper()])
def test_a_trace_id_that_others_could_not_read_is_not_passed_on(trace_id):
    assert written(trace_id, SPAN) == ""


def test_the_id_of_a_span_follows_from_what_it_is_the_span_of():
    ids = {
        span_id(TRACE, "7"),
        span_id(TRACE, "7:1"),
        span_id("a" * 32, "7"),
        attempt_span_id(TRACE, "7:1:-1:fetch:1", 1),
        attempt_span_id(TRACE, "7:1:-1:fetch:1", 2),
    }

    assert len(ids) == 5
    assert all(map(is_span_id, ids))
    assert span_id(TRACE, "7") in ids
