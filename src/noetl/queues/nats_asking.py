"""One question to a server and its answer, over a link: whom to ask, what a refusal means, answers that come in parts.

A request goes in as bytes, the body of the answer comes out, or an error: Unreachable (nobody answered, or the server
cannot do it now: asking again may help), Unauthenticated, Forbidden, LookupError, RequestError. A question is asked
once here; who may ask again, and how often, is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from noetl.clock import AgreedClock, Clock
from noetl.errors import Forbidden, RequestError, Unauthenticated, Unreachable
from noetl.messaging.unanswered import NobodyThere, NotConnected, Silent
from noetl.queues import wire
from noetl.queues.homes import Acquaintance

if TYPE_CHECKING:  # the link needs the library of an extra
    from noetl.messaging.link import Link

PART_SECONDS_MAX = 5.0
PART_ATTEMPTS_MAX = 3
PARTS_MAX = 1024  # 512 MiB
NOT_UNDERSTOOD = "an answer of the server is none that is understood here"
Body = TypeVar("Body")


class Answered(msgspec.Struct, frozen=True):
    server: str
    body: bytes | msgspec.Raw

    def read(self, decode: Callable[[bytes | msgspec.Raw], Body]) -> Body:
        """Raises Unreachable: what cannot be understood is as good as no answer."""
        try:
            return decode(self.body)
        except wire.UNREADABLE:
            raise Unreachable(NOT_UNDERSTOOD) from None


class Asking:
    """Questions of one worker."""

    def __init__(self, link: Link, subjects: wire.Subjects, clock: Clock) -> None:
        self._link = link
        self._subjects = subjects
        self._clock = clock
        self._acquaintance = Acquaintance(clock.monotonic)

    async def ask(self, verb: str, request: wire.Asked, wait_seconds: float, server: str = "") -> Answered:
        """Ask one server, or whichever; of a large answer all parts are fetched."""
        answer = await self._once(verb, request, wait_seconds, server or self._acquaintance.preferred)
        if answer.parts is None:
            return Answered(answer.server, answer.body)
        return Answered(answer.server, await self._whole(answer, request.session))

    async def _once(self, verb: str, request: wire.Asked, wait_seconds: float, server: str) -> wire.Answer:
        subject = self._subjects.verb(server or wire.ANY, verb)
        sent_at = self._clock.monotonic()
        try:
            data = await self._link.request(subject, wire.encode(request), wait_seconds)
        except Silent:
            self._acquaintance.silent(server)
            raise Silent(f"no server answered a {verb} within {wait_seconds:g} s") from None
        except NobodyThere:
            self._acquaintance.lost(server)
            message = f"no server of the cluster {self._subjects.prefix} is there (NATS at {self._link.place})"
            raise NobodyThere(message) from None
        answer = decoded_answer(data)
        if isinstance(self._clock, AgreedClock) and answer.now:
            self._clock.hear(answer.now, self._clock.monotonic() - sent_at)
        if answer.status == wire.BUSY:
            self._acquaintance.lost(answer.server)
        else:
            self._acquaintance.answered(answer.server)
        check(answer)
        return answer

    async def _whole(self, answer: wire.Answer, session: str) -> bytes:
        """All parts, from the server that keeps them. Raises Unreachable: they may be gone, the question stands."""
        parts = answer.parts
        if parts is None or not 0 < parts.count <= PARTS_MAX:
            raise Unreachable(f"an answer may come in {PARTS_MAX} parts, and this one has more")
        found = [await self._part(answer.server, parts.id, index, session) for index in range(parts.count)]
        whole = b"".join(found)
        if len(whole) != parts.size_bytes:
            raise Unreachable("a large answer came incomplete")
        return whole

    async def _part(self, server: str, parts_id: str, index: int, session: str) -> bytes:
        wanted = wire.PartWanted(session=session, id=parts_id, index=index)
        for attempt in range(1, PART_ATTEMPTS_MAX + 1):
            try:
                answer = await self._once(wire.PART, wanted, PART_SECONDS_MAX, server)
                return Answered(server, answer.body).read(wire.decode_part).data
            except (Silent, NotConnected):
                if attempt == PART_ATTEMPTS_MAX:
                    raise
            except LookupError:
                break
        raise Unreachable("a large answer is not kept any more; it is asked for again")


def decoded_answer(data: bytes) -> wire.Answer:
    try:
        answer = wire.decode_answer(data)
    except wire.UNREADABLE:
        raise Unreachable(NOT_UNDERSTOOD) from None
    if answer.v != wire.VERSION:
        raise Unreachable(other_version(answer.v))
    return answer


def other_version(version: int) -> str:
    """While a cluster is upgraded there are servers of both, so asking again may reach another."""
    return f"a server speaks version {version} of the queue's messages, this worker version {wire.VERSION}"


def check(answer: wire.Answer) -> None:
    """Raise what the server said."""
    if answer.status == wire.OK:
        return
    if answer.status in (wire.RETRY, wire.BUSY, wire.OTHER_VERSION):
        raise Unreachable(answer.message)
    if answer.status == wire.UNAUTHENTICATED:
        raise Unauthenticated(answer.message)
    if answer.status == wire.FORBIDDEN:
        raise Forbidden(answer.message)
    if answer.status == wire.MISSING:
        raise LookupError(answer.message)
    raise RequestError(answer.message)
