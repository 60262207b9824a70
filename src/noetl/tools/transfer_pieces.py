"""Rows on their way: some of them, written as the target takes them.

A table takes the text of COPY, one line per row; a file JSON lines or CSV. `written` makes a piece of a batch of rows,
`after` leaves out the rows that an earlier attempt has moved.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from noetl.tools.copy_text import NOTHING_SPECIAL, Special, copy_text, encode
from noetl.tools.refused import Refused
from noetl.tools.row_batches import Batch

COPY, NDJSON, CSV = "copy", "ndjson", "csv"
SOURCE_CHANGED = (
    "the source gives other rows than those that were moved before this attempt; start the transfer anew, with a "
    "target as it was, or give the source an order (ORDER BY)"
)


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Whole rows, by the columns of the target."""

    names: tuple[str, ...]
    data: bytes
    row_count: int


Pieces = AsyncIterator[Piece]


class Writer(msgspec.Struct, frozen=True, kw_only=True):
    """How rows are written for a target. `booleans`: its columns that take true and false, if it takes flat rows."""

    write: Callable[[Any], bytes]
    booleans: frozenset[str] | None = None


def writer(form: str, special: Special = NOTHING_SPECIAL) -> Writer:
    """What writes batches in that form."""
    if form == COPY:
        return Writer(write=lambda batch: copy_text(batch, special), booleans=special.booleans)
    return Writer(write=_json_lines if form == NDJSON else _CsvLines())


def _json_lines(batch: Batch) -> bytes:
    rows = zip(*batch.columns, strict=True)
    return b"".join(encode(dict(zip(batch.names, row, strict=True))) + b"\n" for row in rows)


class _CsvLines:
    """CSV with a header before the first row."""

    def __init__(self) -> None:
        self._has_header = False

    def __call__(self, batch: Batch) -> bytes:
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        if not self._has_header:
            lines.writerow(batch.names)
            self._has_header = True
        lines.writerows([_cell(value) for value in row] for row in zip(*batch.columns, strict=True))
        return text.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return encode(value).decode() if isinstance(value, list | dict) else value


class Digest:
    """Of all rows of a transfer, from its first."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, data: bytes) -> None:
        self._hash.update(data)

    def __str__(self) -> str:
        return self._hash.hexdigest()


async def after(pieces: Pieces, row_count: int, digest: Digest, wanted: str) -> Pieces:
    """The pieces without their first rows, which must be the rows that were moved before; all rows go into the digest.

    Of COPY's text only: there a line break is the end of a row and nothing else.
    """
    left = row_count
    async for piece in pieces:
        if left >= piece.row_count:
            digest.add(piece.data)
            left -= piece.row_count
            continue
        if left or (row_count and wanted):
            piece, old = _divided(piece, left)
            digest.add(old)
            _check(digest, wanted)
            left, wanted = 0, ""
        digest.add(piece.data)
        yield piece
    if left:
        raise Refused("exception", SOURCE_CHANGED)
    if row_count and wanted:
        _check(digest, wanted)


def _check(digest: Digest, wanted: str) -> None:
    if str(digest) != wanted:
        raise Refused("exception", SOURCE_CHANGED)


def _divided(piece: Piece, row_count: int) -> tuple[Piece, bytes]:
    """A piece from its nth row on, and what comes before."""
    end = 0
    for _ in range(row_count):
        end = piece.data.index(b"\n", end) + 1
    rest = msgspec.structs.replace(piece, data=piece.data[end:], row_count=piece.row_count - row_count)
    return rest, piece.data[:end]
