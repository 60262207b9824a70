"""SQL of a playbook → statements for a driver: text with $1 … $n, and the values apart.

Comes in: commands as their templates gave them (`noetl.sql.Sql`) and the task's `params`. Goes out: their statements in
order. The text depends on what the author wrote, never on a value: a value becomes a placeholder, inside a literal it
makes the whole literal one, in a comment it becomes nothing, and where it cannot be bound the command is refused.
Raises UnusableSql. Secrets stay sealed: the tool opens them when it binds.

    Sql ─ sql_lexer ─ tokens ─ sql_split ─ tokens of one statement ─ sql_binding ─ Statement

A command that came before with other values takes a shorter way (sql_shapes.py), to the same statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from noetl.errors import UnusableSql
from noetl.secret import Secret
from noetl.sql import Bound, Name, Sql
from noetl.tools.sql_binding import Binding
from noetl.tools.sql_lexer import HOLE, Token, tokens_of
from noetl.tools.sql_literals import Filling
from noetl.tools.sql_params import Arguments, Params
from noetl.tools.sql_shapes import shapes_of
from noetl.tools.sql_split import spans

PLAIN: Final = frozenset((str, int, float, bool, type(None), list, dict, Secret))  # bound as they are


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement: `values` belong to $1 … $n of its text, which begins in that line of the command."""

    text: str
    values: tuple[Any, ...] = ()  # may hold a Secret
    line: int = 1
    command: int = 0  # which of several commands it is from


def statements(sql: Sql | str | Sequence[Sql | str], params: Params = None) -> list[Statement]:
    """The statements of a command, or of several; `params` are for all of them together."""
    if params is None and isinstance(sql, Sql) and (known := _of_known_shape(sql)) is not None:
        return known
    return bound_anew(sql, params)


def bound_anew(sql: Sql | str | Sequence[Sql | str], params: Params = None) -> list[Statement]:
    """The same, every token looked at."""
    commands = [_Marked(one) for one in ([sql] if isinstance(sql, Sql | str) else sql)]
    arguments = Arguments(params, (token for command in commands for token in command.tokens))
    found = [one for index, command in enumerate(commands) for one in command.statements(arguments, index)]
    arguments.check_all_used()
    return found


def _of_known_shape(sql: Sql) -> list[Statement] | None:
    """The statements of a command into which values go and nothing else; None: it has to be looked at."""
    pieces = sql.pieces
    values = [piece.value for piece in pieces if type(piece) is Bound]
    texts = [piece for piece in pieces if type(piece) is str]
    if len(values) + len(texts) < len(pieces) or not PLAIN.issuperset(map(type, values)) or HOLE in "".join(texts):
        return None
    shapes = shapes_of("".join([piece if type(piece) is str else HOLE for piece in pieces]))
    if shapes is None:
        return None
    left = iter(values)
    return [Statement(text=shape.text, values=tuple(islice(left, shape.holes)), line=shape.line) for shape in shapes]


class _Marked:
    """A command as one text with a mark for each hole, and what stands for the holes."""

    def __init__(self, sql: Sql | str) -> None:
        pieces = sql.pieces if isinstance(sql, Sql) else (sql,)
        if any(HOLE in _text_of(piece) for piece in pieces):
            raise UnusableSql("SQL cannot hold the character U+0000")
        self.text = "".join(piece if isinstance(piece, str) else HOLE for piece in pieces)
        self.fillings: list[Filling] = [piece for piece in pieces if not isinstance(piece, str)]
        self.tokens: list[Token] = list(tokens_of(self.text))

    def statements(self, arguments: Arguments, command: int) -> list[Statement]:
        found = []
        at, line, hole = 0, 1, 0
        for span in spans(self.tokens):
            start = span[0].start
            line, hole = line + self.text.count("\n", at, start), hole + self.text.count(HOLE, at, start)
            text, values = self._bound(span, hole, arguments)
            found.append(Statement(text=text, values=values, line=line, command=command))
            at = start
        return found

    def _bound(self, span: list[Token], hole: int, arguments: Arguments) -> tuple[str, tuple[Any, ...]]:
        start, end = span[0].start, span[-1].end
        holes = self.text.count(HOLE, start, end)
        if not holes and not arguments.styles:  # it is sent as it stands
            return self.text[start:end], ()
        return Binding(self.text, span, self.fillings[hole : hole + holes], arguments).bound()


def _text_of(piece: str | Bound | Name) -> str:
    """What of a piece becomes text."""
    if isinstance(piece, str):
        return piece
    return piece.quoted if isinstance(piece, Name) else ""
