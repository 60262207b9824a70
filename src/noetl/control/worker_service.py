"""What a server of a cluster does for workers, wherever they are (`queues.contract.WorkerService`).

Whoever asks has shown a session. What a worker may do follows from what it holds: it polls its own pool, and reports,
extends, gives back and resolves credentials only for jobs that are leased to it (security 12). Every credential that is
handed out, or refused, is noted in the audit log, by name.
"""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase

from noetl.control.handing_out import HandingOut
from noetl.control.live import Live
from noetl.control.pumps import Pumps
from noetl.engine.commands import Key, Report, Work
from noetl.engine.declarations import declared
from noetl.engine.values import Fault
from noetl.errors import Forbidden, UnknownPlaybook, Unreachable
from noetl.identity.audit import audit
from noetl.identity.sessions import Sessions
from noetl.keychain.contract import Keychain
from noetl.queues.contract import POLL_SECONDS_MAX, STALE, Member, PlaybookText, Profile, Room, Session, Told
from noetl.secret import Declared, revealed
from noetl.stores.shared import SharedStore

FREE_MAX = 10_000
POLLS_MAX = 16  # of one worker: it needs one, and those before may not have been told yet that it is gone
HELD_MAX = 20_000
NAME_CHARS_MAX = 80  # of a credential, where it is repeated to whoever asked


class ServerForWorkers:
    """See above. `allowed`: patterns of pool:name, the credentials that pools may be given."""

    def __init__(
        self,
        *,
        store: SharedStore,
        pumps: Pumps,
        handing: HandingOut,
        sessions: Sessions,
        keychain: Keychain,
        lease_seconds: float,
        allowed: tuple[str, ...] = ("*",),
    ) -> None:
        self.store = store
        self.pumps = pumps
        self.handing = handing
        self.sessions = sessions
        self.keychain = keychain
        self.lease_seconds = lease_seconds
        self.allowed = allowed
        self._polling: Counter[str] = Counter()  # polls that wait, by worker

    async def enrol(self, token: str, profile: Profile) -> Session:
        return await self.sessions.enrol(token, profile)

    async def member(self, session_token: str) -> Member:
        return await self.sessions.member(session_token)

    async def poll(self, member: Member, free: int, wait_seconds: float) -> list[Work]:
        if self._polling[member.worker] >= POLLS_MAX:
            raise Unreachable(f"a worker may have {POLLS_MAX} questions for work waiting, and this one has as many")
        self._polling[member.worker] += 1
        try:
            return await self.handing.poll(member, min(free, FREE_MAX), min(wait_seconds, POLL_SECONDS_MAX))
        finally:
            self._polling[member.worker] -= 1
            if not self._polling[member.worker]:
                del self._polling[member.worker]

    async def report(self, member: Member, report: Report) -> str:
        (word,) = await self.report_all(member, [report])
        return word

    async def report_all(self, member: Member, reports: list[Report]) -> list[str]:
        words = [STALE] * len(reports)
        is_own = await self.handing.are_of(member, [(one.key, one.lease) for one in reports])
        own = [place for place, found in enumerate(is_own) if found]
        found = await self.pumps.submit_all([reports[place] for place in own])
        for place, word in zip(own, found, strict=True):
            words[place] = word
        return words

    async def exchange(self, member: Member, reports: list[Report], room: Room) -> Told:
        room = Room(free=min(room.free, FREE_MAX), is_idle=room.is_idle)
        return await self.handing.along(member, reports, room, self.report_all(member, reports))

    async def heartbeat(self, member: Member, held: list[tuple[Key, int]]) -> list[Key]:
        await self.sessions.roster.seen(member, len(held))
        if not held:
            return []
        return await self.store.extend(member.worker, held[:HELD_MAX], self.lease_seconds)

    async def release(self, member: Member, held: list[tuple[Key, int]]) -> None:
        if await self.store.release(member.worker, held[:HELD_MAX]):
            self.handing.ring(member.pool)

    async def playbook(self, member: Member, sha: str) -> PlaybookText:
        entry = await self.store.entry_by_sha(sha)
        if entry is None:
            raise UnknownPlaybook(sha)
        return PlaybookText(data=entry.text, name=entry.name, is_legacy=entry.is_legacy, is_upstream=entry.is_upstream)

    async def credential(self, member: Member, key: Key, lease: int, name: str) -> dict[str, object]:
        about = {"credential": name[:NAME_CHARS_MAX], "execution_id": str(key[0]), "pool": member.pool}
        try:
            found = await self._entitled(member, key, lease, name)
        except Forbidden as refusal:
            audit("credential_refused", f"worker {member.worker}", **about, why=str(refusal))
            raise
        fields = revealed(await self.keychain.resolve(found))
        audit("credential_resolved", f"worker {member.worker}", **about)
        return dict(fields)

    async def _entitled(self, member: Member, key: Key, lease: int, name: str) -> Declared:
        """What is declared of a credential, if this worker may be given it; raises Forbidden."""
        if not await self.store.holds(member.worker, key, lease):
            raise Forbidden("this worker does not hold that job, so it gets none of its credentials")
        found = await self._declared(key[0], name)
        if not any(fnmatchcase(f"{member.pool}:{name}", pattern) for pattern in self.allowed):
            raise Forbidden(f'the setting keychain.pools_allow does not let pool "{member.pool}" have "{name}"')
        return found

    async def _declared(self, execution_id: int, name: str) -> Declared:
        found: list[Declared] = []
        faults: list[str] = []

        def look(live: Live) -> None:
            credential = live.loaded.playbook.credentials.get(name)
            try:
                found.extend([declared(credential, live.state.workload)] if credential is not None else [])
            except Fault as fault:
                faults.append(str(fault))

        await self.pumps.settled([execution_id], look)
        if faults:
            raise LookupError(faults[0])
        if not found:
            shown = name[:NAME_CHARS_MAX]
            raise Forbidden(f'the playbook of execution {execution_id} declares no credential "{shown}"')
        return found[0]

    async def leave(self, member: Member) -> None:
        await self.sessions.leave(member)
