"""A text that is being written, read as far as it goes: keys and values by indentation, and what a cursor stands in.

`read.py` reads YAML, and most of the time a text under somebody's hands is none: a key without its colon, a bracket
that is not closed yet, a line that will be something. Here nothing is refused. Lines open mappings and lists by their
columns, as YAML has it; flow collections are read bracket by bracket (`loose_flow.py`); a line that fits nowhere is
left out. What comes out is a tree of cells with their texts as typed, and a `Spot`: where the cursor is.

Columns count from 0 here.
"""

from __future__ import annotations

import re

import msgspec

from noetl.dsl.loose_flow import read_flow
from noetl.dsl.spots import DEPTH_MAX, Box, Cell, Path, Row, Spot, cell_at, unquoted

BLANK = re.compile(r"[ \t]*(#.*)?$")
DASH = re.compile(r"-(?:[ \t]+|$)")
KEY = re.compile(
    r"""(?P<key>"[^"\n]*"|'[^'\n]*'|[^\s#:{}\[\],"'&*!|>%@`-][^#:\n]*?|-[^\s#:][^#:\n]*?)[ \t]*:(?:[ \t]+|$)"""
)
KEY_CHARACTERS_MAX = 1000
PROPERTY = re.compile(r"(?:[&!][^\s{}\[\],]*[ \t]+)+")
BLOCK = re.compile(r"[|>][-+0-9]*[ \t]*(?:#.*)?$")
DOCUMENT = "---"


class Open(msgspec.Struct):
    """A text whose next lines stand right of a column."""

    cell: Cell
    column: int
    lines: list[str]


