"""What fits a filter: the sentences that every store's statements are compared with."""

import pytest

from noetl.stores.contract import FAILED, RUNNING, Execution
from noetl.stores.wanted import Paths, Wanted, id_spans, is_id_beginning, span


def row(**fields):
    return Execution(**{"id": 123, "sha": "s", "path": "team/Orders", "version": 1, "created_at": 50.0, **fields})


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({}, True),
        ({"statuses": (RUNNING, FAILED)}, True),
        ({"statuses": (FAILED,)}, False),
        ({"paths": Paths(exact=("team/Orders",))}, True),
        ({"paths": Paths(exact=("team/orders",))}, False),
        ({"paths": Paths(prefixes=("team/",))}, True),
        ({"paths": Paths(prefixes=("Team/",))}, False),
        ({"paths": Paths(exact=("x",), prefixes=("team",))}, True),
        ({"text": "ORDER"}, True),
        ({"text": "12"}, True),
        ({"text": "23"}, False),
        ({"text": "%"}, False),
        ({"since": 50.0, "until": 50.0}, True),
        ({"since": 50.5}, False),
        ({"until": 49.5}, False),
        ({"is_root": True}, True),
        ({"is_root": False}, False),
        ({"parent_id": 7}, False),
        ({"text": "orders", "statuses": (FAILED,)}, False),
    ],
)
def test_all_that_is_given_must_hold(wanted, fits):
    assert Wanted(**wanted).fits(row()) is fits


@pytest.mark.parametrize("prefix", ["a", "a/", "é", "z\ud7ff", "a\U0010ffff", "\U0010ffff", "a\U0010ffff\U0010ffff"])
def test_a_span_has_what_begins_with_the_prefix_and_nothing_else(prefix):
    low, high = span(prefix)
    inside = [prefix, f"{prefix}\x01", f"{prefix}a", f"{prefix}\U0010ffff\U0010ffff"]
    outside = ["", prefix[:-1], f"{prefix[:-1]}\x01", high]

    assert all(low <= path < high for path in inside)
    assert not any(low <= path < high for path in outside)
    assert high.encode() > low.encode()


def test_ids_that_begin_with_digits_are_found_for_each_length():
    assert id_spans("12")[:3] == [(12, 12), (120, 129), (1200, 1299)]
    assert [is_id_beginning("12", one) for one in (12, 129, 130, 112, 1_234_567)] == [True, True, False, False, True]
    assert id_spans("9223372036854775807") == [(2**63 - 1, 2**63 - 1)]
    assert id_spans("92233720368547758")[-1] == (9223372036854775800, 2**63 - 1)


@pytest.mark.parametrize("text", ["", "0", "012", "1a", "-1", "٣", "9" * 19, "9" * 20])
def test_what_begins_no_id_has_no_span(text):
    assert id_spans(text) == []
