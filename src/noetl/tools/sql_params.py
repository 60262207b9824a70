"""`params` of a task: which placeholders of the SQL they fill.

The type of `params` decides what a placeholder is. A mapping fills `:name` and `%(name)s`. A list fills the first of
`$1`, `%s` and `?` that the SQL has, and the other two stay as they are, so that `?` can be an operator beside `$1`.
Without `params` nothing is a placeholder. Never looks inside quotes or comments: the lexer has no placeholder there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from noetl.errors import UnusableSql
from noetl.tools.sql_lexer import FORMAT, FORMAT_NAMED, NAMED, NUMBERED, QUESTION, Token

Params = Mapping[str, Any] | Sequence[Any] | None
NAMED_STYLES: Final = frozenset((NAMED, FORMAT_NAMED))
SPELLINGS: Final = {NUMBERED: "$1", FORMAT: "%s", QUESTION: "?"}  # in order of choice


class Arguments:
    """The values of `params`, and which of them were asked for."""

    def __init__(self, params: Params, tokens: Iterable[Token]) -> None:
        self.values: dict[str | int, Any] = {}
        self.used: set[str | int] = set()
        self.next = 1  # the number of the next %s or ?
        self.styles: frozenset[str] = frozenset()
        if isinstance(params, Mapping):
            self.values.update(params)
            self.styles = NAMED_STYLES
        elif params is not None:
            self.values.update(enumerate(params, start=1))
            found = {token.kind for token in tokens}
            self.styles = frozenset([style for style in SPELLINGS if style in found][:1])

    def key_of(self, token: Token) -> str | int | None:
        """Which of the params a token stands for; None: it is no placeholder here."""
        if token.kind not in self.styles:
            return None
        key = self._key(token)
        if key not in self.values:
            raise UnusableSql(f"{token.text} has no value: {self._missing(key, token)}")
        self.used.add(key)
        return key

    def _key(self, token: Token) -> str | int:
        if token.kind == NAMED:
            return token.text[1:]
        if token.kind == FORMAT_NAMED:
            return token.text[2:-2]
        if token.kind == NUMBERED:
            return int(token.text[1:])
        self.next += 1
        return self.next - 1

    def _missing(self, key: str | int, token: Token) -> str:
        names = ", ".join(map(str, self.values)) or "none"
        if isinstance(key, int):
            return f"params has {len(self.values)} values, and this is number {key}"
        hint = "; for a slice put a space after the colon" if token.kind == NAMED else ""
        return f'params has no "{key}", only: {names}{hint}'

    def check_all_used(self) -> None:
        left = [str(key) for key in self.values if key not in self.used]
        if not left:
            return
        if self.styles == NAMED_STYLES or isinstance(next(iter(self.values)), str):
            wanted = f"write :{left[0]} outside of quotes where it belongs"
        else:
            wanted = "write $1, $2 … (or %s, or ?) outside of quotes where they belong"
        raise UnusableSql(f"params has values that the SQL does not use: {', '.join(left)}; {wanted}, or take them out")
