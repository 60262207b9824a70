"""Starts in the name of triggers, and what came of them.

Comes in: messages that have shown that they may (`starting.hooks`, `starting.subscriptions`). Goes out: starts, each
under a key where the message has one. What came of them is added up here and written a little later, so that a hundred
messages a second are not a hundred more writes; a server that dies forgets a few counts, and nothing else.
"""

from __future__ import annotations

import logging

import msgspec

from noetl.clock import Clock
from noetl.control import metrics
from noetl.control.desk import Desk
from noetl.control.metrics import NOTHING, Meters
from noetl.control.requests import RunRequest
from noetl.dsl.trigger_documents import TriggerDocument
from noetl.errors import NoetlError, WrongState
from noetl.starting.messages import Message, payload_of, request_key
from noetl.starting.once import Begun, start_once
from noetl.starting.rates import Rates
from noetl.starting.triggers import ROOM, TALLY_ROOM, Tally, Triggers, added, tally_of
from noetl.stores.contract import Record

FLUSH_SECONDS = 2.0
ERROR_CHARS_MAX = 500
log = logging.getLogger("noetl.control")


class TriggerStarts:
    """See above."""

    def __init__(self, triggers: Triggers, desk: Desk, clock: Clock, meters: Meters = NOTHING) -> None:
        self.triggers = triggers
        self.store = triggers.store
        self.desk = desk
        self.clock = clock
        self.meters = meters
        self.rates = Rates(clock)
        self._tallies: dict[str, Tally] = {}  # since the last flush

    async def start(self, document: TriggerDocument, message: Message) -> Begun:
        """Start a trigger's playbook for a message that may. Raises as `Desk.start`, and WrongState if it rests."""
        if document.paused:
            raise WrongState(f'the trigger "{document.name}" is paused')
        now = self.clock.now()
        request = RunRequest(
            path=document.path,
            version=document.version,
            payload=payload_of(document, message, now),
            request_key=request_key(document.name, message.id) if message.id is not None else None,
        )
        begun = await start_once(self.desk, request)
        tally = Tally(started=int(begun.is_new), repeated=int(not begun.is_new))
        if begun.is_new:
            tally = msgspec.structs.replace(tally, last_started_at=now, last_execution_id=begun.execution_id)
        self._add(document.name, tally)
        self.meters.triggered(metrics.FIRED if begun.is_new else metrics.SKIPPED)
        return begun

    def refused(self, name: str, why: str) -> None:
        """A message, or a source of them, of which nothing came."""
        self.meters.triggered(metrics.FAILED)
        self._add(name, Tally(refused=1, last_error=why[:ERROR_CHARS_MAX], last_error_at=self.clock.now()))

    def _add(self, name: str, tally: Tally) -> None:
        self._tallies[name] = added(self._tallies.get(name, Tally()), tally)

    async def run(self) -> None:
        while True:
            await self.clock.sleep(FLUSH_SECONDS)
            try:
                await self.flush()
            except NoetlError as error:  # what was added up is still here
                log.debug("counts of triggers wait: %s", error, extra={"action": "tally_waits"})

    async def flush(self) -> None:
        """Write what was added up since the last time."""
        for name in list(self._tallies):
            if await self.store.record(ROOM, name) is None:  # it was removed meanwhile
                self._tallies.pop(name)
                continue
            record = await self.store.record(TALLY_ROOM, name)
            kept = tally_of(record)
            more = self._tallies.pop(name)
            body = msgspec.json.encode(added(kept, more))
            version = record.version if record else 0
            is_kept = False
            try:
                is_kept = await self.store.put_record(Record(room=TALLY_ROOM, name=name, version=version, body=body))
            finally:
                if not is_kept:  # another server wrote, or nobody could: it is added the next time
                    self._tallies[name] = added(more, self._tallies.get(name, Tally()))
