"""CSV in pieces → rows: a header line first, then a row per line; a quoted cell may hold line breaks."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Sequence

from noetl.tools.row_batches import ROW_BYTES_MAX, BadRows, Batch, bounded

csv.field_size_limit(ROW_BYTES_MAX)  # for the whole process, there is no other way; it would be 128 KiB


class Table:
    """CSV with a header line."""

    def __init__(self, names: Sequence[str] | None, booleans: Collection[str] | None) -> None:
        self._wanted = tuple(names) if names else None
        self._places: list[int] | None = None
        self._header: list[str] = []
        self._row_count = 0
        self._rest = b""

    def read(self, piece: bytes) -> Iterator[Batch]:
        piece = self._rest + piece if self._rest else piece
        end = _line_end(piece)
        self._rest = bounded(piece[end:], self._row_count)
        yield from self._batch(piece[:end])

    def finish(self) -> Iterator[Batch]:
        rest, self._rest = self._rest, b""
        yield from self._batch(rest)

    def _batch(self, lines: bytes) -> Iterator[Batch]:
        rows = self._parsed(lines)
        if self._places is None and rows:
            self._begin(rows.pop(0))
        if not rows or self._places is None:
            return
        width = len(self._header)
        if set(map(len, rows)) != {width}:
            place = next(place for place, row in enumerate(rows) if len(row) != width)
            raise BadRows(
                f"row {self._row_count + place + 1} has {len(rows[place])} columns, but the header has {width}"
            )
        self._row_count += len(rows)
        columns = [[row[place] or None for row in rows] for place in self._places]
        yield Batch(names=self._wanted or tuple(self._header), columns=columns, has_escapes=True)

    def _parsed(self, lines: bytes) -> list[list[str]]:
        try:
            text = lines.decode("utf-8-sig" if self._places is None else "utf-8")
            return [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
        except (UnicodeDecodeError, csv.Error) as fault:
            raise BadRows(f"the rows after row {self._row_count} are not valid CSV in UTF-8: {fault}") from None

    def _begin(self, header: list[str]) -> None:
        self._header = header
        missing = [name for name in self._wanted or () if name not in header]
        if missing:
            raise BadRows(f'the header has no column "{missing[0]}"; it has: {", ".join(header)[:200]}')
        self._places = [header.index(name) for name in self._wanted or header]


def _line_end(piece: bytes) -> int:
    """The end of the last line that is whole: one whose quotes are closed. One pass, whatever stands in the piece."""
    end = len(piece)
    parts = piece.split(b'"')
    for place in range(len(parts) - 1, -1, -1):
        found = parts[place].rfind(b"\n") if place % 2 == 0 else -1  # every other part is inside of quotes
        end -= len(parts[place])
        if found >= 0:
            return end + found + 1
        end -= 1
    return 0
