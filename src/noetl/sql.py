"""SQL as a template gives it: the author's own text, and apart from it everything that came out of an expression.

A value never becomes part of the text; the tool binds it (security 8). A name that was marked with `| ident` is kept
apart as well, because only whoever knows what stands around it (a quote, a comment) can put it there safely. What was
marked with `| raw_sql` is text already.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Bound(msgspec.Struct, frozen=True):
    """A value to be bound where it stands; may be a `Secret`."""

    value: Any


class Name(msgspec.Struct, frozen=True):
    """The name of a table or column: its parts, outermost first."""

    parts: tuple[str, ...]

    @property
    def quoted(self) -> str:
        return ".".join('"' + part.replace('"', '""') + '"' for part in self.parts)


class Sql(msgspec.Struct, frozen=True):
    """A command: texts of the author's, values and names, in order."""

    pieces: tuple[str | Bound | Name, ...]

    @property
    def shown(self) -> str:
        """The command for people to read: each value as …, so that it can be recorded."""
        return "".join(map(_shown, self.pieces))


def _shown(piece: str | Bound | Name) -> str:
    if isinstance(piece, str):
        return piece
    return piece.quoted if isinstance(piece, Name) else "…"
