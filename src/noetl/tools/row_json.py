"""JSON in pieces → rows: lines of JSON, or one array of objects. Any pieces give the same rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from noetl.tools.row_batches import AnyBatch, BadRows, bounded
from noetl.tools.row_mappings import Mappings, NotWhole, boundaries

GUESSES_MAX = 4


class Lines:
    """JSON lines; empty ones are skipped."""

    def __init__(self, names: Sequence[str] | None, booleans: Collection[str] | None) -> None:
        self._rows = Mappings(names, booleans)
        self._rest = b""

    def read(self, piece: bytes) -> Iterator[AnyBatch]:
        piece = self._rest + piece if self._rest else piece
        end = piece.rfind(b"\n") + 1
        self._rest = bounded(piece[end:], self._rows.row_count)
        yield from self._rows.of_lines(piece[:end])

    def finish(self) -> Iterator[AnyBatch]:
        rest, self._rest = self._rest, b""
        yield from self._rows.of_lines(rest)


class Array:
    """A JSON array of mappings.

    Where the last whole element ends is guessed first: a text that ends with a brace and is a valid array is whole
    elements, whatever is in it. Nested rows may need a walk over their brackets.
    """

    def __init__(self, names: Sequence[str] | None, booleans: Collection[str] | None) -> None:
        self._rows = Mappings(names, booleans)
        self._held = b""
        self._try_at = 0
        self._is_begun = False

    def read(self, piece: bytes) -> Iterator[AnyBatch]:
        self._held += piece
        self._begin()
        if self._is_begun and len(self._held) >= self._try_at:
            yield from self._whole()
            bounded(self._held, self._rows.row_count)
            self._try_at = 2 * len(self._held)

    def finish(self) -> Iterator[AnyBatch]:
        held = self._held.rstrip()
        if not self._is_begun or not held.endswith(b"]"):
            raise BadRows("the rows are no whole JSON array: it does not end, or there is none")
        yield from self._rows.of_elements(self._after_comma(held[:-1]))

    def _begin(self) -> None:
        """Take the opening bracket away, once it is there."""
        text = b"" if self._is_begun else self._held.lstrip()
        if text:
            if not text.startswith(b"["):
                raise BadRows("the rows must be a JSON array of mappings")
            self._held, self._is_begun = text[1:], True

    def _whole(self) -> Iterator[AnyBatch]:
        """The rows that are whole; what is left stays held."""
        end = len(self._held)
        for _ in range(GUESSES_MAX):
            end = self._held.rfind(b"}", 0, end)
            if end < 0:
                return
            try:
                found = list(self._rows.of_elements(self._after_comma(self._held[: end + 1])))
            except NotWhole:
                continue
            self._held = self._held[end + 1 :]
            yield from found
            return
        end = _last_boundary(self._held)
        elements, self._held = self._held[:end], self._held[end:]
        yield from self._rows.of_elements(self._after_comma(elements))

    def _after_comma(self, elements: bytes) -> bytes:
        text = elements.lstrip()
        if not text or not self._rows.row_count:
            return text
        if not text.startswith(b",") or not text[1:].strip():
            raise BadRows(f"the rows are not a valid JSON array: look at the comma after row {self._rows.row_count}")
        return text[1:]


def _last_boundary(elements: bytes) -> int:
    """The end of the last element that is whole; 0: none is."""
    end = 0
    for end in boundaries(elements):  # noqa: B007 - the last one is wanted
        pass
    return end
