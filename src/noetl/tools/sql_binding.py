"""The tokens of one statement → its text with $1 … $n, and the values in that order.

What stands for a hole is decided by where the hole is. By itself: a placeholder, or a quoted name for `| ident`. In a
literal: the whole literal becomes one placeholder, and a constant with its type before it (DATE '{{ d }}') a CAST,
since no database takes DATE $1. In a comment: nothing. In a quoted name, or touching a word: refused, for there it
would be a part of the SQL itself.
"""

from __future__ import annotations

import re
from typing import Any, Final

from noetl.errors import UnusableSql
from noetl.secret import Secret
from noetl.sql import Name
from noetl.tools.sql_constants import INTERVAL_UNITS, typed_constant
from noetl.tools.sql_lexer import COMMENT, HOLE, LITERALS, NUMBERED, PLACEHOLDERS, VALUE, WORD, Token
from noetl.tools.sql_literals import Filling, bound_text
from noetl.tools.sql_params import Arguments
from noetl.tools.sql_split import BLANK
from noetl.tools.sql_verbs import takes_no_values

VALUES_MAX: Final = 65_535  # what PostgreSQL's protocol can count
TOUCHING_BEFORE: Final = re.compile(r'(?:[A-Za-z0-9_$"\x80-\U0010ffff\x00]|[uU]&)\Z')
TOUCHING_AFTER: Final = re.compile(r'[A-Za-z0-9_$"\x80-\U0010ffff\x00]')
APART: Final = frozenset(("", *" \t\r\n\f\v()[]{},.:;=<>+-*/%|&!~@#^"))  # next to these a placeholder is one by itself
BINDABLE: Final = (str, int, float, type(None), list, dict, Secret)


class Binding:
    """One statement being bound: `fillings` are what stands for its holes."""

    def __init__(self, text: str, span: list[Token], fillings: list[Filling], arguments: Arguments) -> None:
        self.text = text
        self.span = span
        self.fillings = iter(fillings)
        self.arguments = arguments
        self.values: list[Any] = []
        self.numbers: dict[str | int, int] = {}  # a param asked for twice is bound once
        self.own_number = ""  # a $1 of the author's that no params fill

    def bound(self) -> tuple[str, tuple[Any, ...]]:
        """The text and its values; UnusableSql says the line."""
        index = 0
        try:
            self._check_beginning()
            pieces: list[str] = []
            while index < len(self.span):
                piece, index = self._next(index)
                pieces.append(piece)
            index = 0
            self._check_values()
        except UnusableSql as fault:
            raise fault.in_line(self.text.count("\n", 0, self.span[index].start) + 1) from None
        return "".join(pieces).rstrip("\n"), tuple(self.values)

    def _next(self, index: int) -> tuple[str, int]:
        constant = typed_constant(self.span, index)
        if constant is None:
            return self._written(self.span[index]), index + 1
        words, literal = constant
        self._check_no_unit(literal)
        return f"CAST({self._literal(self.span[literal])} AS {words})", literal + 1

    def _written(self, token: Token) -> str:
        if token.kind in PLACEHOLDERS:
            return self._placeholder(token)
        if not token.holes:
            return token.text
        if token.kind == VALUE:
            return self._standing(token)
        if token.kind in LITERALS:
            return self._literal(token)
        if token.kind == COMMENT:
            self._taken(token)
            return token.text.replace(HOLE, " ")  # a space, since nothing could bring a * and a / together
        raise UnusableSql("a value cannot be part of a quoted name; write {{ … | ident }} without the quotes")

    def _standing(self, token: Token) -> str:
        """A hole by itself: it must be a token by itself in the text that is sent, too."""
        filling = self._taken(token)[0]
        before, after = self.text[max(0, token.start - 2) : token.start], self.text[token.end : token.end + 1]
        is_name = isinstance(filling, Name)
        is_dotted = before.endswith(".") or after == "."
        if TOUCHING_BEFORE.search(before) or TOUCHING_AFTER.match(after) or (is_dotted and not is_name):
            raise UnusableSql(
                "a value cannot be a part of a word or name; put a space between them, or build the whole name in one "
                "expression and mark it: {{ … | ident }}"
            )
        return filling.quoted if isinstance(filling, Name) else self._apart(self._bind(filling.value), token)

    def _literal(self, token: Token) -> str:
        placeholder = self._bind(bound_text(token, self._taken(token)))
        return self._apart(placeholder, token) + "\n" * token.text.count("\n")  # later lines keep their number

    def _placeholder(self, token: Token) -> str:
        key = self.arguments.key_of(token)
        if key is None:
            if token.kind == NUMBERED:
                self.own_number = token.text
            return token.text
        if key not in self.numbers:
            self._bind(self.arguments.values[key])
            self.numbers[key] = len(self.values)
        return self._apart(f"${self.numbers[key]}", token)

    def _apart(self, placeholder: str, token: Token) -> str:
        """LIKE'{{ a }}' is fine, but LIKE$1 is the name of a column."""
        before, after = self.text[max(0, token.start - 1) : token.start], self.text[token.end : token.end + 1]
        return f"{'' if before in APART else ' '}{placeholder}{'' if after in APART else ' '}"

    def _bind(self, value: Any) -> str:
        if isinstance(value, range | tuple):
            value = list(value)
        if not isinstance(value, BINDABLE):
            raise UnusableSql(f"a value of type {type(value).__name__} cannot be bound")
        self.values.append(value)
        return f"${len(self.values)}"

    def _taken(self, token: Token) -> list[Filling]:
        return [next(self.fillings) for _ in range(token.holes)]

    def _check_beginning(self) -> None:
        first = next(token for token in self.span if token.kind not in BLANK)
        if first.holes:
            raise UnusableSql(
                "a statement cannot begin with a value: a value is bound, it is never run. Write the statement in the "
                "playbook; if the SQL itself is data that you trust, mark it: {{ … | raw_sql }}"
            )

    def _check_no_unit(self, literal: int) -> None:
        rest = (self.span[index] for index in range(literal + 1, len(self.span)))
        following = next((token for token in rest if token.kind not in BLANK), None)
        if following and following.kind == WORD and following.text.upper() in INTERVAL_UNITS:
            unit = following.text.lower()
            raise UnusableSql(f"write the unit inside the quotes, as in interval '{{{{ … }}}} {unit}'")

    def _check_values(self) -> None:
        verb = takes_no_values(self.span) if self.values else ""
        if verb:
            raise UnusableSql(
                f"a database binds no value in {verb}; write the value itself, mark a name with | ident, or "
                "hand the value over in a statement before: SELECT set_config('my.value', {{ … }}, true)"
            )
        if len(self.values) > VALUES_MAX:
            count = len(self.values)
            raise UnusableSql(f"a statement may have {VALUES_MAX} values, but this has {count}; load rows with copy")
        if self.values and self.own_number:
            raise UnusableSql(
                f"{self.own_number} stands beside other values, so it is not clear which one it means; "
                "give its value in a list under params, or write {{ … }} in its place"
            )
