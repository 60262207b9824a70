"""A request's bytes in, an answer's bytes out: decode, ask who says it, do it, say how it went. Never an exception.

A server's half of `wire.py`. What a request may do follows from its session alone: the pool is that of the session
whatever the message says, and a report or a credential counts for jobs that this worker holds, which the service
proves. A fault of ours is logged and answered with `retry`, so that a worker keeps what it has to say.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from noetl.buggify import buggify
from noetl.clock import Clock
from noetl.errors import Forbidden, OperatorError, RequestError, Unauthenticated
from noetl.messaging.sealed import Entropy, Reader, SealBroken, seal
from noetl.queues import wire
from noetl.queues.contract import POLL_SECONDS_MAX, Member, Room, Told, WorkerService
from noetl.queues.helpings import Helpings
from noetl.queues.kept_parts import KeptParts

REQUEST_BYTES_MAX = 64 * 1024
LARGE_REQUEST_BYTES_MAX = 1024 * 1024
LARGE = (wire.REPORT, wire.HEARTBEAT, wire.RELEASE)
ENVELOPE_BYTES_MAX = 1024  # of an answer around its body

log = logging.getLogger("noetl.queues")


class Refused(Exception):
    """A request that is not done; the message is for people."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


class Answers:
    """What one server says to workers."""

    def __init__(self, service: WorkerService, *, server_id: str, clock: Clock, entropy: Entropy = os.urandom) -> None:
        self.server_id = server_id
        self.is_draining = False
        self._service = service
        self._clock = clock
        self._entropy = entropy
        self._parts = KeptParts(clock.monotonic, entropy)
        self._helpings = Helpings()
        self._reader = Reader(entropy)  # of this start; tokens are sealed to it

    async def answer(self, verb: str, data: bytes, message_bytes_max: int) -> bytes:
        """What to send back, in no more bytes than that."""
        try:
            return await self._answer(verb, data, message_bytes_max)
        except Exception as fault:
            return self.refused(*refusal_of(verb, fault))

    async def _answer(self, verb: str, data: bytes, message_bytes_max: int) -> bytes:
        asked = decoded(verb, data)
        if verb == wire.GREET:
            return self._said(wire.Greeting(public_key=self._reader.public_key))
        if isinstance(asked, wire.Enrolling):
            return self._said(await self._enrolled(asked))
        member = await self._service.member(asked.session)
        done = await HANDLERS[verb](self, member, asked)
        body = wire.encode(done)
        if isinstance(asked, wire.Polling) and isinstance(done, list):
            self._helpings.served(member.pool, len(done), len(body))
        elif isinstance(done, Told):
            self._helpings.served(member.pool, len(done.works), len(body))
        is_small = len(body) + ENVELOPE_BYTES_MAX <= min(wire.ANSWER_BYTES_MAX, message_bytes_max)
        if is_small and not buggify("answer.in_parts"):
            return self._written(body=msgspec.Raw(body))
        part_bytes = min(wire.PART_BYTES, (message_bytes_max - ENVELOPE_BYTES_MAX) * 3 // 4)  # base64 makes 3 bytes 4
        kept_id, count = self._parts.keep(member.worker, body, part_bytes)
        parts = wire.Parts(id=kept_id, count=count, size_bytes=len(body))
        return self._written(parts=parts)

    def refused(self, status: str, message: str) -> bytes:
        return self._written(status=status, message=message)

    def _said(self, body: object) -> bytes:
        return self._written(body=wire.body_of(body))

    def _written(self, **fields: Any) -> bytes:
        return wire.encode(wire.Answer(server=self.server_id, now=self._clock.now(), **fields))

    async def _enrolled(self, asked: wire.Enrolling) -> wire.Enrolled:
        try:
            plain = self._reader.open(asked.sealed, wire.about_enrolling(self.server_id))
            application = wire.decode_application(plain)
        except SealBroken:  # sealed to an earlier start, or changed on its way
            raise Refused(wire.RETRY, "the application is not sealed to this start of the server") from None
        except wire.UNREADABLE:
            raise Refused(wire.REFUSED, "the application is none that is understood here") from None
        session = await self._service.enrol(application.token, application.profile)
        return wire.Enrolled(session=session.token, life_seconds=session.expires_at - self._clock.now())

    # --- one for each verb -------------------------------------------------------------------------------------------

    async def _poll(self, member: Member, asked: wire.Polling) -> object:
        if self.is_draining:
            raise Refused(wire.BUSY, "this server is about to end")
        free = self._helpings.size(member.pool, asked.free)
        return await self._service.poll(member, free, min(max(asked.wait_seconds, 0.0), POLL_SECONDS_MAX))

    async def _report(self, member: Member, asked: wire.Reporting) -> object:
        reports = [one.report() for one in asked.reports]
        free = 0 if self.is_draining else self._helpings.size(member.pool, asked.free)
        if not free:
            return Told(words=await self._service.report_all(member, reports))
        return await self._service.exchange(member, reports, Room(free=free, is_idle=asked.is_idle))

    async def _heartbeat(self, member: Member, asked: wire.Holding) -> object:
        return await self._service.heartbeat(member, asked.held)

    async def _release(self, member: Member, asked: wire.Holding) -> object:
        await self._service.release(member, asked.held)
        return None

    async def _playbook(self, member: Member, asked: wire.PlaybookWanted) -> object:
        return await self._service.playbook(member, asked.sha)

    async def _credential(self, member: Member, asked: wire.CredentialWanted) -> object:
        fields = await self._service.credential(member, asked.key, asked.lease, asked.name)
        try:
            about = wire.about_credential(member.worker, asked)
            return seal(wire.encode(fields), member.public_key, about, self._entropy)
        except SealBroken:
            raise Refused(wire.REFUSED, "this worker enrolled without a key to seal secrets to") from None

    async def _leave(self, member: Member, asked: wire.Asked) -> object:
        await self._service.leave(member)
        return None

    async def _part(self, member: Member, asked: wire.PartWanted) -> object:
        return wire.Given(data=self._parts.part(member.worker, asked.id, asked.index))


HANDLERS: dict[str, Callable[[Answers, Member, Any], Awaitable[object]]] = {
    wire.POLL: Answers._poll,
    wire.REPORT: Answers._report,
    wire.HEARTBEAT: Answers._heartbeat,
    wire.RELEASE: Answers._release,
    wire.PLAYBOOK: Answers._playbook,
    wire.CREDENTIAL: Answers._credential,
    wire.LEAVE: Answers._leave,
    wire.PART: Answers._part,
}


def decoded(verb: str, data: bytes) -> wire.Asked:
    """A request of the right shape, or Refused. What was wrong is said, what was sent is not."""
    bytes_max = LARGE_REQUEST_BYTES_MAX if verb in LARGE else REQUEST_BYTES_MAX
    if len(data) > bytes_max:
        raise Refused(wire.REFUSED, f"a {verb} may have {bytes_max} bytes, but has {len(data)}")
    try:
        asked: wire.Asked = wire.DECODERS[verb](data)
    except wire.UNREADABLE:
        check_version(data)
        raise Refused(wire.REFUSED, f"the bytes are no {verb} of version {wire.VERSION}") from None
    if asked.v != wire.VERSION:
        raise Refused(wire.OTHER_VERSION, version_message(asked.v))
    if isinstance(asked, wire.Reporting):
        check_reports(asked.reports)
    return asked


def check_reports(reports: list[wire.Reported]) -> None:
    if len(reports) > wire.REPORTS_MAX:
        raise Refused(wire.REFUSED, f"a message may have {wire.REPORTS_MAX} reports, but has {len(reports)}")
    if not all(one.is_of_one_job for one in reports):
        raise Refused(wire.REFUSED, "the events of a report must be of its own job and lease")


def check_version(data: bytes) -> None:
    """A request of another version may have another shape: then say that, and not what is wrong with it."""
    try:
        asked: wire.Asked = wire.DECODERS[wire.GREET](data)
    except wire.UNREADABLE:
        return
    if asked.v != wire.VERSION:
        raise Refused(wire.OTHER_VERSION, version_message(asked.v))


def version_message(version: int) -> str:
    return (
        f"this server speaks version {wire.VERSION} of the queue's messages, the worker version {version}; "
        "upgrade the older one"
    )


def refusal_of(verb: str, fault: Exception) -> tuple[str, str]:
    """Status and message."""
    if isinstance(fault, Refused):
        return fault.status, str(fault)
    if isinstance(fault, Unauthenticated):
        return wire.UNAUTHENTICATED, str(fault)
    if isinstance(fault, Forbidden):
        return wire.FORBIDDEN, str(fault)
    if isinstance(fault, RequestError):
        return wire.REFUSED, str(fault)
    if isinstance(fault, OperatorError):
        return wire.RETRY, str(fault)
    if isinstance(fault, LookupError) and verb in (wire.PLAYBOOK, wire.CREDENTIAL, wire.PART):
        return wire.MISSING, str(fault.args[0]) if fault.args else "there is none"
    log.error("request failed", exc_info=fault, extra={"action": "request_failed", "verb": verb})
    return wire.RETRY, f"the server failed on a {verb}; its log says why"
