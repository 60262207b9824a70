"""Names, depths and allowances by themselves."""

import msgspec
import pytest

from noetl.api import allowance
from noetl.api.allowance import Allowances
from noetl.api.hosts import Hosts
from noetl.api.problems import Refusal
from noetl.api.reading import is_deeper_than
from noetl.clock import SystemClock
from tests.control.parts import settings_of

EVERYWHERE = "0.0.0.0"  # noqa: S104  # a name in a header


def test_the_names_of_the_settings_and_the_address_of_the_connection_are_ours(tmp_path):
    chosen = {"server_host": EVERYWHERE, "server_names": ("flows.example",)}
    hosts = Hosts(msgspec.structs.replace(settings_of(tmp_path), **chosen))

    for header in ("localhost", "LOCALHOST:8642", "127.0.0.1:1", "[::1]:80", "flows.example.", "10.0.0.7:8642"):
        hosts.check(header, "10.0.0.7")
    for header in ("10.0.0.8", "flows.example.evil", EVERYWHERE):
        with pytest.raises(Refusal):
            hosts.check(header, "10.0.0.7")


def test_depth_is_found_without_building_anything_and_brackets_in_texts_do_not_count():
    assert is_deeper_than(b"[" * 65 + b"]" * 65, 64)
    assert not is_deeper_than(b"[" * 64 + b"]" * 64, 64)
    assert not is_deeper_than(b"[" + b",".join([b"[]"] * 1000) + b"]", 64)
    assert not is_deeper_than(b'{"a": "' + b"[" * 1000 + b'"}', 64)
    assert not is_deeper_than(b'{"a": "\\"' + b"[" * 1000 + b'\\\\"}', 64)
    assert not is_deeper_than(b'"' + b'\\"[' * 300_000, 64)  # without an end, and still at once


def test_places_are_given_back_and_the_books_stay_small(monkeypatch):
    monkeypatch.setattr(allowance, "BUCKETS_MAX", 10)
    monkeypatch.setattr(allowance, "REQUESTS_MAX", 2)
    books = Allowances(SystemClock())

    with books.taken("a", is_stream=False), books.taken("a", is_stream=False), pytest.raises(Refusal):
        books.taken("a", is_stream=False).__enter__()
    for number in range(100):
        with books.taken(f"token {number}", is_stream=False):
            pass

    with books.taken("a", is_stream=False):
        assert len(books._buckets) <= 10