class Reader:
    """Reads one text; `spot` is where the cursor was found."""

    def __init__(self, text: str, line: int, column: int) -> None:
        self.lines = text.split("\n")
        self.cursor_line = min(max(line, 0), len(self.lines) - 1)
        self.cursor = min(max(column, 0), len(self.lines[self.cursor_line]))
        self.root = Cell(path=(), line=0)
        self.stack: list[Box | Row] = []
        self.spot: Spot | None = None
        self.number = 0
        self.block: Open | None = None  # a text that goes on below

    def read(self) -> Spot:
        while self.number < len(self.lines):
            self._line(self.lines[self.number].rstrip("\r"))
            self.number += 1
        self._end_block()
        spot = self.spot or Spot(root=self.root, is_value=False, path=())
        if spot.is_value or spot.box is not None:
            return spot
        below = cell_at(spot.root, spot.path)  # what stands below the cursor may have made the mapping
        return msgspec.structs.replace(spot, box=below.box if below is not None else None)

    @property
    def is_here(self) -> bool:
        """Whether the cursor is in the line that is being read."""
        return self.number == self.cursor_line and self.spot is None

    def _line(self, text: str) -> None:
        indent = len(text) - len(text.lstrip(" "))
        if self._goes_on(text, indent):
            return
        if text.startswith(DOCUMENT) and text[3:4] in ("", " "):
            self._new_document(text)
        elif BLANK.match(text):
            if self.is_here:
                self._empty(text)
        else:
            self._written(text, indent)

    def _new_document(self, text: str) -> None:
        if self.spot is None:
            self.root, self.stack = Cell(path=(), line=self.number), []
            if self.is_here:
                self.spot = Spot(root=self.root, is_value=True, path=(), before=text[: self.cursor], whole=text)
        else:
            self.number = len(self.lines)

    # --- texts that go on --------------------------------------------------------------------------------------------

    def _goes_on(self, text: str, indent: int) -> bool:
        """Whether a line belongs to a text that began above."""
        if self.block is None:
            return False
        block, is_blank = self.block, not text.strip()
        if not is_blank or self.is_here:
            if (min(len(text), self.cursor) if is_blank else indent) <= block.column:
                self._end_block()
                return False
            if self.is_here:
                typed = text[: self.cursor]
                before = "\n".join((*block.lines, typed))
                self._in_value(block.cell, before, f"{before}{text[self.cursor :]}", typed)
        block.lines.append(text)
        return True

    def _end_block(self) -> None:
        if self.block is not None:
            self.block.cell.text = "\n".join(self.block.lines)
            self.block = None

    def _in_value(self, cell: Cell, before: str, whole: str, typed: str) -> None:
        key = next((one for one in reversed(cell.path) if isinstance(one, str)), "")
        start = len(typed) - len(last_word(typed))
        self.spot = Spot(
            root=self.root, is_value=True, path=cell.path, key=key, before=before, whole=whole, start=start
        )

    # --- lines -------------------------------------------------------------------------------------------------------

    def _empty(self, text: str) -> None:
        """The cursor is where nothing stands: what could be written there goes by its column."""
        column = min(self.cursor, len(text) - len(text.lstrip(" ")) if text.strip() else self.cursor)
        self._in_key(column, "", self.cursor)

    def _written(self, text: str, indent: int) -> None:
        column = indent
        while (dash := DASH.match(text, column)) and len(self.stack) < DEPTH_MAX:
            self._open_item(column)
            if self.is_here and self.cursor <= column:
                self._in_key(column, "", self.cursor)
            column = dash.end()
        if column >= len(text) or text[column] == "#":
            if self.is_here:
                self._in_key(max(column, self.cursor), "", self.cursor, is_item=True)
            return
        if key := KEY.match(text, column, column + KEY_CHARACTERS_MAX):
            self._pair(text, column, key)
        else:
            self._word(text, column)

    def _pair(self, text: str, column: int, key: re.Match[str]) -> None:
        name, end = unquoted(key["key"]), key.end("key")
        box, path = self._open_box(column)
        if self.is_here and self.cursor <= end:
            typed = text[column : max(self.cursor, column)]
            self.spot = self._key_spot(box, path, column, typed, name)
        cell = box.cells[name] = box.last = Cell(path=(*path, name), line=self.number)
        self._value(cell, text, key.end(), column)

    def _key_spot(self, box: Box | None, path: Path, column: int, typed: str, key: str, **more: bool) -> Spot:
        return Spot(
            root=self.root,
            is_value=False,
            path=path,
            box=box,
            key=key,
            before=typed,
            whole=key,
            start=column,
            column=column,
            **more,
        )

    def _value(self, cell: Cell, text: str, start: int, column: int) -> None:
        """What stands after a colon or a dash; `column`: what goes on below stands right of it."""
        if found := PROPERTY.match(text, start):
            start = found.end()
        cell.text = text[start:]
        is_flow = cell.text[:1] in ("{", "[") and cell.text[:2] != "{{"
        if self.is_here and (not is_flow or self.cursor <= start):
            self._in_value(cell, text[start : max(self.cursor, start)], text[start:], text[: self.cursor])
        if is_flow:
            cell.text = ""
            read_flow(self, cell, start, column)
            return
        if BLOCK.match(cell.text) or is_open(cell.text):
            self.block = Open(cell, column, [] if BLOCK.match(cell.text) else [cell.text])

    def _word(self, text: str, column: int) -> None:
        """A line without a colon: an item of a list, a text that goes on, or a key that is being typed."""
        top = self.stack[-1] if self.stack else None
        if isinstance(top, Row) and top.items[-1].line == self.number and top.items[-1].is_empty:
            if self.is_here:
                self._in_item(top.items[-1], text, column)
            self._value(top.items[-1], text, column, top.column)
            return
        if self.is_here:
            self._in_key(column, text[column : max(self.cursor, column)], column, whole=text[column:].strip())

    def _in_item(self, cell: Cell, text: str, column: int) -> None:
        """An item that may become a mapping, and may be a value."""
        typed = text[column : max(self.cursor, column)]
        if not is_open(typed) and "{{" not in typed and typed[:1] not in ("{", "["):
            self.spot = self._key_spot(None, cell.path, column, typed, text[column:].strip(), is_item=True)

    def _in_key(self, column: int, typed: str, start: int, whole: str = "", *, is_item: bool = False) -> None:
        """The cursor is where a key can be written at some column."""
        stack = list(self.stack)
        if is_item and stack and isinstance(stack[-1], Row):
            self.spot = Spot(
                root=self.root,
                is_value=False,
                path=stack[-1].items[-1].path,
                before=typed,
                whole=whole,
                start=start,
                column=column,
                is_item=True,
            )
            return
        box, path = self._box_for(stack, column)
        self.spot = Spot(
            root=self.root,
            is_value=False,
            path=path,
            box=box,
            key=whole,
            before=typed,
            whole=whole,
            start=start,
            column=column,
        )

    # --- what is open ------------------------------------------------------------------------------------------------

    def _open_item(self, column: int) -> None:
        while self.stack and self.stack[-1].column > column:
            self.stack.pop()
        top = self.stack[-1] if self.stack else None
        if not (isinstance(top, Row) and top.column == column):
            holder = self._last_cell(self.stack)
            holder.row = top = holder.row or Row(column=column)
            self.stack.append(top)
            self._path_of_row = holder.path
        path = self._path_of(top)
        top.items.append(Cell(path=(*path, len(top.items)), line=self.number))

    def _path_of(self, row: Row) -> Path:
        return row.items[-1].path[:-1] if row.items else self._path_of_row

    def _open_box(self, column: int) -> tuple[Box, Path]:
        """The mapping that a key at a column stands in, made if there is none yet."""
        box, path = self._box_for(self.stack, column)
        if box is None:
            holder = self._last_cell(self.stack)
            box = holder.box = Box(column=column)
        if (not self.stack or self.stack[-1] is not box) and len(self.stack) < DEPTH_MAX:
            self.stack.append(box)
        return box, path

    def _box_for(self, stack: list[Box | Row], column: int) -> tuple[Box | None, Path]:
        """The mapping that a key at a column would stand in, and its path; the stack is cut back to it."""
        while stack and (stack[-1].column > column or (isinstance(stack[-1], Row) and stack[-1].column == column)):
            stack.pop()
        top = stack[-1] if stack else None
        if isinstance(top, Box) and top.column == column:
            path = top.last.path[:-1] if top.last is not None else ()
            return top, path
        holder = self._last_cell(stack)
        return holder.box, holder.path

    def _last_cell(self, stack: list[Box | Row]) -> Cell:
        """The cell that what comes next, further right, belongs to."""
        top = stack[-1] if stack else None
        if isinstance(top, Box) and top.last is not None:
            return top.last
        return top.items[-1] if isinstance(top, Row) and top.items else self.root


def is_open(text: str) -> bool:
    """Whether a quoted text is not closed on its line."""
    quote = text[:1]
    if quote not in ("'", '"'):
        return False
    inside = text[1:].replace("\\\\", "").replace('\\"', "") if quote == '"' else text[1:].replace("''", "")
    return quote not in inside


def last_word(text: str) -> str:
    """The word that is being typed at the end of a text."""
    found = re.search(r"[\w.$-]*$", text)
    return found[0] if found else ""


def read_loosely(text: str, line: int, column: int) -> Spot:
    """A text and a cursor, counted from 0."""
    return Reader(text, line, column).read()
