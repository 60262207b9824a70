"""A worker's way to its servers, over NATS: `Transport`, and what else a worker asks (protocol §6, §7).

Requests and answers only; nothing correct depends on a message being kept, ordered or single. A report is sent under
the same number until it is answered, to the server that gave the job and then to any. A poll that nobody answers is an
empty one, after a pause. Heartbeats are tried twice and then fail, because their time is what matters. Secrets come
sealed to the key that the worker enrolled with, and its own token goes sealed to the server that takes it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.clock import Clock
from noetl.config import LEASE_SECONDS
from noetl.engine.commands import Key, Report, Work
from noetl.errors import NoetlError, Unauthenticated, Unreachable
from noetl.messaging.pauses import Pauses
from noetl.messaging.sealed import Entropy, Reader, SealBroken, seal
from noetl.queues import wire
from noetl.queues.contract import NO_ROOM, POLL_SECONDS_MAX, PlaybookText, Profile, Taker
from noetl.queues.enrolment import Enrolment, Granted
from noetl.queues.homes import Homes
from noetl.queues.nats_asking import NOT_UNDERSTOOD, Answered, Asking
from noetl.queues.nats_reports import Reports

if TYPE_CHECKING:  # the link needs the library of an extra
    from noetl.messaging.link import Letter, Link, Subscription

ANSWER_SECONDS_MAX = 5.0
PATIENCE_OF_LEASE = 6
POLL_GRACE_SECONDS = 1.0  # beyond the wait: then the server is given up
HEARTBEAT_ATTEMPTS = 2
ATTEMPTS_MAX = 8  # of what a job cannot go on without: its playbook, a credential
NONCE_BYTES = 16
Revocation = Callable[[list[tuple[Key, int]]], None]

log = logging.getLogger("noetl.queues")


class NatsTransport:
    """See above. `token` gives the worker's long token; it is asked anew for every enrolment, as files change."""

    def __init__(
        self,
        link: Link,
        *,
        prefix: str,
        token: Callable[[], str],
        profile: Profile,
        clock: Clock,
        chance: Callable[[], float],
        lease_seconds: float = LEASE_SECONDS,
        entropy: Entropy = os.urandom,
    ) -> None:
        self._entropy = entropy
        self._reader = Reader(entropy)  # its public half goes with the token, sealed; secrets come sealed to it
        self.profile = msgspec.structs.replace(profile, public_key=self._reader.public_key)
        # A silent server costs a heartbeat both its attempts, and the lease must still stand then.
        self._patience_seconds = min(ANSWER_SECONDS_MAX, lease_seconds / PATIENCE_OF_LEASE)
        self._link = link
        self._subjects = wire.Subjects(prefix)
        self._token = token
        self._clock = clock
        self._chance = chance
        self._asking = Asking(link, self._subjects, clock)
        self._enrolment = Enrolment(self._apply, clock)
        self._homes = Homes()
        self._reports = Reports(
            self._reported, home=self._homes.of, message_bytes_max=lambda: link.message_bytes_max, pauses=self._pauses
        )
        self._reports.on_outage = self._note_outage
        self._idle = self._pauses()
        self._outage = ""
        self._revocations: Subscription | None = None
        self.taker: Taker | None = None  # of jobs that come with the answers to reports

    # --- the transport -----------------------------------------------------------------------------------------------

    async def poll(self, worker: str, free: int) -> list[Work]:
        """Up to `free` jobs of this worker's pool. Raises Unauthenticated, Forbidden: its token is not taken."""
        wait_seconds = POLL_SECONDS_MAX + POLL_GRACE_SECONDS

        def polling(session: str) -> wire.Asked:
            return wire.Polling(session=session, free=free, wait_seconds=POLL_SECONDS_MAX)

        try:
            answer = await self._ask(wire.POLL, polling, wait_seconds)
            works = answer.read(wire.decode_works)
        except Unreachable as outage:
            self._note_outage(str(outage))
            await self._idle.wait()
            return []
        self._note_outage("")
        self._idle.reset()
        self._homes.note((work.lease for work in works), answer.server)
        return works

    async def report(self, report: Report) -> str:
        """Until it is answered. Raises PayloadTooLarge; Unauthenticated, Forbidden: nobody will ever take it."""
        (word,) = await self.report_all([report])
        return word

    async def report_all(self, reports: list[Report]) -> list[str]:
        """The same of several; and what else is to be reported at the moment goes with them."""
        return await self._reports.deliver(reports)

    async def _reported(self, server: str, reports: list[msgspec.Raw]) -> list[str]:
        room, works, sent_at = self.taker.room() if self.taker else NO_ROOM, list[Work](), self._clock.monotonic()

        def reporting(session: str) -> wire.Asked:
            return wire.Telling(session=session, reports=reports, free=room.free, is_idle=room.is_idle)

        try:
            answer = await self._ask(wire.REPORT, reporting, self._patience_seconds, server)
            told = answer.read(wire.decode_told)
            if len(told.words) != len(reports):
                raise Unreachable(NOT_UNDERSTOOD)
            works = told.works
            self._homes.note((work.lease for work in works), answer.server)
            return told.words
        finally:
            if self.taker is not None:
                self.taker.arrived(room, works, sent_at)

    async def heartbeat(self, worker: str, held: list[tuple[Key, int]]) -> list[Key]:
        """Raises Unreachable: nothing is known of whether it was heard."""
        self._homes.keep(lease for _, lease in held)
        answers = [await self._hold(wire.HEARTBEAT, part) for part in chunks(held)]
        return [key for answer in answers for key in answer.read(wire.decode_keys)]

    async def release(self, worker: str, held: list[tuple[Key, int]]) -> None:
        """Raises Unreachable: then the leases run out by themselves."""
        for part in chunks(held):
            await self._hold(wire.RELEASE, part)

    async def _hold(self, verb: str, held: list[tuple[Key, int]]) -> Answered:
        return await self._repeatedly(
            verb, lambda session: wire.Holding(session=session, held=held), HEARTBEAT_ATTEMPTS
        )

    def keep(self, held: list[tuple[Key, int]]) -> None:
        """What is held, for a transport whose heartbeats go another way: where the rest came from is forgotten."""
        self._homes.keep(lease for _, lease in held)

    # --- what else a worker asks -------------------------------------------------------------------------------------

    async def enrol(self) -> None:
        """Show who one is, before the first question does. Raises Unreachable, Unauthenticated, Forbidden."""
        await self._enrolment.session()

    async def playbook(self, sha: str) -> PlaybookText:
        """Raises LookupError, Unreachable."""
        answer = await self._repeatedly(
            wire.PLAYBOOK, lambda session: wire.PlaybookWanted(session=session, sha=sha), ATTEMPTS_MAX
        )
        return answer.read(wire.decode_text)

    async def credential(self, key: Key, lease: int, name: str) -> dict[str, Any]:
        """The plain fields of a credential, for a job that is held. Raises LookupError, Forbidden, Unreachable."""
        nonce = self._entropy(NONCE_BYTES)

        def wanted(session: str) -> wire.CredentialWanted:
            return wire.CredentialWanted(session=session, key=key, lease=lease, name=name, nonce=nonce)

        answer = await self._repeatedly(wire.CREDENTIAL, wanted, ATTEMPTS_MAX)
        about = wire.about_credential(self.profile.worker, wanted(""))
        try:
            return wire.decode_fields(self._reader.open(answer.read(wire.decode_sealed), about))
        except SealBroken:
            raise Unreachable(f'the answer with credential "{name}" is not sealed for this question') from None

    async def leave(self) -> None:
        """Say good-bye, if anybody hears it, and listen no more."""
        if self._revocations is not None:
            await self._link.unsubscribe(self._revocations)
            self._revocations = None
        session = self._enrolment.held
        if not session:
            return
        try:
            await self._asking.ask(wire.LEAVE, wire.Asked(session=session), ANSWER_SECONDS_MAX)
        except (NoetlError, LookupError) as fault:
            log.info("left without an answer: %s", fault, extra={"action": "worker_left"})
        self._enrolment.refused(session)

    async def on_revoked(self, revoked: Revocation) -> None:
        """Be told at once of jobs that the server ended; it may be lost, then a heartbeat tells."""

        def heard(letter: Letter) -> None:
            try:
                revoked(wire.decode_held(letter.data))
            except wire.UNREADABLE:
                log.warning("a revocation is not understood", extra={"action": "revocation_ignored"})

        self._revocations = await self._link.subscribe(self._subjects.revoked(self.profile.worker), heard)

    # --- asking ------------------------------------------------------------------------------------------------------

    async def _ask(
        self, verb: str, request: Callable[[str], wire.Asked], wait_seconds: float, server: str = ""
    ) -> Answered:
        """Ask once under the session there is; if that is refused, once more under a new one."""
        session = await self._enrolment.session()
        try:
            return await self._asking.ask(verb, request(session), wait_seconds, server)
        except Unauthenticated:
            self._enrolment.refused(session)
        return await self._asking.ask(verb, request(await self._enrolment.session()), wait_seconds, server)

    async def _repeatedly(self, verb: str, request: Callable[[str], wire.Asked], attempts: int) -> Answered:
        pauses = self._pauses()
        for _ in range(attempts - 1):
            try:
                return await self._ask(verb, request, self._patience_seconds)
            except Unreachable:
                await pauses.wait()
        return await self._ask(verb, request, self._patience_seconds)

    async def _apply(self) -> Granted:
        """Two questions: the first gives the key of one server, to which the token is sealed in the second."""
        greeted = await self._asking.ask(wire.GREET, wire.Asked(), ANSWER_SECONDS_MAX)
        application = wire.encode(wire.Application(token=self._token(), profile=self.profile))
        reader_key = greeted.read(wire.decode_greeting).public_key
        sealed = seal(application, reader_key, wire.about_enrolling(greeted.server), self._entropy)
        answer = await self._asking.ask(
            wire.ENROL, wire.Enrolling(sealed=sealed), ANSWER_SECONDS_MAX, server=greeted.server
        )
        enrolled = answer.read(wire.decode_enrolled)
        return Granted(session=enrolled.session, life_seconds=enrolled.life_seconds)

    def _pauses(self) -> Pauses:
        return Pauses(self._clock, self._chance)

    def _note_outage(self, why: str) -> None:
        """Said once when it begins and once when it is over, however often is asked meanwhile."""
        if why and not self._outage:
            log.warning("no server answers: %s", why, extra={"action": "servers_unreachable"})
        elif self._outage and not why:
            log.info("a server answers again", extra={"action": "servers_reachable"})
        self._outage = why


def chunks(held: list[tuple[Key, int]]) -> list[list[tuple[Key, int]]]:
    """At least one, so that a worker without jobs is heard, too."""
    return [held[start : start + wire.HELD_MAX] for start in range(0, len(held), wire.HELD_MAX)] or [[]]
