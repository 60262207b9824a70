"""When schedules are due: cron in a time zone, across daylight saving, and every so often."""

from datetime import datetime
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.starting.firing_times import after, between, newest, times_of
from tests.starting.schedules import at, document


def due(cron, first, last, zone="Europe/Berlin"):
    """The due times between two times of the wall, as the wall shows them."""
    times = times_of(document(cron=cron, timezone=zone))
    local = ZoneInfo(zone)
    found = between(times, at(first, local), at(last, local))
    return [datetime.fromtimestamp(one, local).strftime("%d %H:%M%z") for one in found]


def test_a_time_that_does_not_exist_is_due_once_at_the_end_of_the_gap():
    assert due("30 2 * * *", "2026-03-28T00:00", "2026-03-30T12:00") == [
        "28 02:30+0100",
        "29 03:00+0200",
        "30 02:30+0200",
    ]
    assert due("*/15 2 * * *", "2026-03-29T00:00", "2026-03-29T12:00") == ["29 03:00+0200"]
    assert due("0 2,3 * * *", "2026-03-29T00:00", "2026-03-29T12:00") == ["29 03:00+0200"]


def test_a_time_that_exists_twice_is_due_once_the_first_time():
    assert due("30 2 * * *", "2026-10-24T00:00", "2026-10-26T12:00") == [
        "24 02:30+0200",
        "25 02:30+0200",
        "26 02:30+0100",
    ]
    assert due("*/30 2-3 * * *", "2026-10-25T00:00", "2026-10-25T12:00") == [
        "25 02:00+0200",
        "25 02:30+0200",
        "25 03:00+0100",
        "25 03:30+0100",
    ]


@pytest.mark.parametrize("cron", ["0 * * * *", "0 */1 * * *", "0 0-23 * * *"])
def test_what_is_due_in_every_hour_goes_by_hours_that_pass(cron):
    spring = due(cron, "2026-03-29T01:00", "2026-03-29T04:00")
    autumn = due(cron, "2026-10-25T01:00", "2026-10-25T03:00")

    assert spring == ["29 01:00+0100", "29 03:00+0200", "29 04:00+0200"]
    assert autumn == ["25 01:00+0200", "25 02:00+0200", "25 02:00+0100", "25 03:00+0100"]


def test_a_day_that_does_not_exist_is_due_when_the_next_one_begins():
    found = due("0 12 * * *", "2011-12-29T00:00", "2011-12-31T23:00", "Pacific/Apia")

    assert found == ["29 12:00-1000", "31 00:00+1400", "31 12:00+1400"]


def test_a_midnight_that_does_not_exist_is_due_at_one():
    found = due("0 0 * * *", "2018-11-03T12:00", "2018-11-05T12:00", "America/Sao_Paulo")

    assert found == ["04 01:00-0200", "05 00:00-0200"]


def test_every_counts_from_its_start_or_from_1970():
    plain = times_of(document(every_seconds=90))
    begun = times_of(document(every_seconds=90, start_at="2026-03-01T08:00:07", timezone="Europe/Berlin"))

    assert after(plain, 0.0) == 90.0
    assert list(islice(begun.upcoming(0.0), 2)) == [at("2026-03-01T08:00:07"), at("2026-03-01T08:01:37")]


def test_nothing_is_due_before_the_start_or_after_the_end():
    period = {"start_at": "2026-03-01T08:00:00", "end_at": "2026-03-01T08:02:00+01:00", "timezone": "Europe/Berlin"}
    cron = times_of(document(cron="* * * * *", **period))
    every = times_of(document(every_seconds=60, **period))

    expected = [at("2026-03-01T08:00:00") + 60 * minute for minute in range(3)]
    assert list(cron.upcoming(0.0)) == expected
    assert list(every.upcoming(0.0)) == expected


FIELDS = st.sampled_from(["*", "0", "30", "*/15", "7,23,59"])
HOURS = st.sampled_from(["*", "2", "*/2", "1-3", "0,2,3", "22-23"])
DAYS = st.sampled_from(["* * *", "* * SUN", "L * *", "29 * *", "25-31 3,10 *"])
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"])
MOMENTS = st.integers(int(at("2024-01-01T00:00")), int(at("2028-01-01T00:00")))


@settings(max_examples=150, deadline=None)
@given(FIELDS, HOURS, DAYS, ZONES, MOMENTS)
def test_due_times_do_not_depend_on_when_one_looks(minutes, hours, days, zone, moment):
    times = times_of(document(cron=f"{minutes} {hours} {days}", timezone=zone))

    found = list(islice(times.upcoming(moment), 40))

    assert len(found) == 40
    assert moment < found[0]
    assert found == sorted(set(found))
    for earlier, later in pairwise(found):
        assert after(times, earlier) == later
        assert after(times, (earlier + later) // 2) == later


@settings(max_examples=100, deadline=None)
@given(FIELDS, HOURS, ZONES, MOMENTS, st.integers(1, 400_000), st.integers(1, 30))
def test_the_newest_are_the_last_of_all(minutes, hours, zone, moment, span, count):
    times = times_of(document(cron=f"{minutes} {hours} * * *", timezone=zone))

    everything = list(between(times, moment, moment + span))

    assert newest(times, moment, moment + span, count) == everything[-count:]
