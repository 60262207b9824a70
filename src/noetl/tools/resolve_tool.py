"""Kind resolve at work: a reference to its data.

A reference in, what it stands for out: JSON as data, JSON lines and CSV as a list, other text as text. The result store
checks size and checksum, whatever part is asked for: a list is read to its end, and only the part is kept. A payload
that is no list has to fit into memory (`results.mb_max`).
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any, cast

import msgspec

from noetl.engine.output import Output, failure
from noetl.errors import ReferenceCorrupt, ResultError
from noetl.references import JSON, LINES, Reference, reference_of
from noetl.results.arrays import element_batches
from noetl.tools.contract import Call, Hands
from noetl.tools.resolve_parts import Part, WrongPart, part_of
from noetl.tools.row_batches import BadRows, Batch
from noetl.tools.row_streams import batches

LOCATOR_CHARACTERS_MAX = 1024
THREAD_BYTES_MIN = 256 * 1024  # a larger payload is decoded beside the event loop
STREAM_BYTES_MIN = 1024 * 1024  # a part of a larger list is taken out as it passes
CSV = "text/csv"

_JSON_TYPE = re.compile(r".*/json|.*\+json")


class ResolveTool:
    """Fetches payloads from the result store."""

    def __init__(self, hands: Hands) -> None:
        self._bytes_max = hands.settings.result_bytes_max

    async def run(self, call: Call) -> Output:
        reference = _reference_in(call.input.get("ref"))
        if reference is None:
            return failure("ref_misuse", _misuse(call.input.get("ref")))
        try:
            part = part_of(call.input.get("path"), call.input.get("slice"))
            return Output(data=await self._data(call, reference, part))
        except ResultError as fault:
            return failure(fault.kind, str(fault), retryable=fault.retryable)
        except WrongPart as fault:
            return failure(fault.kind, str(fault))

    async def _data(self, call: Call, reference: Reference, part: Part) -> Any:
        form = content_type_of(reference)
        if form == CSV and not part.is_whole:
            return await self._streamed(call, reference, part, _rows)
        is_large = reference.bytes is None or reference.bytes >= STREAM_BYTES_MIN
        if is_large and not part.is_whole and (not part.path or part.index is not None):
            if form == LINES:
                return await self._streamed(call, reference, part, _lines)
            if _JSON_TYPE.fullmatch(form) and await _is_list(call, reference):
                return await self._streamed(call, reference, part, element_batches)
        payload = await call.results.fetch(reference, self._bytes_max)
        if len(payload) < THREAD_BYTES_MIN:
            return part.of(_data_of(reference, payload))
        return part.of(await asyncio.to_thread(_data_of, reference, payload))

    async def _streamed(self, call: Call, reference: Reference, part: Part, read: Any) -> Any:
        """A part of a list; the rest passes by unread, so that its checksum is known."""
        async with pieces_of(call, reference) as pieces:
            try:
                found = await part.of_batches(read(pieces), self._bytes_max)
            except (ValueError, BadRows) as fault:
                why = f"it cannot be read as {content_type_of(reference)}: {fault}"
                raise ReferenceCorrupt(reference.locator, why) from None
            async for _ in pieces:
                pass
        return found

    async def close(self) -> None:
        """There is nothing to give back."""


async def _is_list(call: Call, reference: Reference) -> bool:
    """Whether a JSON payload is a list: its first character says."""
    async with pieces_of(call, reference) as pieces:
        async for piece in pieces:
            if text := piece.lstrip():
                return text.startswith(b"[")
    return False


def pieces_of(call: Call, reference: Reference) -> aclosing[AsyncGenerator[bytes, None]]:
    """A payload in pieces; the store lets go of it at the end, whether it was read to its end or not."""
    return aclosing(cast("AsyncGenerator[bytes, None]", call.results.stream(reference)))


def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[Any]:
    return element_batches(pieces, LINES)


async def _rows(pieces: AsyncIterator[bytes]) -> AsyncIterator[Sequence[dict[str, Any]]]:
    """The rows of CSV, by the names in its first line."""
    async for batch in batches(pieces, "csv"):
        yield _Rows(batch)


class _Rows(Sequence[dict[str, Any]]):
    """Some rows of a table; only those that are taken out are made into mappings."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __len__(self) -> int:
        return self._batch.row_count

    def __getitem__(self, place: Any) -> Any:
        columns = [column[place] for column in self._batch.columns]
        return [dict(zip(self._batch.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _reference_in(value: object) -> Reference | None:
    if isinstance(value, str):
        is_locator = bool(value.strip()) and len(value) <= LOCATOR_CHARACTERS_MAX
        return Reference(type="blob", locator=value.strip()) if is_locator else None
    return reference_of(value)


def _misuse(value: object) -> str:
    wanted = "ref must be a reference: {type, locator, meta}, or the text of a locator"
    if isinstance(value, dict) and reference_of(value.get("ref")):
        return f"{wanted}, but this is an output that has one; write .ref after it"
    found = "nothing" if value is None else f"a {type(value).__name__} that is none"
    return f"{wanted}, but it is {found}"


def content_type_of(reference: Reference) -> str:
    return reference.content_type.partition(";")[0].strip().lower() or JSON


def _data_of(reference: Reference, payload: bytes) -> Any:
    """The payload as its content type says."""
    content_type = content_type_of(reference)
    try:
        if content_type == LINES:
            return [msgspec.json.decode(line) for line in payload.splitlines() if line.strip()]
        if _JSON_TYPE.fullmatch(content_type):
            return msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ReferenceCorrupt(reference.locator, f"it is said to be {content_type}, but cannot be read so") from None
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(payload).decode("ascii")}
