"""The workers that were seen: who they are, when they last spoke, how many jobs they hold.

A worker's name is its own: whoever enrols under it takes it, and another token or another pool does not get it while
that worker may still be there. It is told often and written seldom; what nobody has heard of for an hour is swept.
Nothing depends on it being right to the second: leases say who holds what.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec

from noetl.clock import Clock
from noetl.errors import Forbidden
from noetl.queues.contract import Member, Profile
from noetl.stores.contract import Record, Records

ROOM = "worker"
WRITTEN_EVERY_SECONDS = 10.0
SILENT_SECONDS = 60.0  # after which a worker is thought to be gone
KEPT_SECONDS = 3600.0  # no session lasts longer, so whoever comes back after that enrols again
WORKERS_MAX = 10_000
PAGE = 1000
TRIES_MAX = 5
Standing = Callable[[str], Awaitable[bool]]  # whether the token of a hash still opens anything


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a worker."""

    profile: Profile
    parent: str  # hash of the token that it enrolled with
    seen_at: float
    jobs: int = 0


class Roster:
    """The workers of a store."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self.records = records
        self.clock = clock
        self._written: OrderedDict[str, float] = OrderedDict()  # worker → when this server last wrote of it

    async def join(self, profile: Profile, parent: str, is_standing: Standing) -> None:
        """Take a worker's name for it; raises Forbidden where another has it."""
        for _ in range(TRIES_MAX):
            record = await self.records.record(ROOM, profile.worker)
            if record is not None:
                await self._refuse_other(record, profile, parent, is_standing)
            seen = Seen(profile=profile, parent=parent, seen_at=self.clock.now())
            if await self._put(record or Record(room=ROOM, name=profile.worker), seen):
                return
        raise Forbidden(f'the worker\'s name "{profile.worker}" is being taken by several at once; choose another')

    async def _refuse_other(self, record: Record, profile: Profile, parent: str, is_standing: Standing) -> None:
        holder = msgspec.json.decode(record.body, type=Seen)
        is_its_own = holder.profile.pool == profile.pool and holder.parent == parent
        if not is_its_own and self.is_alive(holder) and await is_standing(holder.parent):
            raise Forbidden(
                f'the worker\'s name "{profile.worker}" belongs to a worker of another token or pool; choose another'
            )

    async def seen(self, member: Member, jobs: int) -> None:
        """A worker spoke. Written at most each WRITTEN_EVERY_SECONDS; if another server just did, that is enough."""
        now = self.clock.monotonic()
        if now - self._written.get(member.worker, -WRITTEN_EVERY_SECONDS) < WRITTEN_EVERY_SECONDS:
            return
        self._remember(member.worker, now)
        record = await self.records.record(ROOM, member.worker)
        if record is not None:
            held = msgspec.json.decode(record.body, type=Seen)
            await self._put(record, msgspec.structs.replace(held, seen_at=self.clock.now(), jobs=jobs))

    def _remember(self, worker: str, now: float) -> None:
        self._written[worker] = now
        self._written.move_to_end(worker)
        while len(self._written) > WORKERS_MAX:
            self._written.popitem(last=False)

    async def _put(self, record: Record, seen: Seen) -> bool:
        body, due_at = msgspec.json.encode(seen), self.clock.now() + KEPT_SECONDS
        return await self.records.put_record(msgspec.structs.replace(record, body=body, due_at=due_at))

    async def leave(self, worker: str) -> None:
        self._written.pop(worker, None)
        await self.records.remove_record(ROOM, worker)

    async def list(self) -> list[Seen]:
        """The workers that were seen within KEPT_SECONDS, by name."""
        found: list[Record] = []
        while len(found) < WORKERS_MAX:
            page = await self.records.records(ROOM, found[-1].name if found else "", PAGE)
            found += page
            if len(page) < PAGE:
                break
        return [msgspec.json.decode(record.body, type=Seen) for record in found]

    def is_alive(self, seen: Seen) -> bool:
        """Whether a worker spoke so lately that it may be thought to be there."""
        return self.clock.now() - seen.seen_at < SILENT_SECONDS

    async def sweep(self) -> int:
        """Drop those that have not been heard of for KEPT_SECONDS."""
        gone = await self.records.due_records(ROOM, self.clock.now(), PAGE)
        for record in gone:
            await self.records.remove_record(ROOM, record.name)
        return len(gone)
