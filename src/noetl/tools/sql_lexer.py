"""SQL text → tokens, as PostgreSQL and DuckDB read it: the first stage of a command's way to a driver.

Comes in: text in which each `{{ }}` is one HOLE character. Goes out: tokens that together are the text again. Only what
decides where a statement ends, and what a hole stands in, is told apart: quoted things, comments, words, numbers,
placeholders. Everything else is a token of one character, so operators need no table. Never looks at a value: the
tokens are the same whatever the holes stand for (security 8).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from noetl.errors import UnusableSql

HOLE: Final = "\0"  # no SQL text may hold it, so it cannot be the author's

SPACE, COMMENT, WORD, NUMBER, SIGN = "space", "comment", "word", "number", "sign"
TEXT, ESCAPED, UNICODE, BITS, DOLLAR = "text", "escaped", "unicode", "bits", "dollar"  # '' E'' U&'' B'' $$ $$
QUOTED_NAME, OPENED, VALUE = "quoted_name", "opened", "value"  # "…", a quote alone, a hole that stands by itself
NUMBERED, NAMED, FORMAT_NAMED, FORMAT, QUESTION = "numbered", "named", "format_named", "format", "question"

LITERALS: Final = frozenset((TEXT, ESCAPED, UNICODE, BITS, DOLLAR))
PLACEHOLDERS: Final = frozenset((NUMBERED, NAMED, FORMAT_NAMED, FORMAT, QUESTION))

LETTER = r"[A-Za-z_\x80-\U0010ffff]"
WORD_SIGN = r"[A-Za-z0-9_$\x80-\U0010ffff]"
PLAIN = r"'[^']*(?:''[^']*)*'"
NAME = r'"[^"]*(?:""[^"]*)*"'

TOKEN: Final = re.compile(
    "|".join(
        f"(?P<{kind}>{pattern})"
        for kind, pattern in (
            (SPACE, r"[ \t\r\n\f\v]+"),
            (COMMENT, r"--[^\r\n]*|/\*"),
            (ESCAPED, r"[eE]'[^'\\]*(?:(?:''|\\.)[^'\\]*)*'"),
            (BITS, rf"[bBxX]{PLAIN}"),
            (UNICODE, rf"[uU]&{PLAIN}"),
            (TEXT, rf"[nN]?{PLAIN}"),
            (QUOTED_NAME, rf"(?:[uU]&)?{NAME}"),
            (OPENED, r"[eE]?'|\""),  # and never closed
            (NUMBERED, r"\$[0-9]+"),
            (DOLLAR, rf"\$(?:{LETTER}[A-Za-z0-9_\x80-\U0010ffff]*)?\$"),
            (WORD, f"{LETTER}{WORD_SIGN}*"),
            (NUMBER, r"\.?[0-9][A-Za-z0-9_]*"),
            (VALUE, HOLE),
            # not after what a slice, a cast or a key of a struct can follow
            (NAMED, rf"(?<![A-Za-z0-9_$\x80-\U0010ffff:'\")\]}}\x00]):{LETTER}[A-Za-z0-9_\x80-\U0010ffff]*"),
            (FORMAT_NAMED, rf"(?<!%)%\({LETTER}[A-Za-z0-9_\x80-\U0010ffff]*\)s(?!{WORD_SIGN})"),
            (FORMAT, rf"(?<!%)%s(?!{WORD_SIGN}|\()"),
            (QUESTION, r"(?<!@)\?(?:(?![|&])|(?=\|\|))"),  # ?| ?& @? are operators of jsonb
            (SIGN, r"::|."),
        )
    ),
    re.DOTALL,
)
COMMENT_MARK: Final = re.compile(r"/\*|\*/")


class Token(msgspec.Struct, frozen=True, gc=False):
    """A piece of the text, and what it is."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def holes(self) -> int:
        return self.text.count(HOLE)


def tokens_of(text: str) -> Iterator[Token]:
    """The tokens of a text; raises UnusableSql if something that was opened is not closed."""
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        assert found is not None  # noqa: S101 - a sign is any character
        kind = found.lastgroup or SIGN
        end = found.end()
        if kind == DOLLAR:
            end = _end_of_body(text, found.group(), at)
        elif found.group() == "/*":
            end = _end_of_comment(text, at)
        elif kind == OPENED:
            raise _unclosed(text, at, f"a text that begins with {found.group()}")
        yield Token(kind, text[at:end], at)
        at = end


def _end_of_body(text: str, tag: str, start: int) -> int:
    closing = text.find(tag, start + len(tag))
    if closing < 0:
        raise _unclosed(text, start, f"a text that begins with {tag}")
    return closing + len(tag)


def _end_of_comment(text: str, start: int) -> int:
    """Comments nest."""
    depth = 0
    for mark in COMMENT_MARK.finditer(text, start):
        depth += 1 if mark.group() == "/*" else -1
        if not depth:
            return mark.end()
    raise _unclosed(text, start, "a comment that begins with /*")


def _unclosed(text: str, start: int, what: str) -> UnusableSql:
    return UnusableSql(f"{what} is never closed", text.count("\n", 0, start) + 1)
