"""Large answers that wait to be fetched: bounded in number, bytes and time, and for one worker only."""

import pytest

from noetl.queues import kept_parts
from noetl.queues.kept_parts import KEPT_BYTES_MAX, KEPT_MAX, KEPT_SECONDS, KeptParts


class Clock:
    seconds = 100.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def parts(clock):
    return KeptParts(clock)


def is_there(parts, kept_id):
    try:
        parts.part("w", kept_id, 0)
    except LookupError:
        return False
    return True


def test_the_parts_are_the_whole(parts):
    kept_id, count = parts.keep("w", b"abcdefg", 3)

    assert [parts.part("w", kept_id, index) for index in range(count)] == [b"abc", b"def", b"g"]


@pytest.mark.parametrize(("worker", "index"), [("other", 0), ("w", 3), ("w", -1)])
def test_what_is_another_workers_or_beyond_the_end_is_not_there(parts, worker, index):
    kept_id, _ = parts.keep("w", b"abcdefg", 3)

    with pytest.raises(LookupError):
        parts.part(worker, kept_id, index)


def test_the_oldest_goes_when_there_are_too_many(parts):
    ids = [parts.keep("w", b"x", 1)[0] for _ in range(KEPT_MAX + 2)]

    assert [is_there(parts, kept_id) for kept_id in (ids[1], ids[2], ids[-1])] == [False, True, True]


def test_the_oldest_goes_when_they_are_too_large_and_the_newest_never(parts):
    half = b"x" * (KEPT_BYTES_MAX // 2)
    ids = [parts.keep("w", half, 10)[0] for _ in range(3)]
    huge, _ = parts.keep("w", half * 3, 10)

    assert [is_there(parts, kept_id) for kept_id in (*ids, huge)] == [False, False, False, True]


def test_they_are_kept_for_a_short_while(parts, clock):
    first, _ = parts.keep("w", b"x", 1)
    clock.seconds += KEPT_SECONDS / 2
    second, _ = parts.keep("w", b"x", 1)

    clock.seconds += KEPT_SECONDS / 2

    assert (is_there(parts, first), is_there(parts, second)) == (False, True)
    assert parts._bytes == 1


def test_ids_cannot_be_guessed(parts):
    ids = {parts.keep("w", b"x", 1)[0] for _ in range(100)}

    assert len(ids) == 100
    assert {len(kept_id) for kept_id in ids} == {2 * kept_parts.ID_BYTES}
