"""A worker's session: asked for when it is first needed, renewed at half its life, asked for again when it is refused.

One asks for everybody; the rest wait for it. A server that cannot be reached when it is time to renew does no harm as
long as the session lives. Neither the token nor the session is ever in a message for people.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from noetl.clock import Clock
from noetl.errors import Unreachable

RENEW_AGAIN_SECONDS = 5.0


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """A session, as long as this machine's clock measures it."""

    session: str
    life_seconds: float


class Enrolment:
    def __init__(self, enrol: Callable[[], Awaitable[Granted]], clock: Clock) -> None:
        self._enrol = enrol
        self._clock = clock
        self._turn = asyncio.Lock()
        self._session = ""
        self._renew_at = 0.0
        self._ends_at = 0.0

    async def session(self) -> str:
        """The session to show. Raises Unreachable, Unauthenticated, Forbidden."""
        if self._is_fresh:
            return self._session
        async with self._turn:
            if not self._is_fresh:
                await self._renew()
            return self._session

    @property
    def _is_fresh(self) -> bool:
        return bool(self._session) and self._clock.monotonic() < self._renew_at

    async def _renew(self) -> None:
        asked_at = self._clock.monotonic()
        try:
            granted = await self._enrol()
        except Unreachable:
            if not self._session or self._clock.monotonic() >= self._ends_at:
                raise
            self._renew_at = self._clock.monotonic() + RENEW_AGAIN_SECONDS
            return
        self._session = granted.session
        self._renew_at = asked_at + granted.life_seconds / 2
        self._ends_at = asked_at + granted.life_seconds

    def refused(self, session: str) -> None:
        """A server does not know this one; another that was given meanwhile stays."""
        if session == self._session:
            self._session = ""

    @property
    def held(self) -> str:
        """The session there is; "": none."""
        return self._session
