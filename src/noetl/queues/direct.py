"""A worker's way to a server in its own process: function calls. `NatsTransport` has the same shape."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from noetl.clock import Clock
from noetl.engine.commands import Key, Report, Work
from noetl.errors import PASSING, Unauthenticated
from noetl.messaging.pauses import Pauses
from noetl.queues.contract import POLL_SECONDS_MAX, Member, PlaybookText, Profile, Taker, WorkerService
from noetl.queues.enrolment import Enrolment, Granted

Answer = TypeVar("Answer")
Revocation = Callable[[list[tuple[Key, int]]], None]


class DirectTransport:
    """See above."""

    def __init__(
        self,
        service: WorkerService,
        *,
        token: Callable[[], str],
        profile: Profile,
        clock: Clock,
        chance: Callable[[], float],
    ) -> None:
        self.profile = profile
        self._service = service
        self._token = token
        self._clock = clock
        self._chance = chance
        self._enrolment = Enrolment(self._apply, clock)
        self._idle = self._pauses()
        self._revoked: Revocation = lambda _held: None
        self.taker: Taker | None = None  # of jobs that come with the answers to reports

    async def poll(self, worker: str, free: int) -> list[Work]:
        try:
            works = await self._as_member(lambda member: self._service.poll(member, free, POLL_SECONDS_MAX))
        except PASSING:
            await self._idle.wait()
            return []
        self._idle.reset()
        return works

    async def report(self, report: Report) -> str:
        (word,) = await self.report_all([report])
        return word

    async def report_all(self, reports: list[Report]) -> list[str]:
        pauses = self._pauses()
        while True:
            try:
                return await self._exchanged(reports)
            except PASSING:
                await pauses.wait()

    async def _exchanged(self, reports: list[Report]) -> list[str]:
        if self.taker is None:
            return await self._as_member(lambda member: self._service.report_all(member, reports))
        room, works, sent_at = self.taker.room(), list[Work](), self._clock.monotonic()
        try:
            told = await self._as_member(lambda member: self._service.exchange(member, reports, room))
            works = told.works
            return told.words
        finally:
            self.taker.arrived(room, works, sent_at)

    async def heartbeat(self, worker: str, held: list[tuple[Key, int]]) -> list[Key]:
        return await self._as_member(lambda member: self._service.heartbeat(member, held))

    async def release(self, worker: str, held: list[tuple[Key, int]]) -> None:
        await self._as_member(lambda member: self._service.release(member, held))

    async def enrol(self) -> None:
        await self._enrolment.session()

    async def playbook(self, sha: str) -> PlaybookText:
        return await self._as_member(lambda member: self._service.playbook(member, sha))

    async def credential(self, key: Key, lease: int, name: str) -> dict[str, object]:
        return await self._as_member(lambda member: self._service.credential(member, key, lease, name))

    async def leave(self) -> None:
        session = self._enrolment.held
        if session:
            self._enrolment.refused(session)
            await self._service.leave(await self._service.member(session))

    async def on_revoked(self, revoked: Revocation) -> None:
        self._revoked = revoked

    def revoke(self, held: list[tuple[Key, int]]) -> None:
        """The server ended these jobs."""
        self._revoked(held)

    async def _as_member(self, do: Callable[[Member], Awaitable[Answer]]) -> Answer:
        session = await self._enrolment.session()
        try:
            member = await self._service.member(session)
        except Unauthenticated:
            self._enrolment.refused(session)
            member = await self._service.member(await self._enrolment.session())
        return await do(member)

    async def _apply(self) -> Granted:
        session = await self._service.enrol(self._token(), self.profile)
        return Granted(session=session.token, life_seconds=session.expires_at - self._clock.now())

    def _pauses(self) -> Pauses:
        return Pauses(self._clock, self._chance)
