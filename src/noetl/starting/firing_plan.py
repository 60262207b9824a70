"""Which of the due times that have come are fired, and which are only counted: pure, from a clock's word.

A server looks a little late, always. What is at most ON_TIME_SECONDS late (and its jitter) is on time and fired. What
is later than that was missed, because no server ran: `catch_up` says what becomes of it. `none`: nothing. `last`: the
newest of them is fired, unless another one is just on time. `all`: the newest catch_up_max, in order.
"""

from __future__ import annotations

from itertools import islice

import msgspec

from noetl.dsl.schedule_documents import ScheduleDocument
from noetl.dsl.start_shapes import ALL, LAST
from noetl.starting.firing_times import Times, after, between, newest

ON_TIME_SECONDS = 5.0
MISSED_COUNTED_MAX = 1000  # at a time: nobody counts the seconds of a year


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at the clock comes to."""

    fire: tuple[float, ...]  # due times, in order
    missed: int  # how many more had come, counted up to a bound
    missed_at: float | None  # the last of those
    next_at: float | None  # the first that has not come


def plan(document: ScheduleDocument, times: Times, next_at: float, now: float) -> Plan:
    """What to do with the due times from next_at to now."""
    grace_seconds = ON_TIME_SECONDS + document.jitter_seconds
    kept_max = document.catch_up_max if document.catch_up == ALL else 1
    come = newest(times, next_at, now, kept_max + int(grace_seconds) + 1)
    on_time = [due for due in come if due >= now - grace_seconds]
    late = come[: len(come) - len(on_time)]
    fire = (*caught_up(document.catch_up, late, kept_max, is_on_time=bool(on_time)), *on_time)
    count = sum(1 for _ in islice(between(times, next_at, now), MISSED_COUNTED_MAX + len(fire)))
    skipped = [due for due in come if due not in fire]
    return Plan(
        fire=fire,
        missed=count - len(fire),
        missed_at=skipped[-1] if skipped else None,
        next_at=after(times, max(now, next_at)),
    )


def caught_up(catch_up: str, late: list[float], kept_max: int, *, is_on_time: bool) -> list[float]:
    """Those of the missed that are made up for."""
    if catch_up == ALL:
        return late[-kept_max:]
    return late[-1:] if catch_up == LAST and not is_on_time else []
