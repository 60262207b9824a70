"""Tokens of a command → the tokens of each of its statements.

A statement ends at a `;` outside of parentheses (CREATE RULE … DO (…; …)) and of BEGIN ATOMIC … END, the body of a
function in standard SQL. Space around a statement is dropped; comments alone are no statement.
"""

from __future__ import annotations

from collections.abc import Iterator

from noetl.tools.sql_lexer import COMMENT, SIGN, SPACE, WORD, Token

BLANK = frozenset((SPACE, COMMENT))


def spans(tokens: list[Token]) -> Iterator[list[Token]]:
    """The statements, none of them empty."""
    span: list[Token] = []
    nesting = _Nesting()
    for token in tokens:
        nesting.see(token)
        if token.kind == SIGN and token.text == ";" and nesting.is_outside:
            yield from _trimmed(span)
            span, nesting = [], _Nesting()
        else:
            span.append(token)
    yield from _trimmed(span)


def _trimmed(span: list[Token]) -> Iterator[list[Token]]:
    if all(token.kind in BLANK for token in span):
        return
    first = next(index for index, token in enumerate(span) if token.kind != SPACE)
    last = max(index for index, token in enumerate(span) if token.kind != SPACE)
    yield span[first : last + 1]


class _Nesting:
    """How deep inside one statement we are."""

    def __init__(self) -> None:
        self.parentheses = 0
        self.blocks = 0  # BEGIN ATOMIC, and each CASE inside
        self.word = ""  # the word before, if nothing else came between

    @property
    def is_outside(self) -> bool:
        return not self.parentheses and not self.blocks

    def see(self, token: Token) -> None:
        if token.kind in BLANK:
            return
        word = token.text.upper() if token.kind == WORD else ""
        if token.kind == SIGN:
            self.parentheses = max(0, self.parentheses + {"(": 1, ")": -1}.get(token.text, 0))
        elif self.word == "BEGIN" and word == "ATOMIC":
            self.blocks += 1
        elif self.blocks:
            self.blocks += {"CASE": 1, "END": -1}.get(word, 0)
        self.word = word
