"""Worker sessions: a long token for a short one, bound to one worker and its pool (security 12).

A token of role worker and a profile come in, a session of less than an hour goes out; every message of that worker
shows it. Renewing is enrolling again. A session ends when it expires, when its worker leaves, and with the token that
it began with. Kept is its hash, under the worker's name, so that all sessions of a worker are found by that name.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from noetl.clock import Clock
from noetl.errors import Forbidden, RequestError, Unauthenticated
from noetl.identity.audit import audit
from noetl.identity.roles import WORKER
from noetl.identity.roster import Roster
from noetl.identity.tokens import LEEWAY_SECONDS, REMEMBERED_SECONDS, Tokens, digest_of, text_of
from noetl.queues.contract import Member, Profile, Session
from noetl.stores.contract import Record, Records

ROOM = "session"
PREFIX = "noetl_session_"
SESSION = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}\.(?P<worker>[A-Za-z0-9._-]{{1,128}})")
NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")
POOL = re.compile(r"[A-Za-z0-9_-]{1,64}")
LIFE_SECONDS = 3600.0 - LEEWAY_SECONDS  # with the leeway, an hour
PER_WORKER_MAX = 4  # a worker renews at half of a session's life, so two overlap
REMEMBERED_MAX = 10_000
PAGE = 1000
KINDS_MAX = 1000
WORD_CHARS_MAX = 255
KEY_BYTES = 32  # of X25519
REFUSED = "this session is not known, has expired or was ended; enrol again"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a session."""

    pool: str
    parent: str  # hash of the token that it began with
    expires_at: float
    public_key: bytes = b""  # of the worker, as it enrolled


class Sessions:
    """The sessions of a store. `new_secret` gives 32 random bytes."""

    def __init__(self, records: Records, tokens: Tokens, clock: Clock, new_secret: Callable[[], bytes]) -> None:
        self.records = records
        self.tokens = tokens
        self.clock = clock
        self.new_secret = new_secret
        self.roster = Roster(records, clock)
        self._remembered: OrderedDict[str, tuple[float, Kept]] = OrderedDict()  # by record name

    async def enrol(self, token: str, profile: Profile) -> Session:
        """Take a worker in. Raises Unauthenticated, Forbidden, RequestError."""
        identity = await self.tokens.identify(token)
        if identity.role != WORKER:
            raise Forbidden(f"a worker enrols with a token of role {WORKER}, not {identity.role}")
        check(profile)
        if identity.pool and identity.pool != profile.pool:
            raise Forbidden(f'this token is for pool "{identity.pool}", so its worker cannot join "{profile.pool}"')
        parent = digest_of(token)
        await self.roster.join(profile, parent, self._is_standing)
        expires_at = self.clock.now() + LIFE_SECONDS
        kept = Kept(pool=profile.pool, parent=parent, expires_at=expires_at, public_key=profile.public_key)
        session = await self._begin(profile.worker, kept)
        audit("worker_enrolled", identity.name, token=identity.token_id, worker=profile.worker, pool=kept.pool)
        return session

    async def _begin(self, worker: str, kept: Kept) -> Session:
        token = f"{PREFIX}{text_of(self.new_secret())}.{worker}"
        name, body = record_name(worker, token), msgspec.json.encode(kept)
        record = Record(room=ROOM, name=name, body=body, due_at=kept.expires_at + LEEWAY_SECONDS)
        await self.records.put_record(record)
        self._remember(name, kept)
        await self._drop_surplus(worker)
        return Session(token=token, expires_at=kept.expires_at)

    async def _drop_surplus(self, worker: str) -> None:
        """A worker that enrols again and again keeps only its newest sessions."""
        ours = [(msgspec.json.decode(one.body, type=Kept).expires_at, one.name) for one in await self._of(worker)]
        for _, name in sorted(ours)[:-PER_WORKER_MAX]:
            await self._end(name)

    async def _of(self, worker: str) -> list[Record]:
        """All sessions of a worker. "/" stands in no worker's name, so no other's begin so."""
        beginning = f"{worker}/"
        following = await self.records.records(ROOM, beginning, PAGE)
        return [record for record in following if record.name.startswith(beginning)]

    async def member(self, session_token: str) -> Member:
        """Who shows this session; raises Unauthenticated."""
        match = SESSION.fullmatch(session_token)
        if match is None:
            raise Unauthenticated(REFUSED)
        name = record_name(match["worker"], session_token)
        kept = self._recalled(name) or await self._looked_up(name)
        if kept is None or self.clock.now() >= kept.expires_at + LEEWAY_SECONDS:
            raise Unauthenticated(REFUSED)
        if not await self._is_standing(kept.parent):
            raise Unauthenticated("the token that this session began with has expired or was revoked")
        return Member(worker=match["worker"], pool=kept.pool, public_key=kept.public_key)

    async def _is_standing(self, parent: str) -> bool:
        return await self.tokens.standing(parent) is not None

    def _recalled(self, name: str) -> Kept | None:
        until, kept = self._remembered.get(name, (0.0, None))
        return kept if self.clock.monotonic() < until else None

    async def _looked_up(self, name: str) -> Kept | None:
        self._remembered.pop(name, None)
        record = await self.records.record(ROOM, name)
        if record is None:
            return None
        kept = msgspec.json.decode(record.body, type=Kept)
        self._remember(name, kept)
        return kept

    def _remember(self, name: str, kept: Kept) -> None:
        self._remembered[name] = (self.clock.monotonic() + REMEMBERED_SECONDS, kept)
        while len(self._remembered) > REMEMBERED_MAX:
            self._remembered.popitem(last=False)

    async def leave(self, member: Member) -> None:
        """A worker ends: nothing of it is left to be used."""
        for record in await self._of(member.worker):
            await self._end(record.name)
        await self.roster.leave(member.worker)

    async def _end(self, name: str) -> None:
        self._remembered.pop(name, None)
        await self.records.remove_record(ROOM, name)

    async def sweep(self) -> int:
        """Drop sessions that have expired, workers that nobody has heard of, and tokens that ended long ago."""
        expired = await self.records.due_records(ROOM, self.clock.now(), PAGE)
        for record in expired:
            await self._end(record.name)
        return len(expired) + await self.roster.sweep() + await self.tokens.sweep()


def record_name(worker: str, session_token: str) -> str:
    return f"{worker}/{digest_of(session_token)}"


def check(profile: Profile) -> None:
    """Refuse a profile that could not be told apart, or that nobody could read. Raises RequestError."""
    if not NAME.fullmatch(profile.worker):
        raise RequestError("a worker's name has 1 to 128 letters, digits, dots, hyphens and underscores")
    if not POOL.fullmatch(profile.pool):
        raise RequestError("a pool's name has 1 to 64 letters, digits, hyphens and underscores")
    if len(profile.kinds) > KINDS_MAX or any(
        len(word) > WORD_CHARS_MAX for word in (profile.host, profile.version, *profile.kinds)
    ):
        raise RequestError("a worker says more of itself than anybody could read")
    if len(profile.public_key) not in (0, KEY_BYTES):
        raise RequestError(f"a worker's key has {KEY_BYTES} bytes")
