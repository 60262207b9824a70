"""Every committed event to a JetStream stream, for whoever wants to follow along (`export.events`).

    stream   <prefix>-events, made if it is not there; an operator's own is left as it is
    subject  <prefix>.events.<execution>
    id       the event's, so that the stream drops what is sent twice within its window

The log is in the database, and the stream is a copy: a cursor beside each log says how far it was sent, and moves when
the stream has confirmed. One server exports at a time, whose turn it is (`is_mine`); should two do it for a moment, the
ids make one of it. Nothing waits for the export, and nothing is lost when the stream is away.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from noetl.clock import Clock
from noetl.engine.events import Event
from noetl.errors import NoetlError, PayloadTooLarge, Unreachable
from noetl.ids import event_id
from noetl.messaging.pauses import Pauses
from noetl.projections.envelopes import envelope
from noetl.queues.wire import Subjects

if TYPE_CHECKING:  # the link needs the library of an extra
    from noetl.messaging.link import Link

EXECUTIONS_AT_ONCE_MAX = 50
EVENTS_AT_ONCE_MAX = 200  # of one execution
LOOK_SECONDS = 0.5
ANSWER_SECONDS_MAX = 10.0
KEPT_SECONDS = 7 * 24 * 3600  # by the stream, if we make it
KEPT_BYTES_MAX = 1024**3
WINDOW_SECONDS = 120
REPLICAS = (3, 1)  # the second where the first cannot be had
PAUSE_SECONDS_FIRST, PAUSE_SECONDS_MAX = 0.5, 30.0
MESSAGE_ID = "Nats-Msg-Id"
NAME_IN_USE = 10058
NANOSECONDS = 1_000_000_000

log = logging.getLogger("noetl.queues")


class ExportedLog(Protocol):
    """The store, as far as the export needs it."""

    async def prepare_export(self) -> None: ...

    async def behind(self, limit: int) -> list[tuple[int, int]]: ...

    async def advance(self, cursors: list[tuple[int, int]]) -> None: ...

    async def events(self, execution_id: int, after: int = 0, limit: int = 1000) -> list[tuple[int, Event]]: ...


class StreamRefused(NoetlError):
    """JetStream does not do it, and says why."""


class EventExport:
    """See above. `is_mine`: whether it is this server's turn; `exported` is told how many, and when the newest was."""

    def __init__(
        self,
        link: Link,
        store: ExportedLog,
        *,
        prefix: str,
        clock: Clock,
        chance: Callable[[], float],
        is_mine: Callable[[], Awaitable[bool]],
        exported: Callable[[int, float], None] = lambda _events, _newest_at: None,
    ) -> None:
        self._link = link
        self._store = store
        self._subjects = Subjects(prefix)
        self._clock = clock
        self._is_mine = is_mine
        self._exported = exported
        self._pauses = Pauses(clock, chance, first_seconds=PAUSE_SECONDS_FIRST, most_seconds=PAUSE_SECONDS_MAX)
        self._is_prepared = False
        self._why = ""

    @property
    def stream(self) -> str:
        return f"{self._subjects.prefix.replace('.', '_')}-events"

    async def run(self) -> None:
        """Export until cancelled."""
        while True:
            try:
                count = await self.export() if await self._is_mine() else 0
            except Exception as fault:  # nothing waits for the export, so it ends nothing either: it tries again
                self._tell(fault)
                await self._pauses.wait()
                continue
            self._why = ""
            self._pauses.reset()
            if not count:
                await self._clock.sleep(LOOK_SECONDS)

    async def export(self) -> int:
        """Send what is behind, as much as goes in one round; how many events. Raises Unreachable, StreamRefused."""
        if not self._is_prepared:
            await self._store.prepare_export()
            await self._make_stream()
            self._is_prepared = True
        behind = await self._store.behind(EXECUTIONS_AT_ONCE_MAX)
        sent = await asyncio.gather(*(self._send_log(*one) for one in behind), return_exceptions=True)
        cursors = [one for one in sent if not isinstance(one, BaseException)]
        if cursors:
            await self._store.advance([(execution_id, seq) for execution_id, seq, _, _ in cursors])
            self._exported(sum(one[2] for one in cursors), max(one[3] for one in cursors))
        for fault in sent:
            if isinstance(fault, BaseException):
                raise fault
        return sum(one[2] for one in cursors)

    async def _send_log(self, execution_id: int, after: int) -> tuple[int, int, int, float]:
        """Execution, last seq, how many, and when the newest happened."""
        page = await self._store.events(execution_id, after, EVENTS_AT_ONCE_MAX)
        await asyncio.gather(*(self._send(execution_id, seq, event) for seq, event in page))
        return execution_id, page[-1][0] if page else after, len(page), page[-1][1].ts if page else 0.0

    async def _send(self, execution_id: int, seq: int, event: Event) -> None:
        shown = envelope(execution_id, seq, event, {})
        subject = f"{self._subjects.events}.{execution_id}"
        headers = {MESSAGE_ID: event_id(execution_id, seq)}
        try:
            answer = await self._link.request(subject, msgspec.json.encode(shown), ANSWER_SECONDS_MAX, headers)
        except PayloadTooLarge:  # it would hold up all that follow
            small = msgspec.json.encode({**shown, "payload": None, "is_payload_too_large": True})
            answer = await self._link.request(subject, small, ANSWER_SECONDS_MAX, headers)
        refused(answer)

    # --- the stream --------------------------------------------------------------------------------------------------

    async def _make_stream(self) -> None:
        why = None
        for replicas in REPLICAS:
            answer = await self._api("CREATE", self._configuration(replicas))
            fault = answer.get("error")
            if fault is None or fault.get("err_code") == NAME_IN_USE:  # the latter: it is there, as somebody wants it
                return
            why = fault.get("description")
        raise StreamRefused(f"JetStream does not make the stream {self.stream}: {why}")

    def _configuration(self, replicas: int) -> dict[str, Any]:
        return {
            "name": self.stream,
            "subjects": [f"{self._subjects.events}.>"],
            "retention": "limits",
            "storage": "file",
            "discard": "old",
            "num_replicas": replicas,
            "max_age": KEPT_SECONDS * NANOSECONDS,
            "max_bytes": KEPT_BYTES_MAX,
            "duplicate_window": WINDOW_SECONDS * NANOSECONDS,
        }

    async def _api(self, verb: str, request: dict[str, Any]) -> dict[str, Any]:
        subject = f"$JS.API.STREAM.{verb}.{self.stream}"
        answer = await self._link.request(subject, msgspec.json.encode(request), ANSWER_SECONDS_MAX)
        found: dict[str, Any] = msgspec.json.decode(answer, type=dict[str, Any])
        return found

    def _tell(self, fault: Exception) -> None:
        """Once for each reason; with its place in the code if it is a fault of ours."""
        why = f"{type(fault).__name__}: {fault}"
        if why != self._why:
            trace = None if isinstance(fault, NoetlError) else fault
            log.warning("events are not exported: %s", fault, exc_info=trace, extra={"action": "export_held_up"})
        self._why = why


def refused(answer: bytes) -> None:
    """Raise what JetStream says instead of a confirmation."""
    confirmation = msgspec.json.decode(answer, type=dict[str, Any])
    fault = confirmation.get("error")
    if fault is not None:
        raise StreamRefused(f"the stream takes no event: {fault.get('description')}")
    if not confirmation.get("stream"):
        raise Unreachable("what confirms an event is none that is understood here")
