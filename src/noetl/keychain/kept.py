"""What is dear to fetch, kept for a while: a token, a secret of a manager.

A key and a way to fetch go in, the value comes out. However many ask, one fetch is under way per key; whoever gives up
waiting does not end it for the others. Near its end a value is fetched anew while the old one is still handed out, so
nobody waits for a renewal that succeeds. A failed fetch is told to all who wait for it and is not kept. Bounded;
nothing is written anywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import msgspec

from noetl.clock import Clock

KEPT_MAX = 1024
RETRY_SECONDS = 5.0  # after a renewal ahead of time that failed

T = TypeVar("T")


class Fresh(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A value that was just fetched, and how long it serves."""

    value: T
    use_seconds: float
    renew_seconds: float | None = None  # after so long another is fetched, while this one still serves


class Held(msgspec.Struct, Generic[T], kw_only=True):
    value: T
    ends_at: float  # by the monotonic clock, as the next
    renew_at: float


Fetch = Callable[[], Awaitable[Fresh[T]]]


class Kept(Generic[T]):
    """Values by key, each with an end."""

    def __init__(self, clock: Clock, kept_max: int = KEPT_MAX) -> None:
        self._clock = clock
        self._kept_max = kept_max
        self._held: dict[bytes, Held[T]] = {}
        self._fetching: dict[bytes, asyncio.Task[T]] = {}

    async def get(self, key: bytes, fetch: Fetch[T]) -> T:
        """The value of a key, fetched if it is not here or at its end."""
        held, now = self._held.get(key), self._clock.monotonic()
        if held is None or now >= held.ends_at:
            return await asyncio.shield(self._fetch(key, fetch))
        if now >= held.renew_at:
            held.renew_at = now + RETRY_SECONDS
            self._fetch(key, fetch)
        return held.value

    def drop(self, key: bytes) -> None:
        """Fetch anew when it is asked for next."""
        self._held.pop(key, None)

    def _fetch(self, key: bytes, fetch: Fetch[T]) -> asyncio.Task[T]:
        task = self._fetching.get(key)
        if task is None:
            task = self._fetching[key] = asyncio.ensure_future(self._fetched(key, fetch))
            task.add_done_callback(_look_at)
        return task

    async def _fetched(self, key: bytes, fetch: Fetch[T]) -> T:
        try:
            fresh = await fetch()
            now = self._clock.monotonic()
            renew_seconds = fresh.use_seconds if fresh.renew_seconds is None else fresh.renew_seconds
            self._hold(key, Held(value=fresh.value, ends_at=now + fresh.use_seconds, renew_at=now + renew_seconds))
            return fresh.value
        finally:
            del self._fetching[key]

    def _hold(self, key: bytes, held: Held[T]) -> None:
        self._held.pop(key, None)
        while len(self._held) >= self._kept_max:
            del self._held[next(iter(self._held))]
        self._held[key] = held

    async def close(self) -> None:
        """End what is under way and forget everything."""
        tasks = list(self._fetching.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._held.clear()


def _look_at(task: asyncio.Task[T]) -> None:
    """A renewal ahead of time that failed is nobody's: the value still serves, and the next attempt tells."""
    if not task.cancelled():
        task.exception()
