"""Rows on their way out of a stream: some of them at once, by column, because whoever writes many works by column.

Bad input is a `BadRows` that says which row; it never shows more of the row than the name of a column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

ROW_BYTES_MAX = 16 * 1024 * 1024
COLUMNS_MAX = 1_600  # what a table of PostgreSQL can have
FAULT_CHARACTERS_MAX = 200


class BadRows(Exception):
    """Rows that cannot be read; the message says which and why."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Some rows, by column."""

    names: tuple[str, ...]
    columns: list[list[Any]]
    has_escapes: bool = True  # False: surely no text in it has a backslash, tab or line break

    @property
    def row_count(self) -> int:
        return len(self.columns[0]) if self.columns else 0


class FlatBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Some rows that hold text, and numbers as the source writes them; true and false only where they are wanted.

    Nothing in them is null, nested or to be escaped, so that they are written row by row, in a third of the time.
    """

    names: tuple[str, ...]
    rows: list[Any]
    values_of: Callable[[Any], tuple[Any, ...]]

    @property
    def row_count(self) -> int:
        return len(self.rows)


AnyBatch = Batch | FlatBatch


def bounded(rest: Any, row_count: int | None) -> Any:
    """What is left of a row that has not ended, unless no row can be so long."""
    if len(rest) > ROW_BYTES_MAX:
        where = "a row" if row_count is None else f"row {row_count + 1}"
        raise BadRows(f"{where} is longer than {ROW_BYTES_MAX} bytes, or no row ends")
    return rest


def words(fault: Exception) -> str:
    """What a decoder says: places and names, never values."""
    return str(fault)[:FAULT_CHARACTERS_MAX]
