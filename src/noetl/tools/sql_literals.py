"""A literal with values in it → one text to be bound: `'{{ a }}-x'` is the author's text and the value, put together.

Comes in: a literal token with holes, and what stands for each hole. The author's part of the literal is read first
(doubled quotes, escapes of E'' and U&''), the values are joined to it as they are: no sign in a value is special.
In a text, true and false are written so, lists and mappings as JSON, and none as nothing; a literal that is one value
and nothing else is null if the value is none. A text with a secret in it is a secret.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Final

import msgspec

from noetl.errors import UnusableSql
from noetl.secret import Secret, has_secret, revealed
from noetl.sql import Bound, Name
from noetl.tools.sql_lexer import BITS, DOLLAR, ESCAPED, HOLE, UNICODE, Token

ESCAPE: Final = re.compile(
    r"''|\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL
)
CODE_POINT: Final = re.compile(r"''|\\(?:([0-9A-Fa-f]{4})|\+([0-9A-Fa-f]{6})|(.))", re.DOTALL)
CONTROLS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
BYTE_PLAIN_MAX: Final = 0x7F

encode_json = msgspec.json.Encoder().encode
Filling = Bound | Name


def bound_text(literal: Token, fillings: list[Filling]) -> Any:
    """The one value that a literal with holes stands for."""
    texts = _own_texts(literal)
    if len(fillings) == 1 and not any(texts) and _value(fillings[0]) is None:
        return None
    joined = texts[0] + "".join(_written(one) + text for one, text in zip(fillings, texts[1:], strict=True))
    return Secret(joined) if any(has_secret(_value(one)) for one in fillings) else joined


def _own_texts(literal: Token) -> list[str]:
    """The author's text before, between and after the holes, its escapes read."""
    if literal.kind == BITS:
        raise UnusableSql("a value cannot stand inside B'' or X''; write CAST({{ … }} AS …) with the type")
    if literal.kind == DOLLAR:
        tag = literal.text.index("$", 1) + 1
        return literal.text[tag:-tag].split(HOLE)
    body = literal.text[literal.text.index("'") + 1 : -1].split(HOLE)
    if literal.kind == ESCAPED:
        return [_unescaped(text, ESCAPE) for text in body]
    if literal.kind == UNICODE:
        return [_unescaped(text, CODE_POINT) for text in body]
    return [text.replace("''", "'") for text in body]


def _unescaped(text: str, escapes: re.Pattern[str]) -> str:
    if (len(text) - len(text.rstrip("\\"))) % 2:
        raise UnusableSql("a backslash stands right before {{; write two for a backslash, or take it out")
    found = escapes.sub(_character, text)
    try:
        return found.encode("utf-16-le", "surrogatepass").decode("utf-16-le")  # two escapes may be one character
    except UnicodeDecodeError:
        raise UnusableSql("an escape is half of a character; write the character as it is") from None


def _character(found: re.Match[str]) -> str:
    if found.group() == "''":
        return "'"
    *codes, plain = found.groups()
    is_plain_escape = found.re is ESCAPE
    if plain is not None:
        return CONTROLS.get(plain, plain) if is_plain_escape else plain
    is_octal = is_plain_escape and codes[0] is not None
    is_byte = is_octal or (is_plain_escape and codes[1] is not None)
    number = int(next(code for code in codes if code), 8 if is_octal else 16)
    if not 0 < number <= (BYTE_PLAIN_MAX if is_byte else sys.maxunicode):
        raise UnusableSql(
            f"{found.group()} is not a character; beside a value write it as it is, or as \\u and 4 digits"
        )
    return chr(number)


def _value(filling: Filling) -> Any:
    return filling.quoted if isinstance(filling, Name) else filling.value


def _written(filling: Filling) -> str:
    value = revealed(_value(filling))
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return encode_json(value).decode()
    return "" if value is None else str(value)
