"""Triggers: documents kept as records, and what people see of them. `starting.trigger_starts` starts in their name."""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.clock import Clock
from noetl.dsl.trigger_documents import TriggerDocument
from noetl.engine.events import timestamp
from noetl.errors import UnknownDocument, Unreachable
from noetl.starting.documents import is_name, notes_on, row_of_document
from noetl.stores.contract import Record, Store

ROOM, TALLY_ROOM = "trigger", "trigger_tally"
TRIES_MAX = 20
TRIGGERS_MAX = 10_000


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a record."""

    document: TriggerDocument
    applied_at: float


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a trigger's messages."""

    started: int = 0
    repeated: int = 0  # the same message again
    refused: int = 0
    last_started_at: float | None = None
    last_execution_id: int | None = None
    last_error: str = ""
    last_error_at: float | None = None


class Triggers:
    """See above."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self.clock = clock

    async def apply(self, document: TriggerDocument) -> dict[str, Any]:
        """Keep a document that checks, in place of the one of that name; the same again changes nothing."""
        for _ in range(TRIES_MAX):
            record = await self.store.record(ROOM, document.name)
            old = decoded(record) if record else None
            if old is not None and old.document == document:
                return await self._with_notes(old, is_changed=False)
            new = Trigger(document=document, applied_at=self.clock.now())
            version = record.version if record else 0
            body = msgspec.json.encode(new)
            if await self.store.put_record(Record(room=ROOM, name=document.name, version=version, body=body)):
                return await self._with_notes(new, is_changed=True)
        raise Unreachable(f'the trigger "{document.name}" is being changed by others; try again')

    async def _with_notes(self, trigger: Trigger, *, is_changed: bool) -> dict[str, Any]:
        notes = await notes_on(trigger.document, self.store, "a message comes")
        return {**await self._row(trigger), "is_changed": is_changed, "notes": notes}

    async def listed(self, after: str = "", limit: int = TRIGGERS_MAX) -> list[dict[str, Any]]:
        """By name, those after one."""
        return [await self._row(decoded(record)) for record in await self.store.records(ROOM, after, limit)]

    async def documents(self) -> list[TriggerDocument]:
        return [decoded(record).document for record in await self.store.records(ROOM, "", TRIGGERS_MAX)]

    async def shown(self, name: str) -> dict[str, Any]:
        return await self._row(await self.one(name))

    async def one(self, name: str) -> Trigger:
        """Raises UnknownDocument."""
        record = await self.store.record(ROOM, name) if is_name(name) else None
        if record is None:
            raise UnknownDocument("trigger", name)
        return decoded(record)

    async def remove(self, name: str) -> None:
        if not await self.store.remove_record(ROOM, name):
            raise UnknownDocument("trigger", name)
        await self.store.remove_record(TALLY_ROOM, name)

    async def _row(self, trigger: Trigger) -> dict[str, Any]:
        record = await self.store.record(TALLY_ROOM, trigger.document.name)
        return row_of(trigger, tally_of(record))


def added(one: Tally, other: Tally) -> Tally:
    """Two tallies as one; the other is the later."""
    return Tally(
        started=one.started + other.started,
        repeated=one.repeated + other.repeated,
        refused=one.refused + other.refused,
        last_started_at=other.last_started_at or one.last_started_at,
        last_execution_id=other.last_execution_id or one.last_execution_id,
        last_error=other.last_error or one.last_error,
        last_error_at=other.last_error_at or one.last_error_at,
    )


def tally_of(record: Record | None) -> Tally:
    return msgspec.json.decode(record.body, type=Tally) if record else Tally()


def decoded(record: Record) -> Trigger:
    return msgspec.json.decode(record.body, type=Trigger)


def row_of(trigger: Trigger, tally: Tally) -> dict[str, Any]:
    """For people. The name of a credential is no secret."""
    document = trigger.document
    return {
        **row_of_document(document),
        "event_key": document.event_key,
        "webhook": msgspec.to_builtins(document.webhook),
        "nats": msgspec.to_builtins(document.nats),
        "dedupe": msgspec.to_builtins(document.dedupe),
        "rate_per_minute": document.rate_per_minute,
        "is_paused": document.paused,
        "hook": f"/api/v1/hooks/{document.name}" if document.webhook else None,
        "counts": {"started": tally.started, "repeated": tally.repeated, "refused": tally.refused},
        "last_started_at": None if tally.last_started_at is None else timestamp(tally.last_started_at),
        "last_execution_id": None if tally.last_execution_id is None else str(tally.last_execution_id),
        "last_error": tally.last_error,
        "last_error_at": None if tally.last_error_at is None else timestamp(tally.last_error_at),
        "applied_at": timestamp(trigger.applied_at),
    }
