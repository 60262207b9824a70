"""Flow collections of a text that is being written: `{a: 1, b: [` read bracket by bracket. See loose.py.

One that is never closed ends where a line begins that cannot be in it: at or left of the key it belongs to.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from noetl.dsl.spots import DEPTH_MAX, Box, Cell, Row, Spot, unquoted

if TYPE_CHECKING:
    from noetl.dsl.loose import Reader

CLOSING = {"}": Box, "]": Row}
WORD = re.compile(r"[\w.$-]*$")
REST = re.compile(r"[^\s,:{}\[\]]*")


def read_flow(reader: Reader, cell: Cell, start: int, column: int) -> None:
    """Read a collection that begins at a column of the line that the reader is at; the reader goes on after it."""
    _Flow(reader, cell, column).read(start)


class _Flow:
    def __init__(self, reader: Reader, cell: Cell, column: int) -> None:
        self.reader = reader
        self.column = column
        self.open: list[Cell] = []  # cells that are a mapping or a list which is not closed
        self.top = cell
        self.key = ""  # of the value that is being read
        self.has_key = False
        self.pieces: list[str] = []  # typed since the last bracket, comma or colon
        self.has_word = False  # some of it is no space

    @property
    def word(self) -> str:
        return "".join(self.pieces)

    def _add(self, piece: str) -> None:
        self.pieces.append(piece)
        self.has_word = self.has_word or bool(piece.strip())

    def _begin(self, key: str = "", *, has_key: bool = False) -> None:
        """Something new is read."""
        self.key, self.has_key, self.pieces, self.has_word = key, has_key, [], False

    def read(self, start: int) -> None:
        place = start
        while True:
            line = self.reader.lines[self.reader.number].rstrip("\r")
            if self._read_line(line, place):
                return
            place = 0
            if not self._has_next():
                self._note_end(line)
                return
            self.reader.number += 1
            self._add(" ")

    def _has_next(self) -> bool:
        """Whether the next line can be in the collection."""
        number = self.reader.number + 1
        if number >= len(self.reader.lines):
            return False
        text = self.reader.lines[number]
        indent = len(text) - len(text.lstrip(" "))
        is_cursor_there = number == self.reader.cursor_line and not text.strip()
        return (not text.strip() and not is_cursor_there) or indent > self.column or text.strip()[:1] in CLOSING

    def _note_end(self, line: str) -> None:
        """The text ends inside: so may the cursor."""
        if self.reader.is_here:
            self._mark(line)

    def _read_line(self, line: str, place: int) -> bool:
        """Read a line of it; True: it is closed."""
        while place < len(line):
            if self.reader.is_here and place >= self.reader.cursor:
                self._mark(line)
            char = line[place]
            if char in ("'", '"') and not self.has_word:
                place = self._quoted(line, place)
            elif line.startswith("{{", place):
                end = line.find("}}", place)
                end = len(line) if end < 0 else end + 2
                self._add(line[place:end])
                place = end
            elif char == "#" and line[place - 1 : place] in ("", " ", "\t"):
                break
            else:
                self._char(line, place, char)
                place += 1
            if not self.open:
                return True
        if self.reader.is_here and self.reader.cursor >= len(line):
            self._mark(line)
        return False

    def _quoted(self, line: str, place: int) -> int:
        quote, end = line[place], place + 1
        while end < len(line) and line[end] != quote:
            end += 2 if quote == '"' and line[end] == "\\" else 1
        if self.reader.is_here and place < self.reader.cursor <= end:
            self._add(line[place : self.reader.cursor])
            self._mark(line)
            place = self.reader.cursor
        self._add(line[place : end + 1])
        return end + 1

    def _char(self, line: str, place: int, char: str) -> None:
        if char in "{[" and not self.has_word and len(self.open) < DEPTH_MAX:
            self._push(char, place)
        elif char in CLOSING:
            self._finish()
            if self.open:
                self.open.pop()
            self._begin()
        elif char == ",":
            self._finish()
        elif char == ":" and not self.has_key and line[place + 1 : place + 2] in ("", " ", "\t", ",", "}"):
            self._begin(unquoted(self.word), has_key=True)
        else:
            self._add(char)

    def _push(self, char: str, place: int) -> None:
        cell = self._next_cell() if self.open else self.top
        if char == "{":
            cell.box = Box(column=place)
        else:
            cell.row = Row(column=place)
        self.open.append(cell)
        self._begin()

    def _next_cell(self) -> Cell:
        """The cell of what is being read, in the innermost collection."""
        holder = self.open[-1]
        if holder.row is not None:
            made = Cell(path=(*holder.path, len(holder.row.items)), line=self.reader.number)
            holder.row.items.append(made)
            return made
        made = Cell(path=(*holder.path, self.key), line=self.reader.number)
        if holder.box is not None and self.key:
            holder.box.cells[self.key] = holder.box.last = made
        return made

    def _finish(self) -> None:
        """A comma or a bracket: what was typed before it is a value, or a key without one."""
        if self.open and self.has_word:
            if not self.has_key and self.open[-1].box is not None:
                self.key = unquoted(self.word)
                self._next_cell()
            else:
                self._next_cell().text = self.word.strip()
        elif self.open and self.has_key:
            self._next_cell()
        self._begin()

    def _mark(self, line: str) -> None:
        """The cursor is here."""
        holder = self.open[-1] if self.open else self.top
        typed = self.word.lstrip()
        whole = typed + (REST.match(line, self.reader.cursor) or [""])[0]
        start = self.reader.cursor - len((WORD.search(typed) or [""])[0])
        is_value = self.has_key or holder.row is not None
        path = (*holder.path, self.key) if self.has_key else holder.path
        if holder.row is not None:
            path = (*holder.path, len(holder.row.items))
        self.reader.spot = Spot(
            root=self.reader.root,
            is_value=is_value,
            path=path,
            box=holder.box,
            key=self.key if self.has_key else unquoted(whole),
            before=typed,
            whole=whole,
            start=start,
            column=start,
            is_flow=True,
        )
