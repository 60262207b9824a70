"""When a schedule is due: a document in, times out, in whole seconds since 1970. Nobody looks at a clock here.

Across a change of daylight saving, a schedule that names hours goes by the clock on the wall: a time that does not
exist that day is moved to the end of the gap (and those that then fall together are one), a time that exists twice is
taken the first time. One that is due in every hour (`0 * * * *`) goes by time that passes: each hour once, also the
hour that the wall's clock shows twice. `every` knows no time zone at all: it counts from start_at, or from 1970.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import takewhile
from typing import Protocol

from cronsim import CronSim

from noetl.dsl.schedule_documents import UTC as UTC_NAME
from noetl.dsl.schedule_documents import ScheduleDocument, moment_of

MINUTE = timedelta(minutes=1)
GAP_MINUTES_MAX = 2 * 24 * 60  # the longest there was is a day, when Samoa crossed the date line
FIRST_SPAN_SECONDS = 3600.0
HOUR_FIELD = 1
HOURS = 24


class Times(Protocol):
    def upcoming(self, moment: float) -> Iterator[float]:
        """All due times later than a moment, in order, each once."""
        ...


class EveryTimes:
    """Every so many seconds."""

    def __init__(self, seconds: int, start: float | None) -> None:
        self.seconds = seconds
        self.start = start

    def upcoming(self, moment: float) -> Iterator[float]:
        anchor = self.start or 0.0
        is_before = self.start is not None and moment < self.start
        count = 0 if is_before else (moment - anchor) // self.seconds + 1
        while True:
            yield anchor + count * self.seconds
            count += 1


class CronTimes:
    """As a cron expression says, in a time zone."""

    def __init__(self, expression: str, zone: tzinfo, start: float | None) -> None:
        self.expression = expression
        self.zone = zone
        self.start = start
        parts = expression.split()
        self.is_hourly = len(CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC)).hours) == HOURS
        self.hourly = " ".join((*parts[:HOUR_FIELD], "*", *parts[HOUR_FIELD + 1 :]))

    def upcoming(self, moment: float) -> Iterator[float]:
        if self.start is not None:
            moment = max(moment, self.start - 1)  # due times are whole seconds, so the start itself may be one
        for due in self._from(moment):
            if due > moment:
                moment = due
                yield due

    def _from(self, moment: float) -> Iterator[float]:
        """Due times from about a moment on; in an hour that the clock shows twice a few earlier ones come first."""
        here = datetime.fromtimestamp(moment, self.zone)
        if self.is_hourly:
            return (due.timestamp() for due in CronSim(self.hourly, here))
        # Without a time zone the library counts as the clock on the wall does, and leaves what is odd to us.
        return (self._instant(wall) for wall in CronSim(self.expression, here.replace(tzinfo=None)))

    def _instant(self, wall: datetime) -> float:
        """When the clock on the wall shows this: the first time, or, if it never does, when it next shows anything."""
        for minutes in range(GAP_MINUTES_MAX):
            shown = (wall + minutes * MINUTE).replace(tzinfo=self.zone, fold=0)
            if shown.astimezone(UTC).astimezone(self.zone).replace(tzinfo=None) == shown.replace(tzinfo=None):
                return shown.timestamp()
        return wall.replace(tzinfo=self.zone).timestamp()


class EndingTimes:
    """Times up to a last one."""

    def __init__(self, times: Times, end: float) -> None:
        self.times = times
        self.end = end

    def upcoming(self, moment: float) -> Iterator[float]:
        return takewhile(lambda due: due <= self.end, self.times.upcoming(moment))


def times_of(document: ScheduleDocument) -> Times:
    zone = zone_of(document.timezone)
    start, end = (second_of(text, zone) for text in (document.start_at, document.end_at))
    times: Times = EveryTimes(document.every_seconds or 1, start)
    if document.cron is not None:
        times = CronTimes(document.cron, zone, start)
    return times if end is None else EndingTimes(times, end)


def zone_of(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo  # it reads how Python was built, which a list of schedules need not wait for

    return UTC if name == UTC_NAME else ZoneInfo(name)


def second_of(text: str | None, zone: tzinfo) -> float | None:
    moment = moment_of(text) if text else None
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()


def after(times: Times, moment: float) -> float | None:
    """The first due time later than that; None: there is none any more."""
    return next(times.upcoming(moment), None)


def between(times: Times, first: float, last: float) -> Iterator[float]:
    """The due times from first to last, both included."""
    return takewhile(lambda due: due <= last, times.upcoming(first - 1))


def newest(times: Times, first: float, last: float, count: int) -> list[float]:
    """The last `count` due times from first to last, in order; looks back no further than it must."""
    span = FIRST_SPAN_SECONDS
    while True:
        begin = max(first, last - span)
        found = deque(between(times, begin, last), maxlen=count)
        if len(found) == count or begin <= first:
            return list(found)
        span *= 2
