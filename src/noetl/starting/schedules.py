"""What people ask of schedules: apply, list, look at, pause, resume, remove, run now. Nothing here waits for a time.

A change is a compare-and-set of the schedule's record, tried again when a server moved it on meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec

from noetl.clock import Clock
from noetl.control.desk import Desk
from noetl.dsl.schedule_documents import ScheduleDocument
from noetl.engine.events import timestamp
from noetl.errors import UnknownDocument, Unreachable
from noetl.starting import schedule_state as moves
from noetl.starting.documents import notes_on, row_of_document
from noetl.starting.firing import decoded, encoded, start_request
from noetl.starting.firing_times import times_of, zone_of
from noetl.starting.once import Begun, start_once
from noetl.starting.schedule_state import ROOM, Firing, Schedule
from noetl.stores.contract import Store

TRIES_MAX = 20
SCHEDULES_MAX = 10_000
NEXT_MAX = 1000
NEXT_SHOWN = 5
COMING_MAX = 1000  # that are looked at for those that are due soonest
FAR_SECONDS = 1e11  # since 1970: later than any due time
Change = Callable[[Schedule], Schedule]


class Schedules:
    """See above."""

    def __init__(self, store: Store, clock: Clock, chance: Callable[[], float]) -> None:
        self.store = store
        self.clock = clock
        self.chance = chance

    async def apply(self, document: ScheduleDocument) -> dict[str, Any]:
        """Keep a document that checks, in place of the one of that name; the same again changes nothing."""
        times = times_of(document)
        for _ in range(TRIES_MAX):
            record = await self.store.record(ROOM, document.name)
            old = decoded(record) if record else None
            if old is not None and not old.is_removed and is_applied(old, document):
                return await self._with_notes(old, is_changed=False)
            now = self.clock.now()
            new = moves.applied(old, document, times, now, self.chance())
            if await self.store.put_record(encoded(new, record.version if record else 0, now)):
                return await self._with_notes(new, is_changed=True)
        raise busy(document.name)

    async def _with_notes(self, schedule: Schedule, *, is_changed: bool) -> dict[str, Any]:
        notes = await notes_on(schedule.document, self.store, "the schedule is due")
        return {**row_of(schedule), "is_changed": is_changed, "notes": notes}

    async def listed(self, after: str = "", limit: int = SCHEDULES_MAX) -> list[dict[str, Any]]:
        """By name, those after one."""
        found: list[dict[str, Any]] = []
        while len(found) < limit:
            records = await self.store.records(ROOM, after, limit)
            if not records:
                break
            after = records[-1].name
            found += [row_of(one) for one in map(decoded, records) if not one.is_removed]
        return found[:limit]

    async def coming(self, count: int, sees: Callable[[str], bool]) -> list[dict[str, Any]]:
        """Those that are due soonest, of the playbooks that may be seen."""
        records = await self.store.due_records(ROOM, FAR_SECONDS, COMING_MAX)
        kept = [one for one in map(decoded, records) if not one.is_removed and sees(one.document.path)]
        due = [(one.next_at, row_of(one)) for one in kept if one.next_at is not None and not one.is_paused]
        return [row for _, row in sorted(due, key=lambda one: one[0])[:count]]

    async def shown(self, name: str, count: int = NEXT_SHOWN) -> dict[str, Any]:
        """A schedule with its next and its newest firings."""
        schedule = await self.one(name)
        coming = upcoming(schedule.document, self.clock.now(), count)
        return {
            **row_of(schedule),
            "next": [] if schedule.is_paused else coming,
            "recent": [firing_row(firing) for firing in schedule.recent],
        }

    async def pause(self, name: str) -> dict[str, Any]:
        return row_of(await self._change(name, moves.paused))

    async def resume(self, name: str) -> dict[str, Any]:
        def resumed(schedule: Schedule) -> Schedule:
            if not schedule.is_paused:
                return schedule
            return moves.resumed(schedule, times_of(schedule.document), self.clock.now(), self.chance())

        return row_of(await self._change(name, resumed))

    async def remove(self, name: str) -> None:
        await self._change(name, moves.removed)

    async def run_now(self, desk: Desk, name: str, key: str | None = None) -> Begun:
        """Start its playbook with its payload, whatever it waits for; the same key again is the same execution."""
        schedule = await self.one(name)
        now = self.clock.now()
        request_key = f"schedule:{name}:now:{key}" if key else None
        begun = await start_once(desk, start_request(schedule.document, now, request_key))
        if begun.is_new:
            await self._change(name, lambda found: moves.started_by_hand(found, begun.execution_id, now))
        return begun

    async def one(self, name: str) -> Schedule:
        """Raises UnknownDocument."""
        record = await self.store.record(ROOM, name)
        schedule = decoded(record) if record else None
        if schedule is None or schedule.is_removed:
            raise UnknownDocument("schedule", name)
        return schedule

    async def _change(self, name: str, change: Change) -> Schedule:
        for _ in range(TRIES_MAX):
            record = await self.store.record(ROOM, name)
            schedule = decoded(record) if record else None
            if record is None or schedule is None or schedule.is_removed:
                raise UnknownDocument("schedule", name)
            changed = change(schedule)
            if changed == schedule:
                return schedule
            if await self.store.put_record(encoded(changed, record.version, self.clock.now())):
                return changed
        raise busy(name)


def is_applied(schedule: Schedule, document: ScheduleDocument) -> bool:
    return schedule.document == document and document.paused in (None, schedule.is_paused)


def busy(name: str) -> Unreachable:
    return Unreachable(f'the schedule "{name}" is being changed by others, {TRIES_MAX} times in a row; try again')


def upcoming(document: ScheduleDocument, now: float, count: int) -> list[str]:
    """The next due times, in the schedule's own time zone."""
    zone = zone_of(document.timezone)
    times = islice(times_of(document).upcoming(now), min(count, NEXT_MAX))
    return [datetime.fromtimestamp(due, zone).isoformat() for due in times]


# --- for people ------------------------------------------------------------------------------------------------------


def row_of(schedule: Schedule) -> dict[str, Any]:
    document = schedule.document
    return {
        **row_of_document(document),
        "cron": document.cron,
        "every_seconds": document.every_seconds,
        "timezone": document.timezone,
        "overlap": document.overlap,
        "catch_up": document.catch_up,
        "catch_up_max": document.catch_up_max,
        "jitter_seconds": document.jitter_seconds,
        "start_at": document.start_at,
        "end_at": document.end_at,
        "state": state_of(schedule),
        "next_at": moment(schedule.next_at),
        "waiting": len(schedule.backlog),
        "last_execution_id": identity(schedule.last_execution_id),
        "last_error": schedule.last_error,
        "last_skipped_at": moment(schedule.last_skipped_at),
        "last_missed_at": moment(schedule.last_missed_at),
        "counts": msgspec.structs.asdict(schedule.counts),
        "applied_at": moment(schedule.applied_at),
    }


def state_of(schedule: Schedule) -> str:
    if schedule.is_paused:
        return "paused"
    if schedule.backlog or schedule.firing is not None:
        return "waiting"
    return "ended" if schedule.next_at is None else "active"


def firing_row(firing: Firing) -> dict[str, Any]:
    return {
        "due_at": moment(firing.due_at),
        "at": moment(firing.at),
        "outcome": firing.outcome,
        "execution_id": identity(firing.execution_id),
        "why": firing.why,
    }


def moment(seconds: float | None) -> str | None:
    return None if seconds is None else timestamp(seconds)


def identity(execution_id: int | None) -> str | None:
    return None if execution_id is None else str(execution_id)
