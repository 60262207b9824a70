"""Schedules that are due are started: every server looks each second, and together they start each due time once.

Comes in: the records of schedules (`starting.schedule_state` says how they move). Goes out: starts, asked of the desk
under a key that is the schedule's name and the due time. Nobody is the leader: whoever wins the compare-and-set moves
the record, and the key is unique in the store. A server may die at any point between the two; the next look goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from noetl.clock import Clock
from noetl.control import metrics
from noetl.control.desk import Desk
from noetl.control.metrics import NOTHING, Meters
from noetl.control.requests import RunRequest
from noetl.dsl.schedule_documents import ScheduleDocument
from noetl.dsl.start_shapes import ALLOW, CANCEL
from noetl.errors import DiskFull, NoetlError, Unreachable, WrongState
from noetl.starting.firing_times import times_of
from noetl.starting.once import start_once
from noetl.starting.schedule_state import (
    ROOM,
    Counts,
    Schedule,
    advanced,
    iso,
    look_at,
    refused,
    request_key,
    started,
)
from noetl.stores.contract import LIVE, Record, Records

LOOK_SECONDS = 1.0
DUE_MAX = 500  # in one look
AT_ONCE_MAX = 16
FIRINGS_PER_LOOK_MAX = 100  # of one schedule, before the others have their turn
COMPLAINTS_MAX = 1000
KEY_IN_PAYLOAD = "schedule"
PASSING = (Unreachable, DiskFull)  # the same start may work in a moment, so it stays in `firing`

log = logging.getLogger("noetl.control")


class Scheduler:
    """See above. `chance` gives numbers from 0 to 1."""

    def __init__(
        self, desk: Desk, records: Records, clock: Clock, chance: Callable[[], float], meters: Meters = NOTHING
    ) -> None:
        self.desk = desk
        self.records = records
        self.clock = clock
        self.chance = chance
        self.meters = meters
        self._complained: set[tuple[str, int]] = set()  # of which version of which record something was said

    async def run(self) -> None:
        is_reachable = True
        while True:
            try:
                await self.look()
                is_reachable = True
            except NoetlError as error:
                if is_reachable:  # once, not each second
                    log.warning("schedules wait: %s", error, extra={"action": "schedules_wait"})
                is_reachable = False
            await self.clock.sleep(LOOK_SECONDS * (0.75 + 0.5 * self.chance()))

    async def look(self) -> None:
        """Attend to all that is due now. Raises Unreachable, DiskFull."""
        due = await self.records.due_records(ROOM, self.clock.now(), DUE_MAX)
        first = int(self.chance() * len(due))  # servers that look at the same time begin at different ends
        turned = due[first:] + due[:first]
        for start in range(0, len(turned), AT_ONCE_MAX):
            await asyncio.gather(*map(self._attend, turned[start : start + AT_ONCE_MAX]))

    async def _attend(self, record: Record) -> None:
        try:
            await self._move_on(record)
        except PASSING:
            raise
        except Exception:  # one broken record must not stop the others
            self._complain(record)

    def _complain(self, record: Record) -> None:
        key = (record.name, record.version)
        if key in self._complained:
            return
        if len(self._complained) >= COMPLAINTS_MAX:
            self._complained.clear()
        self._complained.add(key)
        log.exception("a schedule cannot be read", extra={"action": "schedule_broken", "schedule": record.name})

    async def _move_on(self, record: Record) -> None:
        """Take one schedule as far as it goes now, or until another server is faster."""
        schedule = decoded(record)
        times = times_of(schedule.document)
        for _ in range(FIRINGS_PER_LOOK_MAX):
            if schedule.firing is None:
                is_live = await self._is_last_live(schedule)
                before = schedule.counts
                schedule = advanced(schedule, times, self.clock.now(), self.chance(), is_last_live=is_live)
                if not await self._put(record, schedule, before):
                    return
                record = msgspec.structs.replace(record, version=record.version + 1)
            if schedule.firing is None:
                return
            before = schedule.counts
            schedule = await self._fired(schedule)
            if not await self._put(record, schedule, before):
                return
            record = msgspec.structs.replace(record, version=record.version + 1)

    async def _put(self, record: Record, schedule: Schedule, before: Counts) -> bool:
        is_kept = await self.records.put_record(encoded(schedule, record.version, self.clock.now()))
        if is_kept and schedule.counts != before:  # counted by the server whose move it was
            count(self.meters, before, schedule.counts)
        return is_kept

    async def _is_last_live(self, schedule: Schedule) -> bool:
        if schedule.last_execution_id is None or schedule.document.overlap == ALLOW:
            return False
        last = await self.desk.store.execution(schedule.last_execution_id)
        return last is not None and last.status in LIVE

    async def _fired(self, schedule: Schedule) -> Schedule:
        """Start what is firing; a start that is refused is written down, and the next due time has its own chance."""
        document = schedule.document
        due_at = schedule.firing or 0.0
        try:
            if document.overlap == CANCEL:
                await self._cancel_last(schedule)
            key = request_key(document.name, due_at)
            execution_id, _ = await start_once(self.desk, start_request(document, due_at, key))
        except PASSING:
            raise
        except NoetlError as error:
            return refused(schedule, str(error), self.clock.now())
        except Exception as error:
            log.exception("a start failed", extra={"action": "schedule_start_failed", "schedule": document.name})
            return refused(schedule, f"a fault of NoETL: {type(error).__name__}; its log has more", self.clock.now())
        extra = {"action": "schedule_fired", "schedule": document.name, "execution_id": execution_id}
        log.info("schedule fired", extra=extra)
        return started(schedule, execution_id, self.clock.now())

    async def _cancel_last(self, schedule: Schedule) -> None:
        if schedule.last_execution_id is None or not await self._is_last_live(schedule):
            return
        try:
            await self.desk.cancel(schedule.last_execution_id, f'schedule "{schedule.document.name}" is due again')
        except WrongState:  # it ended just now
            return


def count(meters: Meters, before: Counts, after: Counts) -> None:
    """Tell what a move added to a schedule's counts."""
    left_out = after.skipped + after.missed - before.skipped - before.missed
    for outcome, more in (
        (metrics.FIRED, after.started - before.started),
        (metrics.SKIPPED, left_out),
        (metrics.FAILED, after.failed - before.failed),
    ):
        if more > 0:
            meters.scheduled(outcome, more)


def start_request(document: ScheduleDocument, due_at: float, key: str | None) -> RunRequest:
    """A start; the playbook learns for which time it runs, unless its payload has that key for itself."""
    occasion = {KEY_IN_PAYLOAD: {"name": document.name, "due_at": iso(due_at)}}
    payload = {**occasion, **document.payload}
    return RunRequest(path=document.path, version=document.version, payload=payload, request_key=key)


def decoded(record: Record) -> Schedule:
    return msgspec.json.decode(record.body, type=Schedule)


def encoded(schedule: Schedule, version: int, now: float) -> Record:
    """The record that takes the place of that version."""
    body = msgspec.json.encode(schedule)
    return Record(room=ROOM, name=schedule.document.name, version=version, body=body, due_at=look_at(schedule, now))
