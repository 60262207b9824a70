"""Which server a worker turns to. For speed only: any server may take anything, and leases settle who is right.

A job is reported to its home, the server that gave it, whose memory of the execution is warm. All else goes to
whichever server takes it, unless one of them was silent just now: then to the one that answered last, since the message
server goes on handing requests to a server that hangs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

HOMES_MAX = 200_000
WARY_SECONDS = 10.0  # how long a silence is remembered


class Homes:
    """The servers that leases came from."""

    def __init__(self) -> None:
        self._recent: dict[int, str] = {}  # since the last heartbeat
        self._known: dict[int, str] = {}

    def note(self, leases: Iterable[int], server: str) -> None:
        for lease in leases:
            if len(self._recent) < HOMES_MAX:
                self._recent[lease] = server

    def of(self, lease: int) -> str:
        """ "": not known"""
        return self._recent.get(lease) or self._known.get(lease, "")

    def keep(self, held: Iterable[int]) -> None:
        """A heartbeat: forget those that are held no more. What was given since the last one may not be listed yet."""
        known = {lease: home for lease in held if (home := self.of(lease))}
        self._known = {**self._recent, **known}
        self._recent = {}


class Acquaintance:
    """The server that answered last, and whether another was silent since."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._server = ""
        self._wary_until = 0.0

    def answered(self, server: str) -> None:
        self._server = server

    def silent(self, server: str) -> None:
        """Nobody answered; `server`: who was asked, "": whichever took it."""
        self._wary_until = self._monotonic() + WARY_SECONDS
        if server == self._server:
            self._server = ""

    def lost(self, server: str) -> None:
        """It is not there any more, or does not want to be asked."""
        if server == self._server:
            self._server = ""

    @property
    def preferred(self) -> str:
        """Whom to ask; "": whichever server takes it."""
        return self._server if self._monotonic() < self._wary_until else ""
