"""What is kept of a schedule, and how it moves on: pure functions from one state to the next.

    next_at ──due──▶ backlog ──its turn──▶ firing ──started or refused──▶ recent

A due time leaves `next_at` for the backlog, the backlog for `firing`, and `firing` when its execution is there. Each
move is one compare-and-set of the record (`starting.firing`), so all servers agree on it; a start is asked for only by
a server that has read `firing` from the store, under a key made of the schedule's name and that time. Whoever dies in
between leaves `firing` behind, and the next one to look asks again under the same key. So a due time that was decided
to be skipped cannot be started by a server that was slow, and one that was started is never started again.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from noetl.dsl.schedule_documents import ScheduleDocument
from noetl.dsl.start_shapes import QUEUE, SKIP
from noetl.starting.firing_plan import plan
from noetl.starting.firing_times import Times, after

ROOM = "schedule"
RECENT_MAX = 20
ERROR_CHARS_MAX = 500
WAIT_SECONDS = 2.0  # how often one looks whether the execution before has ended
STARTED, SKIPPED, FAILED = "started", "skipped", "failed"


class Firing(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one due time, or of a start by hand (`due_at` is then when)."""

    due_at: float
    at: float
    outcome: str  # STARTED, SKIPPED or FAILED
    execution_id: int | None = None
    why: str = ""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    started: int = 0
    skipped: int = 0  # the execution before still lived
    missed: int = 0  # no server ran, and catch_up did not ask for them; up to 1,000 are counted at a time
    failed: int = 0  # the start was refused


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a record."""

    document: ScheduleDocument
    applied_at: float
    is_paused: bool = False
    is_removed: bool = False  # kept all the same: a record that comes back must not begin with an old version again
    next_at: float | None = None  # the next due time; None: there is none
    fire_at: float | None = None  # that and its jitter
    backlog: tuple[float, ...] = ()  # due times whose turn it is
    firing: float | None = None  # the one that is being started
    last_execution_id: int | None = None
    last_skipped_at: float | None = None
    last_missed_at: float | None = None
    last_error: str = ""  # of the newest start, if that was refused
    counts: Counts = Counts()
    recent: tuple[Firing, ...] = ()  # newest first


def request_key(name: str, due_at: float) -> str:
    """The key under which a due time is started: once, whoever asks."""
    return f"schedule:{name}:{iso(due_at)}"


def iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def look_at(schedule: Schedule, now: float) -> float | None:
    """When somebody should look at it next."""
    if schedule.is_removed:
        return None
    if schedule.firing is not None:
        return now
    if schedule.backlog:
        return now + WAIT_SECONDS if schedule.document.overlap == QUEUE else now
    return None if schedule.is_paused else schedule.fire_at


def advanced(schedule: Schedule, times: Times, now: float, chance: float, *, is_last_live: bool) -> Schedule:
    """What has come goes to the backlog; the first of the backlog whose turn it is, to `firing`."""
    if schedule.firing is not None or schedule.is_removed:
        return schedule
    return taken(come_due(schedule, times, now, chance), now, is_last_live=is_last_live)


def come_due(schedule: Schedule, times: Times, now: float, chance: float) -> Schedule:
    is_due = schedule.fire_at is not None and schedule.fire_at <= now and not schedule.is_paused
    if not is_due or schedule.next_at is None:
        return schedule
    planned = plan(schedule.document, times, schedule.next_at, now)
    counts = schedule.counts
    found = msgspec.structs.replace(
        schedule,
        counts=msgspec.structs.replace(counts, missed=counts.missed + planned.missed),
        last_missed_at=planned.missed_at or schedule.last_missed_at,
        **cursor(schedule.document, times, planned.next_at, chance),
    )
    is_waiting = bool(schedule.backlog) and schedule.document.overlap == QUEUE
    if not is_waiting:
        return msgspec.structs.replace(found, backlog=(*schedule.backlog, *planned.fire))
    for due_at in planned.fire:  # one waits already
        found = recorded(found, Firing(due_at=due_at, at=now, outcome=SKIPPED, why="another one waits"))
    return found


def cursor(document: ScheduleDocument, times: Times, next_at: float | None, chance: float) -> dict[str, float | None]:
    """next_at and fire_at. The jitter never reaches past the due time after it, so none is overtaken."""
    if next_at is None or not document.jitter_seconds:
        return {"next_at": next_at, "fire_at": next_at}
    following = after(times, next_at)
    room_seconds = document.jitter_seconds if following is None else following - next_at
    return {"next_at": next_at, "fire_at": next_at + chance * min(document.jitter_seconds, room_seconds)}


def taken(schedule: Schedule, now: float, *, is_last_live: bool) -> Schedule:
    """The first of the backlog that may start now becomes `firing`; those that are to be skipped are."""
    if is_last_live and schedule.document.overlap == QUEUE:
        return schedule
    while schedule.backlog:
        due_at, *rest = schedule.backlog
        schedule = msgspec.structs.replace(schedule, backlog=tuple(rest))
        if not (is_last_live and schedule.document.overlap == SKIP):
            return msgspec.structs.replace(schedule, firing=due_at)
        why = f"execution {schedule.last_execution_id} still lived"
        schedule = recorded(schedule, Firing(due_at=due_at, at=now, outcome=SKIPPED, why=why))
    return schedule


def started(schedule: Schedule, execution_id: int, now: float) -> Schedule:
    """The execution of `firing` is there."""
    firing = Firing(due_at=schedule.firing or now, at=now, outcome=STARTED, execution_id=execution_id)
    return recorded(msgspec.structs.replace(schedule, firing=None, last_execution_id=execution_id), firing)


def started_by_hand(schedule: Schedule, execution_id: int, now: float) -> Schedule:
    """Somebody did not want to wait. What is due next finds this execution before it."""
    firing = Firing(due_at=now, at=now, outcome=STARTED, execution_id=execution_id, why="by hand")
    found = recorded(msgspec.structs.replace(schedule, last_execution_id=execution_id), firing)
    return msgspec.structs.replace(found, last_error="")


def refused(schedule: Schedule, why: str, now: float) -> Schedule:
    """`firing` could not be started, and will not be: the next due time has its own chance."""
    firing = Firing(due_at=schedule.firing or now, at=now, outcome=FAILED, why=why[:ERROR_CHARS_MAX])
    return recorded(msgspec.structs.replace(schedule, firing=None), firing)


def recorded(schedule: Schedule, firing: Firing) -> Schedule:
    counts = schedule.counts
    count = getattr(counts, firing.outcome) + 1
    is_skipped = firing.outcome == SKIPPED
    return msgspec.structs.replace(
        schedule,
        recent=(firing, *schedule.recent)[:RECENT_MAX],
        counts=msgspec.structs.replace(counts, **{firing.outcome: count}),
        last_skipped_at=firing.due_at if is_skipped else schedule.last_skipped_at,
        last_error=schedule.last_error if is_skipped else firing.why,
    )


# --- what people ask for ---------------------------------------------------------------------------------------------


def applied(old: Schedule | None, document: ScheduleDocument, times: Times, now: float, chance: float) -> Schedule:
    """A document in the place of the one before; what was counted stays, and so does the cursor, if it can."""
    if old is None or old.is_removed:
        fresh = Schedule(document=document, applied_at=now, is_paused=bool(document.paused))
        return rested(fresh, times, now, chance)
    is_paused = old.is_paused if document.paused is None else document.paused
    found = msgspec.structs.replace(old, document=document, applied_at=now, is_paused=is_paused)
    if is_paused == old.is_paused and is_same_time(old.document, document):
        return found
    return rested(found, times, now, chance)


def is_same_time(one: ScheduleDocument, other: ScheduleDocument) -> bool:
    names = ("cron", "timezone", "every_seconds", "start_at", "end_at", "jitter_seconds")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def paused(schedule: Schedule) -> Schedule:
    """Nothing comes due any more, and nothing waits; what is being started is."""
    return msgspec.structs.replace(schedule, is_paused=True, next_at=None, fire_at=None, backlog=())


def rested(schedule: Schedule, times: Times, now: float, chance: float) -> Schedule:
    """The cursor set anew: what came while it rested is not made up for."""
    if schedule.is_paused:
        return paused(schedule)
    return msgspec.structs.replace(schedule, **cursor(schedule.document, times, after(times, now), chance))


def resumed(schedule: Schedule, times: Times, now: float, chance: float) -> Schedule:
    return rested(msgspec.structs.replace(schedule, is_paused=False), times, now, chance)


def removed(schedule: Schedule) -> Schedule:
    return msgspec.structs.replace(paused(schedule), is_removed=True, firing=None)
