"""Payloads of an exported execution, read back: line by line, each proved to be what its sha256 says.

Comes in: the lines behind the events. Goes out: what is stored, one payload after the other, and what was left out. A
file is anybody's, so every line is bounded, and a payload that is not what it says is refused with its line.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from typing import Any

import msgspec

from noetl.control.brought import Damaged
from noetl.control.exported_payloads import PAYLOADS_MAX, PIECE_BYTES, Begin, End, LeftOut
from noetl.control.mentions import sha_in
from noetl.engine.events import Event, decode, encode
from noetl.errors import ReferenceCorrupt, ReferenceMissing, ResultTooLarge
from noetl.references import Reference, is_reference, reference_of
from noetl.results.choices import FILES, spot_in
from noetl.results.contract import RESULT_BYTES_MAX, Results

LINE_BYTES_MAX = 2 * PIECE_BYTES
SHA256 = re.compile(r"[0-9a-f]{64}")
Line = Begin | LeftOut | End | str
DECODERS = tuple(msgspec.json.Decoder(kind) for kind in (str, Begin, LeftOut, End))


class Received(msgspec.Struct):
    """What became of the payloads of a file."""

    shas: dict[str, None] = {}
    left_out: list[LeftOut] = []
    bytes: int = 0
    not_looked_for: int = 0  # names that were beyond what a file may have


class Lines:
    """The lines behind the events, one ahead: a payload ends where the next thing begins."""

    def __init__(self, lines: Iterator[bytes], number: int) -> None:
        self._lines = lines
        self.number = number  # of the line that `next` would give
        self._ahead: Line | None = None

    def next(self) -> Line:
        if self._ahead is not None:
            found, self._ahead = self._ahead, None
            return found
        line = next(self._lines, b"")
        self.number += 1
        if not line:
            raise Damaged(self.number - 1, "it ends here, before its payloads do")
        if len(line) > LINE_BYTES_MAX:
            raise Damaged(self.number - 1, f"a line of a payload has at most {LINE_BYTES_MAX} bytes")
        return self._decoded(line)

    def put_back(self, line: Line) -> None:
        self._ahead = line

    def check_over(self) -> None:
        if next(self._lines, b"").strip():
            raise Damaged(self.number, "nothing may follow the end")

    def _decoded(self, line: bytes) -> Line:
        decoders: tuple[msgspec.json.Decoder[Any], ...] = DECODERS
        for decoder in decoders:
            try:
                found: Line = decoder.decode(line)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                continue
            return found
        raise Damaged(self.number - 1, "this is no payload, nor a piece of one, nor the end")


async def receive(lines: Lines, results: Results) -> Received:
    """Store what the file brings, in bounded memory; raises Damaged."""
    found = Received(shas={}, left_out=[])
    while not isinstance(line := lines.next(), End):
        if isinstance(line, str):
            raise Damaged(lines.number - 1, "a piece without its payload")
        if isinstance(line, LeftOut):
            found.left_out.append(line)
            continue
        if not SHA256.fullmatch(line.payload) or len(found.shas) >= PAYLOADS_MAX:
            raise Damaged(lines.number - 1, f"a payload is named by its sha256, and there may be {PAYLOADS_MAX}")
        await _received(line, lines, results, found)
    if (line.end.payloads, line.end.left_out) != (len(found.shas), len(found.left_out)):
        raise Damaged(lines.number - 1, "the end counts other payloads than there are")
    lines.check_over()
    found.not_looked_for = line.end.not_looked_for
    return found


class _BrokeOff(Exception):
    def __init__(self, line: LeftOut) -> None:
        self.line = line


async def _received(begin: Begin, lines: Lines, results: Results, found: Received) -> None:
    try:
        kept = await results.store_stream(_pieces(begin, lines, found), begin.content_type)
    except _BrokeOff as off:
        found.left_out.append(off.line)
        return
    if kept.sha256 != begin.payload:  # it was proved as it passed
        raise Damaged(lines.number - 1, "the store has another sha256 for it")
    found.shas[begin.payload] = None


async def _pieces(begin: Begin, lines: Lines, found: Received) -> AsyncIterator[bytes]:
    """What is between a payload's line and the next. The last piece goes out when the whole is proved."""
    digest, held = hashlib.sha256(), b""
    while isinstance(line := lines.next(), str):
        try:
            piece = b64decode(line, validate=True)
        except (binascii.Error, ValueError):
            raise Damaged(lines.number - 1, "a piece of a payload must be base64") from None
        digest.update(piece)
        found.bytes += len(piece)
        if held:
            yield held
        held = piece
    if isinstance(line, LeftOut) and line.left_out == begin.payload:
        raise _BrokeOff(line)
    if digest.hexdigest() != begin.payload:
        raise Damaged(lines.number - 1, f"the payload before this line has not the sha256 {begin.payload}")
    lines.put_back(line)
    if held:
        yield held


# --- in the log ------------------------------------------------------------------------------------------------------


def at_home(event: Event, shas: dict[str, None]) -> Event:
    """An event whose references to what came along are to this house: found by sha256, wherever it is kept here."""
    body = encode(event)
    if b'"locator"' not in body:
        return event
    data = msgspec.json.decode(body)
    return decode(encode(data)) if _rewritten(data, shas) else event


def _rewritten(data: Any, shas: dict[str, None]) -> bool:
    """Write references of other houses anew, in place; whether there was one."""
    is_changed, waiting = False, [data]
    while waiting:
        value = waiting.pop()
        reference = reference_of(value) if is_reference(value) and "locator" in value else None
        if reference is not None:
            spot = spot_in(reference.locator)
            if reference.sha256 in shas and (spot is None or spot.kind != FILES):
                value.update(type="blob", locator=f"sha256:{reference.sha256}", auth_reference=None)
                is_changed = True
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return is_changed


# --- in a viewing ----------------------------------------------------------------------------------------------------


def place_in(payloads: bytes, reference: Reference) -> int:
    """Where the line of a payload begins; -1: it did not come along."""
    sha = sha_in(reference.sha256 or "") or sha_in(reference.locator) or ""
    return payloads.find(b'{"payload":"%s"' % sha.encode("ascii")) if sha else -1


def brings(payloads: bytes, reference: Reference) -> bool:
    return place_in(payloads, reference) >= 0


class BroughtResults:
    """The payloads of a file that is in memory, as a store gives them (`results.contract.Readable`)."""

    def __init__(self, payloads: bytes) -> None:
        self._payloads = payloads

    async def fetch(self, reference: Reference, bytes_max: int = RESULT_BYTES_MAX) -> bytes:
        found, size = [], 0
        async for piece in self.stream(reference):
            size += len(piece)
            if size > bytes_max:
                raise ResultTooLarge(size, bytes_max)
            found.append(piece)
        return b"".join(found)

    async def stream(self, reference: Reference) -> AsyncIterator[bytes]:
        """Proved with the last piece, as every store does."""
        stream = BytesIO(self._payloads)
        stream.seek(place_in(self._payloads, reference))
        lines = Lines(iter(stream.readline, b""), 0)
        begin = lines.next()
        try:
            if not isinstance(begin, Begin):
                raise ReferenceMissing(reference.locator)
            async for piece in _pieces(begin, lines, Received(shas={}, left_out=[])):
                yield piece
        except Damaged as fault:
            raise ReferenceCorrupt(reference.locator, str(fault)) from None
        except _BrokeOff as off:
            raise ReferenceCorrupt(reference.locator, off.line.why) from None
