"""A text that is being written, as a tree of cells, and the place of a cursor in it. Made by `loose.py`.

Columns and lines count from 0 here.
"""

from __future__ import annotations

import re

import msgspec

Path = tuple[str | int, ...]
DEPTH_MAX = 64  # of mappings and lists within each other


class Cell(msgspec.Struct, kw_only=True):
    """A value: text as typed, a mapping or a list; nothing of these where it is not written yet."""

    path: Path
    line: int
    text: str = ""
    box: Box | None = None
    row: Row | None = None

    @property
    def value(self) -> str:
        """The text without its quotes and comments."""
        return unquoted(self.text)

    def get(self, *path: str) -> Cell | None:
        """The cell below this one under some keys."""
        found: Cell | None = self
        for key in path:
            found = found.box.cells.get(key) if found is not None and found.box is not None else None
        return found

    @property
    def items(self) -> list[Cell]:
        return self.row.items if self.row is not None else []

    @property
    def is_empty(self) -> bool:
        return not self.text and self.box is None and self.row is None


class Box(msgspec.Struct, kw_only=True):
    """A mapping."""

    column: int
    cells: dict[str, Cell] = {}
    last: Cell | None = None


class Row(msgspec.Struct, kw_only=True):
    """A list."""

    column: int
    items: list[Cell] = []


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """Where a cursor is: in a key, or where one may be written; or in a value."""

    root: Cell  # of its document
    is_value: bool
    path: Path  # of the value; of a key: of the mapping that it stands in
    box: Box | None = None  # that mapping, as far as it is written
    key: str = ""  # the whole key under the cursor, or that of the value
    before: str = ""  # of the key or the value, up to the cursor
    whole: str = ""  # all of it
    start: int = 0  # the column where the word under the cursor begins
    column: int = 0  # the column where keys of this mapping begin
    is_flow: bool = False
    is_item: bool = False  # nothing is written yet where an item of a list begins


def unquoted(text: str) -> str:
    text = text.strip()
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        return text[1:end] if end > 0 else text[1:]
    return re.split(r"\s+#", text, maxsplit=1)[0].strip()


def cell_at(root: Cell, path: Path) -> Cell | None:
    """The cell that a path leads to."""
    found: Cell | None = root
    for key in path:
        if found is None:
            return None
        if isinstance(key, int):
            found = found.items[key] if key < len(found.items) else None
        else:
            found = found.box.cells.get(key) if found.box is not None else None
    return found
