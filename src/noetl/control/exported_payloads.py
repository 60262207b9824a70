"""The payloads that an exported log refers to, behind its events: each once, in pieces, in bounded memory.

    {"payload": "8a31…", "content_type": "application/json", "bytes": 93121}
    "WzEsMiwz…"                                                      pieces of it, base64
    {"left_out": "77c0…", "why": "…", "content_type": …, "bytes": …}  or why it is not here; also of one that broke off
    {"end": {"payloads": 1, "left_out": 1, "not_looked_for": 0}}

A file has PAYLOADS_MAX of them at most. What is named beyond that is not looked for, and counted: names and not
payloads, for to tell one from the other they would have to be remembered. What a payload names in turn comes along
too, where this house keeps it. Everything was redacted before it was stored, so no secret is in it. `brought_payloads`
reads it back.
"""

from __future__ import annotations

from base64 import b64encode
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Any, cast

import msgspec

from noetl.control.mentions import SHA256_BYTES, SHA256_CHARACTERS, sha_in
from noetl.engine.events import Event, encode
from noetl.errors import NoetlError
from noetl.references import Reference, is_reference, reference_of
from noetl.results.contract import Readable

PAYLOADS_MAX = 100_000
PAYLOADS_BYTES_MAX = 1024 * 1024 * 1024
PIECE_BYTES = 48 * 1024  # a multiple of 3: base64 has no filling but at the end
ReadResult = Callable[[int, Reference], Awaitable[Readable]]


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """The line before a payload's pieces."""

    payload: str
    content_type: str
    bytes: int | None = None


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A payload that is not in the file, or broke off."""

    left_out: str
    why: str
    content_type: str = ""
    bytes: int | None = None
    lacks_room: bool = False  # it would be there if more bytes were allowed


class NoRoom(OSError):
    """All payloads together would have more bytes than they may."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    payloads: int
    left_out: int
    not_looked_for: int = 0  # names beyond PAYLOADS_MAX, as often as they stand there


class End(msgspec.Struct, frozen=True, kw_only=True):
    """The last line: nothing was cut off."""

    end: Counts


class Wanted(msgspec.Struct, frozen=True):
    """A payload to be written; `is_sure`: a reference names it, and not only digits that look like a sha256."""

    sha: str
    reference: Reference
    is_sure: bool


class Payloads:
    """Collects what events refer to, then writes it."""

    def __init__(self, execution_id: int, read: ReadResult, bytes_max: int = PAYLOADS_BYTES_MAX) -> None:
        self._execution_id = execution_id
        self._read = read
        self._bytes_left = self._bytes_max = bytes_max
        self._wanted: deque[Wanted] = deque()
        self._known: set[str] = set()
        self._written = self._left_out = self._not_looked_for = 0

    def look_at(self, events: Iterable[Event]) -> None:
        for reference in (one for event in events for one in references_in(event)):
            sha = sha_in(reference.sha256 or "") or sha_in(reference.locator)
            if sha is not None:
                self._want(Wanted(sha, reference, True))

    def _want(self, wanted: Wanted) -> None:
        if wanted.sha in self._known:
            return
        if len(self._known) >= PAYLOADS_MAX:
            self._not_looked_for += 1
            return
        self._known.add(wanted.sha)
        self._wanted.append(wanted)

    async def lines(self) -> AsyncIterator[bytes]:
        """All of them, and the end."""
        while self._wanted:
            async with aclosing(self._lines_of(self._wanted.popleft())) as lines:
                async for line in lines:
                    yield line
        counts = Counts(payloads=self._written, left_out=self._left_out, not_looked_for=self._not_looked_for)
        yield _line(End(end=counts))

    async def _lines_of(self, wanted: Wanted) -> Any:
        size = wanted.reference.bytes
        if size is not None and size > self._bytes_left:
            yield self._without(wanted, NoRoom(f"{self._bound}, and it has {size}"))
            return
        has_begun = False
        try:
            readable = await self._read(self._execution_id, wanted.reference)
            async with aclosing(cast("Any", readable.stream(wanted.reference))) as pieces:
                async for piece in self._within(self._looked_into(wanted, pieces)):
                    if not has_begun:
                        yield _line(Begin(payload=wanted.sha, content_type=wanted.reference.content_type, bytes=size))
                    has_begun = True
                    yield b'"%s"\n' % b64encode(piece)
            if not has_begun:
                yield _line(Begin(payload=wanted.sha, content_type=wanted.reference.content_type, bytes=size))
            self._written += 1
        except (NoetlError, LookupError, OSError) as fault:
            if wanted.is_sure or has_begun:
                yield self._without(wanted, fault)

    @property
    def _bound(self) -> str:
        return f"all payloads of one file may have {self._bytes_max} bytes"

    def _without(self, wanted: Wanted, fault: Exception) -> bytes:
        self._left_out += 1
        reference = wanted.reference
        left = LeftOut(
            left_out=wanted.sha,
            why=str(fault),
            content_type=reference.content_type,
            bytes=reference.bytes,
            lacks_room=isinstance(fault, NoRoom),
        )
        return _line(left)

    async def _within(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Pieces of the usual size, as long as there is room."""
        held = b""
        async for piece in pieces:
            self._bytes_left -= len(piece)
            if self._bytes_left < 0:
                raise NoRoom(f"{self._bound}, and it does not fit")
            held += piece
            whole = len(held) - len(held) % PIECE_BYTES
            for start in range(0, whole, PIECE_BYTES):
                yield held[start : start + PIECE_BYTES]
            held = held[whole:]
        if held:
            yield held

    async def _looked_into(self, wanted: Wanted, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Pieces as they are; what they name is wanted too."""
        held = b""
        async for piece in pieces:
            for sha in dict.fromkeys(SHA256_BYTES.findall(held + piece)):
                name = sha.decode("ascii")
                self._want(Wanted(name, Reference(type="blob", locator=f"sha256:{name}", sha256=name), False))
            held = (held + piece)[-SHA256_CHARACTERS:]
            yield piece


def references_in(event: Event) -> Iterator[Reference]:
    """The references that stand in an event, wherever in it."""
    waiting: list[Any] = [msgspec.to_builtins(event)]
    while waiting:
        value = waiting.pop()
        if is_reference(value) and (found := reference_of(value)) is not None:
            yield found
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _line(found: msgspec.Struct) -> bytes:
    return encode(found) + b"\n"
