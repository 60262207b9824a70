"""Messages of a subject, whoever carries them: what a listener hands over, and what it is told to do with each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

DONE, LATER, NEVER = "done", "later", "never"  # it was started; try again; it will never be


class Delivered(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it came."""

    subject: str
    data: bytes
    headers: dict[str, str] = {}
    id: str | None = None  # by which it is known when it comes again; None: it says nothing
    is_kept: bool = False  # by a stream, until somebody says DONE


Handle = Callable[[Delivered], Awaitable[str]]


class Listener(Protocol):
    """A way to one subject, shared by all servers: each message reaches one of them."""

    async def listen(self, handle: Handle) -> None:
        """Hand over messages until the connection ends. Raises Unreachable, OperatorError, with words for people."""
        ...
