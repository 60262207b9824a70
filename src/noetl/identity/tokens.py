"""Tokens: made, known by their hash, found, revoked (security 12, 17, 26).

A token is 256 random bits in text, with a beginning that scanners for leaked secrets recognise. Whoever makes one sees
it once; kept is its SHA-256, so a dump of the store holds nothing that opens anything. What is found is remembered for
a moment: a token that another server revoked may still be heard for `REMEMBERED_SECONDS`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec

from noetl.clock import Clock
from noetl.engine.events import timestamp
from noetl.errors import RequestError, Unauthenticated
from noetl.identity.audit import audit
from noetl.identity.roles import ROLES, WORKER, Identity
from noetl.stores.contract import Record, Records

ROOM = "token"
PREFIX = "noetl_"
TOKEN = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
ID_CHARS = 12  # of the hash: enough to name a token by, useless to open anything with
ID_CHARS_MIN = 4  # that a person may type, if no other token begins so
ID = re.compile(rf"[0-9a-f]{{{ID_CHARS_MIN},64}}")
CANDIDATES_MAX = 5
PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,254}")
POOL = re.compile(r"[A-Za-z0-9_-]{1,64}")
LABEL_CHARS_MAX = 100
LEEWAY_SECONDS = 60.0  # the clocks of two servers may differ
REMEMBERED_SECONDS = 30.0
REMEMBERED_MAX = 1024
TOKENS_MAX = 10_000
PAGE = 1000
KEPT_AFTER_END_SECONDS = 30 * 24 * 3600.0  # so that a list still says whose token it was
TRIES_MAX = 10
REFUSED = "this token is not known here, has expired or was revoked; `noetl token create` makes another"


class UnknownToken(RequestError):
    """No token, or more than one, has this id."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What a token is to be for."""

    role: str
    label: str = ""
    pool: str = ""  # of a worker: the only pool that it may join; "": any
    path_prefix: str = ""  # of others: playbooks at this path and below; "": all
    expires_at: float | None = None


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a token, under its hash."""

    role: str
    label: str
    pool: str = ""
    path_prefix: str = ""
    created_at: float
    created_by: str = ""
    expires_at: float | None = None
    revoked_at: float | None = None

    def stands(self, now: float) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at + LEEWAY_SECONDS)


class Issued(msgspec.Struct, frozen=True, kw_only=True):
    """A new token: the only time that its text is to be had."""

    token: str
    row: dict[str, Any]

    def __repr__(self) -> str:
        return f"Issued({self.row['id']})"


class Tokens:
    """The tokens of a store; see `Authority`. `new_secret` gives 32 random bytes."""

    def __init__(self, records: Records, clock: Clock, new_secret: Callable[[], bytes]) -> None:
        self.records = records
        self.clock = clock
        self.new_secret = new_secret
        self._remembered: OrderedDict[str, tuple[float, Kept]] = OrderedDict()

    def new_text(self) -> str:
        return PREFIX + text_of(self.new_secret())

    # --- making and ending -------------------------------------------------------------------------------------------

    async def create(self, grant: Grant, by: str) -> Issued:
        """Make a token; `by`: who asked for it."""
        check(grant, self.clock.now())
        if len(await self._all()) >= TOKENS_MAX:
            raise RequestError(f"there are {TOKENS_MAX} tokens already; revoke those that nobody needs")
        token, kept = self.new_text(), self._new(grant, by)
        await self._keep(token, kept)
        return Issued(token=token, row=shown(digest_of(token), kept, kept.created_at))

    async def adopt(self, token: str, grant: Grant, by: str) -> bool:
        """Keep a token that was made elsewhere, if it is not kept yet; one that was revoked stays so."""
        return await self._keep(token, self._new(grant, by))

    async def _keep(self, token: str, kept: Kept) -> bool:
        digest = digest_of(token)
        due_at = None if kept.expires_at is None else kept.expires_at + KEPT_AFTER_END_SECONDS
        record = Record(room=ROOM, name=digest, body=msgspec.json.encode(kept), due_at=due_at)
        is_new = await self.records.put_record(record)
        if is_new:
            audit("token_created", kept.created_by, token=digest[:ID_CHARS], label=kept.label, role=kept.role)
        return is_new

    def _new(self, grant: Grant, by: str) -> Kept:
        return Kept(
            role=grant.role,
            label=grant.label or grant.role,
            pool=grant.pool,
            path_prefix=grant.path_prefix.rstrip("/"),
            created_at=self.clock.now(),
            created_by=by,
            expires_at=grant.expires_at,
        )

    async def revoke(self, token_id: str, by: str) -> dict[str, Any]:
        """End a token, named by its id; once more is no fault. Sessions that began with it end too."""
        for _ in range(TRIES_MAX):
            record = await self._named(token_id)
            kept = msgspec.json.decode(record.body, type=Kept)
            now = self.clock.now()
            if kept.revoked_at is not None:
                return shown(record.name, kept, now)
            kept = msgspec.structs.replace(kept, revoked_at=now)
            due_at = now + KEPT_AFTER_END_SECONDS
            changed = msgspec.structs.replace(record, body=msgspec.json.encode(kept), due_at=due_at)
            if await self.records.put_record(changed):
                self._remembered.pop(record.name, None)
                audit("token_revoked", by, token=record.name[:ID_CHARS], label=kept.label, role=kept.role)
                return shown(record.name, kept, now)
        raise RequestError(f"token {token_id} is being changed by others; nothing was changed, try again")

    async def path_prefix_of(self, token_id: str) -> str:
        """Which playbooks a token is for."""
        return msgspec.json.decode((await self._named(token_id)).body, type=Kept).path_prefix

    async def _named(self, token_id: str) -> Record:
        """The one token whose hash begins so. The hash sorts right after its own beginning."""
        if not ID.fullmatch(token_id):
            raise RequestError(
                f"a token is named by the id that `noetl token list` shows, or its first {ID_CHARS_MIN} hexadecimal "
                "digits or more, never by itself"
            )
        if len(token_id) == len(digest_of("")):
            exact = await self.records.record(ROOM, token_id)
            found = [exact] if exact else []
        else:
            following = await self.records.records(ROOM, token_id, CANDIDATES_MAX)
            found = [record for record in following if record.name.startswith(token_id)]
        if len(found) != 1:
            several = ", ".join(record.name[:ID_CHARS] for record in found)
            why = f"several tokens begin so, {several}: type more digits" if found else "there is no token with this id"
            raise UnknownToken(f"{token_id}: {why}; `noetl token list` names those there are")
        return found[0]

    async def sweep(self) -> int:
        """Drop what ended long ago."""
        due = await self.records.due_records(ROOM, self.clock.now(), PAGE)
        for record in due:
            await self.records.remove_record(ROOM, record.name)
        return len(due)

    # --- knowing -----------------------------------------------------------------------------------------------------

    async def identify(self, token: str) -> Identity:
        """Who shows this token; raises Unauthenticated."""
        if not TOKEN.fullmatch(token):
            raise Unauthenticated(REFUSED)
        digest = digest_of(token)
        kept = await self.standing(digest)
        if kept is None:
            raise Unauthenticated(REFUSED)
        return Identity(
            name=kept.label,
            role=kept.role,
            pool=kept.pool,
            path_prefix=kept.path_prefix,
            token_id=digest[:ID_CHARS],
        )

    async def standing(self, digest: str) -> Kept | None:
        """The token of a hash, if it still opens anything."""
        kept = self._recalled(digest) or await self._looked_up(digest)
        return kept if kept is not None and kept.stands(self.clock.now()) else None

    def _recalled(self, digest: str) -> Kept | None:
        until, kept = self._remembered.get(digest, (0.0, None))
        return kept if self.clock.monotonic() < until else None

    async def _looked_up(self, digest: str) -> Kept | None:
        """From the store. What is not there is not remembered, or strangers could push out those that are."""
        self._remembered.pop(digest, None)
        record = await self.records.record(ROOM, digest)
        if record is None or not hmac.compare_digest(record.name, digest):
            return None
        kept = msgspec.json.decode(record.body, type=Kept)
        self._remembered[digest] = (self.clock.monotonic() + REMEMBERED_SECONDS, kept)
        while len(self._remembered) > REMEMBERED_MAX:
            self._remembered.popitem(last=False)
        return kept

    async def listed(self) -> list[dict[str, Any]]:
        """All tokens, the newest first, without anything that opens a door."""
        now = self.clock.now()
        found = [(record.name, msgspec.json.decode(record.body, type=Kept)) for record in await self._all()]
        found.sort(key=lambda one: (-one[1].created_at, one[0]))
        return [shown(name, kept, now) for name, kept in found]

    async def has_any(self, role: str) -> bool:
        """Whether a token of this role stands."""
        now = self.clock.now()
        kept = (msgspec.json.decode(record.body, type=Kept) for record in await self._all())
        return any(one.role == role and one.stands(now) for one in kept)

    async def _all(self) -> list[Record]:
        found: list[Record] = []
        while len(found) < TOKENS_MAX:
            page = await self.records.records(ROOM, found[-1].name if found else "", PAGE)
            found += page
            if len(page) < PAGE:
                break
        return found


def text_of(secret: bytes) -> str:
    return urlsafe_b64encode(secret).rstrip(b"=").decode("ascii")


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode("ascii", "replace")).hexdigest()


def check(grant: Grant, now: float) -> None:
    """Refuse a token that could not be used as it says. Raises RequestError."""
    if grant.role not in ROLES:
        raise RequestError(f'a token\'s role is one of {", ".join(ROLES)}; there is no "{grant.role}"')
    if len(grant.label) > LABEL_CHARS_MAX or not grant.label.isprintable():
        raise RequestError(f"a token's label has at most {LABEL_CHARS_MAX} printable characters")
    if grant.pool and (grant.role != WORKER or not POOL.fullmatch(grant.pool)):
        raise RequestError("a pool, a name of letters, digits, - and _, belongs to a token of role worker only")
    if grant.path_prefix and (grant.role == WORKER or not is_path(grant.path_prefix)):
        raise RequestError("a path prefix is the beginning of playbooks' paths, such as team/etl, and not for workers")
    if grant.expires_at is not None and grant.expires_at <= now:
        raise RequestError("a token must expire in the future")


def is_path(text: str) -> bool:
    return bool(PATH.fullmatch(text)) and ".." not in text.split("/")


def shown(digest: str, kept: Kept, now: float) -> dict[str, Any]:
    """What people may see of a token."""
    return {
        "id": digest[:ID_CHARS],
        "label": kept.label,
        "role": kept.role,
        "pool": kept.pool or None,
        "path_prefix": kept.path_prefix or None,
        "status": "active" if kept.stands(now) else "revoked" if kept.revoked_at is not None else "expired",
        "created_at": timestamp(kept.created_at),
        "created_by": kept.created_by or None,
        "expires_at": None if kept.expires_at is None else timestamp(kept.expires_at),
        "revoked_at": None if kept.revoked_at is None else timestamp(kept.revoked_at),
    }
