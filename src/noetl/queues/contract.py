"""Work on its way: which jobs are ready, who holds which under what lease, and how workers and server speak.

A job is leased under a number that is never used again; only the holder of the current number is heard (RO-03). The
queue is a projection of the log: it can be thrown away and built again from the states (`engine.effects.pending`).
The suite in `noetl.testing.queue_suite` holds for every implementation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import Protocol

import msgspec

from noetl.engine.commands import Change, Key, Report, Work
from noetl.errors import Forbidden, Unauthenticated, Unreachable

HEARTBEAT_SECONDS = 10.0
DELIVERIES_MAX = 5
POLL_SECONDS_MAX = 2.0  # a poll is answered by then, with work or without
ACCEPTED, DUPLICATE, STALE = "ok", "dup", "stale"
UNANSWERED = (Unreachable, Unauthenticated, Forbidden)  # ask again: a token that is refused now may be put right


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A job and the lease it was handed out under."""

    key: Key
    lease: int
    deliveries: int = 1


class Queue(Protocol):
    """The jobs. Times are of one clock, in seconds; the caller says what it is now."""

    def change(self, changes: Iterable[Change], now: float) -> None:
        """Take in what follows from committed events: jobs added, gone, parked, ready again."""
        ...

    def claim(self, worker: str, free: int, now: float, pool: str | None = None) -> list[Claim]:
        """Lease up to `free` ready jobs, lower priority numbers first, then older ones; no pool: of all pools."""
        ...

    def judge(self, report: Report) -> str:
        """Whether a report would count: ACCEPTED, DUPLICATE (it did already) or STALE. Changes nothing."""
        ...

    def accept(self, report: Report, now: float) -> None:
        """A report was committed: number it and extend its lease."""
        ...

    def extend(self, worker: str, held: Iterable[tuple[Key, int]], now: float) -> list[Key]:
        """A heartbeat: extend exactly these leases; gives those that no longer stand."""
        ...

    def expire(self, now: float) -> list[Claim]:
        """Jobs whose lease ran out are ready again, lease left as it is; gives those lost DELIVERIES_MAX times."""
        ...

    def next_at(self) -> float | None:
        """When the next parked job is due."""
        ...

    @property
    def is_idle(self) -> bool:
        """Nothing is ready, leased or due at a known time: only a child or a signal can bring work."""
        ...


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker could take along when it reports: so many jobs. `is_idle`: it has nothing else to do then."""

    free: int = 0
    is_idle: bool = False


NO_ROOM = Room()


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to reports: a word for each, and jobs to take along."""

    words: list[str]
    works: list[Work] = []


class Taker(Protocol):
    """A worker to whom jobs may come with the answers to its reports: a chain of steps needs no poll for each."""

    def room(self) -> Room:
        """What may come with the answer to the report that goes now; nobody else is promised that room."""
        ...

    def arrived(self, room: Room, works: list[Work], sent_at: float) -> None:
        """What came of it, and when it was asked for; the room is free again, but for these."""
        ...


class Bringing(Protocol):
    """A transport that brings jobs along."""

    taker: Taker | None


class Transport(Protocol):
    """How a worker reaches its server: function calls, or messages."""

    async def poll(self, worker: str, free: int) -> list[Work]:
        """Wait for work; an empty list: there is none for now."""
        ...

    async def report(self, report: Report) -> str:
        """Say what became of a job; the word for it: ACCEPTED, DUPLICATE or STALE. Raises what is UNANSWERED."""
        ...

    def report_all(self, reports: list[Report]) -> Awaitable[list[str]]:
        """The same of several jobs, together. One who has the words without a task of his own gives a future."""
        ...

    async def heartbeat(self, worker: str, held: list[tuple[Key, int]]) -> list[Key]:
        """Say what one works on; gives what one should drop."""
        ...

    async def release(self, worker: str, held: list[tuple[Key, int]]) -> None:
        """Give these jobs back, unfinished: another worker may go on with them at once."""
        ...


class PlaybookText(msgspec.Struct, frozen=True, kw_only=True):
    """A playbook as a worker receives it: it was checked when it was registered, and is parsed where it runs."""

    data: bytes
    name: str
    is_legacy: bool = False
    is_upstream: bool = False


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that has shown who it is: what it may poll, report and resolve follows from this (security 12)."""

    worker: str
    pool: str
    public_key: bytes = b""  # what is secret is sealed to it on its way; b"": there is no way out of this process


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker shows with every message, until it expires."""

    token: str
    expires_at: float  # seconds since 1970


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says of itself when it enrols."""

    worker: str  # unique: host, process and a random word
    pool: str
    slots: int
    host: str
    pid: int
    version: str
    kinds: tuple[str, ...] = ()  # those it can run
    public_key: bytes = b""  # of its session: whoever shows that session without the other half learns no secret


class WorkerService(Protocol):
    """What a server does for workers, wherever they are. Raises Unauthenticated, Forbidden, Unreachable."""

    async def enrol(self, token: str, profile: Profile) -> Session:
        """Take a worker in: a long token of role worker for a short one that is bound to this worker and its pool."""
        ...

    async def member(self, session_token: str) -> Member:
        """Who shows this session; raises Unauthenticated."""
        ...

    async def poll(self, member: Member, free: int, wait_seconds: float) -> list[Work]:
        """Wait so long for up to `free` jobs; an empty list: there are none for now."""
        ...

    async def report(self, member: Member, report: Report) -> str:
        """ACCEPTED, DUPLICATE or STALE, once it is committed."""
        ...

    async def report_all(self, member: Member, reports: list[Report]) -> list[str]:
        """The same of several, each judged by itself. Raises if any could not be committed: all may be sent again."""
        ...

    async def exchange(self, member: Member, reports: list[Report], room: Room) -> Told:
        """The same, and with the words some jobs of the worker's pool, if there are any and it has room for them."""
        ...

    async def heartbeat(self, member: Member, held: list[tuple[Key, int]]) -> list[Key]:
        """Extend exactly these leases; gives those that no longer stand."""
        ...

    async def release(self, member: Member, held: list[tuple[Key, int]]) -> None:
        """A worker that ends gives these back: those it still holds are ready at once. That is no loss, so it does not
        count as a delivery; the lease stays as it is, and a report under it counts until someone else claims the job.
        """
        ...

    async def playbook(self, member: Member, sha: str) -> PlaybookText: ...

    async def credential(self, member: Member, key: Key, lease: int, name: str) -> dict[str, object]:
        """The plain fields of a credential that the job's playbook declares, if this worker holds the job.

        Raises Forbidden, LookupError with a message for people.
        """
        ...

    async def leave(self, member: Member) -> None:
        """The worker ends: its session too."""
        ...
