"""Long lists, element by element: a stored list is never in memory as a whole.

`elements` reads the list of a stored payload (a JSON array, or one JSON value per line), `element_batches` the same,
as many elements at once as a chunk completes; `array_chunks` writes one. All hold about one element and one chunk. A
payload that is not a list, is not JSON or has an element over the bound is a ValueError whose message shows nothing of
the content.

An element that does not end in the buffer is tried again only when the buffer has doubled, so that a large element in
small chunks is not parsed once per chunk. Many elements at once are read by a faster parser: a text that ends at a
comma, and is a valid array when brackets are put around it, is whole elements, whatever is in it; so it is enough to
try a few commas.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

from noetl.references import JSON, LINES

ELEMENT_CHARACTERS_MAX = 16 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
NUMBER_TAIL_CHARACTERS_MAX = 2  # what can stand between the part that is a number already and its next digit
SPACE = " \t\n\r"
MANY_CHARACTERS = 4 * 1024  # below it there is nothing to be won
ENDINGS = ("},", "],", ",")  # of an element, those that rarely stand inside one first
GUESSES_MAX = 4  # for each
Element = bytes | AsyncIterator[bytes]  # as JSON: whole, or in pieces


def _refuse_constant(name: str) -> None:
    raise ValueError(f"the stored list has {name}, which is not JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)
_line_decoder = msgspec.json.Decoder()


async def elements(
    chunks: AsyncIterator[bytes], content_type: str = JSON, element_characters_max: int = ELEMENT_CHARACTERS_MAX
) -> AsyncIterator[Any]:
    """The elements of a stored list, in order."""
    reader = _Lines(element_characters_max) if content_type == LINES else _Array(element_characters_max)
    decoder = codecs.getincrementaldecoder("utf-8")()
    async for chunk in chunks:
        for element in reader.read(_text(decoder, chunk)):
            yield element
    for element in reader.finish(_text(decoder, b"", is_last=True)):
        yield element


async def element_batches(
    chunks: AsyncIterator[bytes], content_type: str = JSON, element_characters_max: int = ELEMENT_CHARACTERS_MAX
) -> AsyncIterator[list[Any]]:
    """The elements of a stored list, in order, as many at once as a chunk completes."""
    reader = _Lines(element_characters_max) if content_type == LINES else _Array(element_characters_max)
    decoder = codecs.getincrementaldecoder("utf-8")()
    async for chunk in chunks:
        if batch := list(reader.read(_text(decoder, chunk))):
            yield batch
    if batch := list(reader.finish(_text(decoder, b"", is_last=True))):
        yield batch


async def array_chunks(parts: AsyncIterator[Element]) -> AsyncIterator[bytes]:
    """One JSON array of elements that are encoded already, in pieces of some size."""
    piece = bytearray(b"[")
    separator = b""
    async for part in parts:
        piece += separator
        separator = b","
        if isinstance(part, bytes):
            piece += part
        else:
            async for some in part:
                yield bytes(piece + some)
                piece.clear()
        if len(piece) >= CHUNK_BYTES:
            yield bytes(piece)
            piece.clear()
    piece += b"]"
    yield bytes(piece)


class _Lines:
    """One JSON value per line; empty lines are skipped."""

    def __init__(self, characters_max: int) -> None:
        self._characters_max = characters_max
        self._pieces: list[str] = []  # of the line that has not ended
        self._held = 0

    def read(self, text: str) -> Iterator[Any]:
        many = self._many(text)
        if many is not None:
            yield from many
            return
        *lines, rest = text.split("\n")
        for line in lines:
            yield from self._value(self._whole(line))
        self._hold(rest)

    def finish(self, text: str) -> Iterator[Any]:
        yield from self._value(self._whole(text))

    def _many(self, text: str) -> list[Any] | None:
        """The values of all whole lines; None: there are few, or one has to be looked at by itself."""
        end = text.rfind("\n") + 1
        if not MANY_CHARACTERS <= end + self._held <= self._characters_max:
            return None
        lines = "".join(self._pieces) + text[:end]
        try:
            values = _line_decoder.decode_lines(lines)
        except (msgspec.DecodeError, RecursionError):
            return None
        if len(values) != lines.count("\n"):
            return None
        self._pieces, self._held = [], 0
        self._hold(text[end:])
        return values

    def _hold(self, text: str) -> None:
        self._pieces.append(text)
        self._held += len(text)
        _refuse_long(self._held, self._characters_max)

    def _whole(self, ending: str) -> str:
        self._hold(ending)
        line = "".join(self._pieces)
        self._pieces, self._held = [], 0
        return line

    def _value(self, line: str) -> Iterator[Any]:
        if not line.strip(SPACE):
            return
        try:
            value, end = _decoded(line, _after_space(line, 0))
        except json.JSONDecodeError as fault:
            raise ValueError("the stored list has a line that is not valid JSON") from fault
        if _after_space(line, end) < len(line):
            raise ValueError("the stored list has a line with more than one value")
        yield value


class _Array:
    """A JSON array, given out as far as the text goes; the rest is kept until more comes."""

    def __init__(self, characters_max: int) -> None:
        self._characters_max = characters_max
        self._pieces: list[str] = []
        self._held = 0
        self._try_at = 0  # how much there must be before it is worth trying again
        self._is_begun = self._is_ended = self._may_end = False

    def read(self, text: str) -> Iterator[Any]:
        self._pieces.append(text)
        self._held += len(text)
        if self._held >= self._try_at:
            yield from self._elements(is_last=False)

    def finish(self, text: str) -> Iterator[Any]:
        self._pieces.append(text)
        yield from self._elements(is_last=True)
        if not self._is_ended:
            raise ValueError("the stored list ends too early")

    def _elements(self, *, is_last: bool) -> Iterator[Any]:
        text = "".join(self._pieces)
        place = self._begin(text)
        if self._is_begun and not self._is_ended and (many := self._many(text, place)):
            values, place = many
            self._may_end = False
            yield from values
        while self._is_begun and not self._is_ended:
            place = _after_space(text, place)
            if self._may_end and text.startswith("]", place):
                self._is_ended = True
                place += 1
                break
            found = self._element(text, place, is_last=is_last)
            if found is None:
                _refuse_long(len(text) - place, self._characters_max)
                break
            value, place = found
            yield value
        self._keep(text[place:])

    def _many(self, text: str, place: int) -> tuple[list[Any], int] | None:
        """Many elements and the place after the last one's comma; None: there are few, or no guess was right."""
        if not MANY_CHARACTERS <= len(text) - place <= self._characters_max:
            return None
        for ending in ENDINGS:
            end = len(text)
            for _ in range(GUESSES_MAX):
                end = text.rfind(ending, place, end)
                if end < 0:
                    break
                comma = end + len(ending) - 1
                if values := _decoded_elements(text[place:comma]):
                    return values, comma + 1
        return None

    def _begin(self, text: str) -> int:
        """Where the elements start, once the opening bracket is there."""
        if self._is_begun:
            return 0
        place = _after_space(text, 0)
        if place == len(text):
            return place
        if text[place] != "[":
            raise ValueError("the stored value is not a list")
        self._is_begun = self._may_end = True
        return place + 1

    def _element(self, text: str, place: int, *, is_last: bool) -> tuple[Any, int] | None:
        """The element here and the place after its comma; None if the text ends before it is whole.

        A number is whole only when something follows it: 12 may be the beginning of 123, and 1e- that of 1e-5.
        """
        if place == len(text):
            return None
        try:
            value, end = _decoded(text, place)
        except json.JSONDecodeError as fault:
            if is_last:
                raise ValueError("the stored list is not valid JSON, or ends too early") from fault
            return None
        _refuse_long(end - place, self._characters_max)
        end = _after_space(text, end)
        if end == len(text):
            return None
        if text[end] not in ",]":
            if not is_last and len(text) - end <= NUMBER_TAIL_CHARACTERS_MAX:
                return None
            raise ValueError("the stored list is not valid JSON: two elements without a comma")
        self._may_end = text[end] == "]"
        return value, end if self._may_end else end + 1

    def _keep(self, rest: str) -> None:
        if self._is_ended:
            if rest.strip(SPACE):
                raise ValueError("the stored list is not valid JSON: something follows its end")
            rest = ""
        self._pieces, self._held, self._try_at = [rest], len(rest), 2 * len(rest)


def _text(decoder: codecs.IncrementalDecoder, chunk: bytes, *, is_last: bool = False) -> str:
    try:
        return decoder.decode(chunk, is_last)
    except UnicodeDecodeError as fault:
        raise ValueError("the stored list is not UTF-8") from fault


def _decoded_elements(text: str) -> list[Any] | None:
    """The values of a text, if it is whole elements with commas between them."""
    try:
        found: list[Any] = msgspec.json.decode(f"[{text}]")
    except (msgspec.DecodeError, RecursionError):
        return None
    return found


def _decoded(text: str, place: int) -> tuple[Any, int]:
    try:
        return _decoder.raw_decode(text, place)
    except RecursionError as fault:
        raise ValueError("the stored list has an element that is nested too deeply") from fault


def _after_space(text: str, place: int) -> int:
    while place < len(text) and text[place] in SPACE:
        place += 1
    return place


def _refuse_long(found: int, characters_max: int) -> None:
    if found > characters_max:
        raise ValueError(f"an element of a stored list may have {characters_max} characters, but one has more")
