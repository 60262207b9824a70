"""A server for workers, without a store or an engine: a `WorkerService` that keeps its jobs in memory.

It follows the rules of leases and numbers as a server does, so that a transport or a worker can be tried against
something real, and it remembers what was said to it. Several servers in front of one office stand for several servers
on one database. `before_commit` and `after_commit` let a test make it fail where a database would.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from itertools import count
from typing import Any

import msgspec

from noetl.engine.commands import Key, Report, Work
from noetl.engine.events import LoopIterationDone, LoopIterationFailed, StepDone, StepFailed
from noetl.engine.state import Progress
from noetl.errors import Forbidden, Unauthenticated
from noetl.queues.contract import ACCEPTED, DUPLICATE, STALE, Member, PlaybookText, Profile, Room, Session, Told

TOKEN = "a-long-token-of-role-worker"  # noqa: S105 - of tests
FINAL = (StepDone, StepFailed, LoopIterationDone, LoopIterationFailed)


class Lease(msgspec.Struct, kw_only=True):
    work: Work
    pool: str
    worker: str
    last_report: int = 0


class Office:
    """See the module."""

    def __init__(self) -> None:
        self.tokens: dict[str, tuple[str, ...]] = {TOKEN: ("default", "big")}  # and the pools it is good for
        self.life_seconds = 3600.0
        self.wait_seconds_max = 60.0
        self.playbooks: dict[str, PlaybookText] = {}
        self.credentials: dict[str, dict[str, object]] = {}
        self.enrolled: list[Profile] = []
        self.reports: list[tuple[str, Report]] = []  # by whom; each once
        self.asked: Counter[str] = Counter()
        self.left: list[str] = []
        self.before_commit: list[Exception] = []  # raised one after the other, instead of recording a report
        self.after_commit: list[Exception] = []  # raised though it was recorded
        self.leases: dict[Key, Lease] = {}
        self.ended: dict[int, int] = {}  # lease → its last report
        self._sessions: dict[str, Member] = {}
        self._ready: dict[str, list[Work]] = {}
        self._bell = asyncio.Condition()
        self._numbers = count(1)

    async def add(self, *works: Work, pool: str = "default") -> None:
        self._ready.setdefault(pool, []).extend(works)
        async with self._bell:
            self._bell.notify_all()

    def forget_sessions(self) -> None:
        """As after a revocation, or a restart with another key."""
        self._sessions.clear()

    async def lose(self, worker: str) -> None:
        """As when its leases have run out: what it held, also by a poll it no longer waits for, is ready again."""
        for key in [key for key, held in self.leases.items() if held.worker == worker]:
            await self._take_back(key)

    # --- the service -------------------------------------------------------------------------------------------------

    async def enrol(self, token: str, profile: Profile) -> Session:
        self.asked["enrol"] += 1
        if token not in self.tokens:
            raise Unauthenticated("that token is none of ours, or has expired")
        if profile.pool not in self.tokens[token]:
            raise Forbidden(f"that token is not for pool {profile.pool}")
        session = f"session-{next(self._numbers)}-of-{profile.worker}"
        self._sessions[session] = Member(worker=profile.worker, pool=profile.pool, public_key=profile.public_key)
        self.enrolled.append(profile)
        return Session(token=session, expires_at=time.time() + self.life_seconds)

    async def member(self, session_token: str) -> Member:
        if session_token not in self._sessions:
            raise Unauthenticated("that session is none of ours, or has expired")
        return self._sessions[session_token]

    async def poll(self, member: Member, free: int, wait_seconds: float) -> list[Work]:
        self.asked["poll"] += 1
        try:
            async with asyncio.timeout(min(wait_seconds, self.wait_seconds_max)), self._bell:
                await self._bell.wait_for(lambda: self._ready.get(member.pool))
        except TimeoutError:
            return []
        return self._given(member, free)

    def _given(self, member: Member, free: int) -> list[Work]:
        ready = self._ready[member.pool]
        taken, self._ready[member.pool] = ready[:free], ready[free:]
        given = [msgspec.structs.replace(work, lease=work.lease or next(self._numbers)) for work in taken]
        for work in given:
            self.leases[work.key] = Lease(work=work, pool=member.pool, worker=member.worker)
        return given

    async def report(self, member: Member, report: Report) -> str:
        self.asked["report"] += 1
        if self.before_commit:
            raise self.before_commit.pop(0)
        word = self._judged(member, report)
        if word == ACCEPTED:
            self._record(member, report)
        if self.after_commit:
            raise self.after_commit.pop(0)
        return word

    async def report_all(self, member: Member, reports: list[Report]) -> list[str]:
        return [await self.report(member, report) for report in reports]

    async def exchange(self, member: Member, reports: list[Report], room: Room) -> Told:
        words = await self.report_all(member, reports)
        works = self._given(member, room.free) if self._ready.get(member.pool) else []
        return Told(words=words, works=works)

    def _judged(self, member: Member, report: Report) -> str:
        if report.n <= self.ended.get(report.lease, 0):
            return DUPLICATE
        held = self.leases.get(report.key)
        if held is None or held.work.lease != report.lease or held.worker != member.worker:
            return STALE
        if report.n <= held.last_report:
            return DUPLICATE
        return ACCEPTED if report.n == held.last_report + 1 else STALE

    def _record(self, member: Member, report: Report) -> None:
        self.reports.append((member.worker, report))
        self.leases[report.key].last_report = report.n
        if report.events and isinstance(report.events[-1], FINAL):
            del self.leases[report.key]
            self.ended[report.lease] = report.n

    async def heartbeat(self, member: Member, held: list[tuple[Key, int]]) -> list[Key]:
        self.asked["heartbeat"] += 1
        return [key for key, lease in held if not self._is_held(member, key, lease)]

    async def release(self, member: Member, held: list[tuple[Key, int]]) -> None:
        for key, lease in held:
            if self._is_held(member, key, lease):
                await self._take_back(key)

    async def _take_back(self, key: Key) -> None:
        held = self.leases.pop(key)
        await self.add(msgspec.structs.replace(held.work, lease=0), pool=held.pool)

    def _is_held(self, member: Member, key: Key, lease: int) -> bool:
        held = self.leases.get(key)
        return held is not None and (held.worker, held.work.lease) == (member.worker, lease)

    async def playbook(self, member: Member, sha: str) -> PlaybookText:
        self.asked["playbook"] += 1
        if sha not in self.playbooks:
            raise LookupError(f"there is no playbook {sha}")
        return self.playbooks[sha]

    async def credential(self, member: Member, key: Key, lease: int, name: str) -> dict[str, object]:
        self.asked["credential"] += 1
        if not self._is_held(member, key, lease):
            raise Forbidden("that job is not held by this worker")
        if name not in self.credentials:
            raise LookupError(f'the playbook declares no credential "{name}"')
        return self.credentials[name]

    async def leave(self, member: Member) -> None:
        self.left.append(member.worker)
        self._sessions = {token: one for token, one in self._sessions.items() if one.worker != member.worker}


def a_work(number: int = 1, *, index: int = -1, size: int = 0, **fields: Any) -> Work:
    """A job with that run number; `size`: so many characters travel with it."""
    progress = Progress(ctx={"text": "x" * size}, visits={"fetch": 2}, label="fetch")
    given = {"execution_id": 7, "run": number, "iter": index, "lease": 0, "step": "load", "sha": "5ha", **fields}
    return Work(progress=progress, **given)


def a_profile(worker: str = "host-1-abc", pool: str = "default") -> Profile:
    return Profile(worker=worker, pool=pool, slots=8, host="host", pid=1, version="0", kinds=("noop", "http"))
