"""The part of a command's binding that no value changes, worked out once: a loop sends one text thousands of times.

A command with a mark for each hole comes in; its statements go out, each with its text as it is sent and how many
values it takes. That is only so where every hole stands by itself: a value inside a literal or a comment becomes a part
of one, and a name part of the text, so a command with such a hole has no shape and is bound anew each time. The text is
made by `Binding` here as there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from noetl.sql import Bound
from noetl.tools.sql_binding import Binding
from noetl.tools.sql_lexer import HOLE, VALUE, Token, tokens_of
from noetl.tools.sql_params import Arguments
from noetl.tools.sql_split import spans

SHAPES_KEPT_MAX: Final = 256
TEXT_CHARACTERS_MAX: Final = 16 * 1024  # a longer one is data that somebody wrote as SQL, and does not come again

ANY_VALUE: Final = Bound(None)


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """One statement without its values."""

    text: str
    line: int
    holes: int


def shapes_of(text: str) -> tuple[Shape, ...] | None:
    """The statements of a marked text; None: they depend on its values. Raises UnusableSql whatever the values are."""
    return _kept_shapes_of(text) if len(text) <= TEXT_CHARACTERS_MAX else None


@lru_cache(SHAPES_KEPT_MAX)
def _kept_shapes_of(text: str) -> tuple[Shape, ...] | None:
    tokens = list(tokens_of(text))
    if any(token.kind != VALUE for token in tokens if HOLE in token.text):
        return None
    arguments = Arguments(None, ())
    return tuple(_shape(text, span, arguments) for span in spans(tokens))


def _shape(text: str, span: list[Token], arguments: Arguments) -> Shape:
    start, end = span[0].start, span[-1].end
    holes = text.count(HOLE, start, end)
    sent = Binding(text, span, [ANY_VALUE] * holes, arguments).bound()[0] if holes else text[start:end]
    return Shape(text=sent, line=text.count("\n", 0, start) + 1, holes=holes)
