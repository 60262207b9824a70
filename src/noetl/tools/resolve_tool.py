"""Kind resolve at work: a reference to its data.

A reference in, what it stands for out: JSON as data, JSON lines as a list, other text as text. The result store checks
size and checksum; here the payload is read, and the part that was asked for is taken out of it.
"""

from __future__ import annotations

import asyncio
import base64
import re
from typing import Any

import msgspec

from noetl.engine.output import Output, failure
from noetl.errors import ReferenceCorrupt, ResultError
from noetl.references import LINES, Reference, reference_of
from noetl.tools.contract import Call, Hands

LOCATOR_CHARACTERS_MAX = 1024
THREAD_BYTES_MIN = 256 * 1024  # a larger payload is decoded beside the event loop

_SLICE = re.compile(r"\[?\s*(-?\d{1,18})?\s*[:,]\s*(-?\d{1,18})?\s*\]?")
_JSON_TYPE = re.compile(r".*/json|.*\+json")


class WrongPart(Exception):
    """The part that was asked for is not in the data; carries the error.kind."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ResolveTool:
    """Fetches payloads from the result store."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands

    async def run(self, call: Call) -> Output:
        reference = _reference_in(call.input.get("ref"))
        if reference is None:
            return failure("ref_misuse", _misuse(call.input.get("ref")))
        try:
            payload = await self._hands.results.fetch(reference, self._hands.settings.result_bytes_max)
            data = await self._decoded(reference, payload)
            return Output(data=_part_of(data, call.input.get("path"), call.input.get("slice")))
        except ResultError as fault:
            return failure(fault.kind, str(fault))
        except WrongPart as fault:
            return failure(fault.kind, str(fault))

    async def _decoded(self, reference: Reference, payload: bytes) -> Any:
        if len(payload) < THREAD_BYTES_MIN:
            return _data_of(reference, payload)
        return await asyncio.to_thread(_data_of, reference, payload)

    async def close(self) -> None:
        """There is nothing to give back."""


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


def _data_of(reference: Reference, payload: bytes) -> Any:
    """The payload as its content type says."""
    content_type = reference.content_type.partition(";")[0].strip().lower()
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


def _part_of(data: Any, path: object, bounds: object) -> Any:
    for word in str(path).split(".") if path not in (None, "") else ():
        data = _member(data, word, str(path))
    if bounds in (None, ""):
        return data
    if not isinstance(data, list):
        raise WrongPart("type", "slice takes items of a list, but the data is none")
    start, end = _bounds_of(bounds)
    return data[start:end]


def _member(data: Any, word: str, path: str) -> Any:
    if isinstance(data, dict) and word in data:
        return data[word]
    if isinstance(data, list) and word.isascii() and word.isdigit() and int(word) < len(data):
        return data[int(word)]
    raise WrongPart("not_found", f'the data has no "{path[:80]}": "{word[:40]}" is not there')


def _bounds_of(bounds: object) -> tuple[int | None, int | None]:
    if isinstance(bounds, list) and len(bounds) == 2 and all(_is_bound(bound) for bound in bounds):
        return bounds[0], bounds[1]
    match = _SLICE.fullmatch(bounds) if isinstance(bounds, str) else None
    if match is None:
        raise WrongPart("type", "slice must be [start, end] or a text such as 0:100; either end may be left out")
    start, end = match.groups()
    return (int(start) if start else None), (int(end) if end else None)


def _is_bound(value: object) -> bool:
    return value is None or type(value) is int
