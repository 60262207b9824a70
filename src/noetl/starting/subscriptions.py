"""Triggers of NATS subjects: each is listened to as long as its document says so, and each message starts once.

Every server listens; the queue group or consumer that they share gives each message to one of them. Every few seconds
the documents are read again: what is new is begun, what has changed or is gone is ended. What is in the way of one
trigger is written where people look for it, and does not disturb the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from noetl.clock import Clock
from noetl.dsl.trigger_documents import NatsSource, TriggerDocument
from noetl.errors import DiskFull, NoetlError, PayloadTooLarge, Unreachable
from noetl.queues.subjects import DONE, LATER, NEVER, Delivered, Listener
from noetl.starting.messages import BadMessage, Message, body_of, field_of
from noetl.starting.trigger_starts import TriggerStarts

READ_SECONDS = 5.0
PAUSE_SECONDS = 5.0  # before a source that broke is tried again
LISTENED_MAX = 1000
TRIES_MAX = 5  # of a message that nobody keeps, while the store does not answer
TRY_SECONDS = 1.0
END_SECONDS = 1.0  # that a listener has to end
PASSING = (Unreachable, DiskFull)
Listen = Callable[[NatsSource], Awaitable[Listener]]  # raises NoetlError
log = logging.getLogger("noetl.control")


class Subscriptions:
    """See above. `listener` makes the way to a source."""

    def __init__(self, starts: TriggerStarts, listener: Listen, clock: Clock) -> None:
        self.starts = starts
        self.listener = listener
        self.clock = clock
        self._listening: dict[str, tuple[TriggerDocument, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        try:
            while True:
                try:
                    await self.read()
                except NoetlError as error:
                    log.warning("triggers are not read: %s", error, extra={"action": "triggers_unread"})
                await self.clock.sleep(READ_SECONDS)
        finally:
            await self._end(list(self._listening))

    async def read(self) -> None:
        """Listen to what the documents say now, and to nothing else."""
        wanted = {
            one.name: one for one in await self.starts.triggers.documents() if one.nats is not None and not one.paused
        }
        await self._end([name for name, (document, _) in self._listening.items() if wanted.get(name) != document])
        for name, document in list(wanted.items())[:LISTENED_MAX]:
            if name not in self._listening:
                task = asyncio.get_running_loop().create_task(self._listen(document))
                self._listening[name] = (document, task)

    async def _end(self, names: list[str]) -> None:
        left = [self._listening.pop(name)[1] for name in names]
        while left:  # before Python 3.12 `wait_for` may take a cancellation in: then it is asked for again
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=END_SECONDS)
            left = [task for task in left if not task.done()]

    async def _listen(self, document: TriggerDocument) -> None:
        """Be there for a trigger, over broken connections."""
        source = document.nats
        said = ""
        while source is not None:
            try:
                listener = await self.listener(source)
                await listener.listen(lambda message: self._handle(document, message))
            except NoetlError as error:
                if str(error) != said:  # once, not with every attempt
                    self.starts.refused(document.name, str(error))
                said = str(error)
            except Exception:
                log.exception("listening failed", extra={"action": "listening_failed", "trigger": document.name})
            await self.clock.sleep(PAUSE_SECONDS)

    async def _handle(self, document: TriggerDocument, delivered: Delivered) -> str:
        """Start for a message; what its source is to do with it."""
        for _ in range(1 if delivered.is_kept else TRIES_MAX):
            try:
                await self._until_allowed(document)
                await self.starts.start(document, message_of(document, delivered))
            except PASSING:
                if not delivered.is_kept:
                    await self.clock.sleep(TRY_SECONDS)
                continue
            except NoetlError as error:
                self.starts.refused(document.name, str(error))
                return NEVER if isinstance(error, BadMessage | PayloadTooLarge) else LATER
            except Exception as error:
                log.exception("a start failed", extra={"action": "trigger_start_failed", "trigger": document.name})
                self.starts.refused(document.name, f"a fault of NoETL: {type(error).__name__}; its log has more")
                return LATER
            return DONE
        self.starts.refused(document.name, "the store did not answer while a message came")
        return LATER

    async def _until_allowed(self, document: TriggerDocument) -> None:
        """Wait for the trigger's rate. A stream that has to wait too long gives the message again: it starts once."""
        while seconds := self.starts.rates.wait_seconds(document.name, document.rate_per_minute):
            await self.clock.sleep(seconds)


def message_of(document: TriggerDocument, delivered: Delivered) -> Message:
    """Raises BadMessage."""
    source = document.nats
    body = body_of(delivered.data, source.format if source else "")
    return Message(body=body, subject=delivered.subject, id=id_of(document, delivered, body))


def id_of(document: TriggerDocument, delivered: Delivered, body: object) -> str | None:
    dedupe = document.dedupe
    if dedupe is not None and dedupe.field is not None:
        return f"field:{field_of(body, dedupe.field)}"
    if dedupe is not None and dedupe.header is not None:
        value = delivered.headers.get(dedupe.header)
        if not value:
            raise BadMessage(f"the message has no {dedupe.header}, by which it is told from others")
        return f"header:{value}"
    return None if delivered.id is None else f"message:{delivered.id}"
