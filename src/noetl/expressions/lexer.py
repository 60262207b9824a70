"""Stage 1 of an expression: text → tokens that know where they stand.

Jinja2's lexer counts lines; a playbook's author needs columns, and `rename` needs exact spans. So we cut the text
ourselves, by Jinja2's own patterns, and give each token its character offset in the place where Jinja2 keeps the line
number. Nodes made by Jinja2's parser then carry offsets too. In passing we keep line breaks as they were written
(Jinja2 would turn CR LF into LF and so change the author's text) and bound the nesting of brackets before a recursive
parser meets it.

In: any str. Out: `Tokens`, or `TemplateSyntaxFault`. A test compares the outcome with Jinja2's lexer on generated
texts.
"""

import math
import re
from functools import cache
from typing import Any, Final, cast

from jinja2._identifier import pattern as name_re
from jinja2.lexer import Token, float_re, integer_re, operator_re, operators, string_re

from noetl.expressions.faults import TemplateSyntaxFault
from noetl.expressions.limits import BRACKETS_MAX, INTEGER_MAX

OPENING: Final = re.compile(r"\{%[-+]?\s*raw\s*(?:-%\}\s*|%\})|\{\{[-+]?|\{%[-+]?|\{#[-+]?")
RAW_END: Final = re.compile(r"\{%([-+]?)\s*endraw\s*(?:\+%\}|-%\}\s*|%\})")
COMMENT_END: Final = re.compile(r"\+#\}|-#\}\s*|#\}")

ASCII_NAME: Final = re.compile(r"\w+")

CLOSER: Final = {"(": ")", "[": "]", "{": "}"}
DIGITS_MAX: Final = 80  # 64 bits written in binary, with underscores to spare


@cache
def _inside(end: str, is_ascii: bool) -> re.Pattern[str]:
    """The pattern of one token inside a tag, its end among them.

    Made when first needed: Jinja2's letters of all scripts take 10 ms to compile, and few sources need them.
    """
    rest = "|".join(
        f"(?P<{kind}>{_plain(pattern)})"
        for kind, pattern in (
            ("float", float_re),
            ("integer", integer_re),
            ("name", ASCII_NAME if is_ascii else name_re),
            ("string", string_re),
            ("operator", operator_re),
        )
    )
    return re.compile(rf"\s*(?:(?P<end>{end})|{rest})", re.S)


def _plain(pattern: re.Pattern[str]) -> str:
    """A pattern's text with its own flags written in, so that several can stand in one."""
    ignore_case = "i" if pattern.flags & re.I else ""
    verbose = "x" if pattern.flags & re.X else ""
    flags = ignore_case + verbose
    return f"(?{flags}:{pattern.pattern})" if flags else f"(?:{pattern.pattern})"


VARIABLE_END: Final = r"-\}\}\s*|\}\}"
BLOCK_END: Final = r"\+%\}|-%\}\s*|%\}"


class Mark(Token):
    """A Jinja2 token whose `lineno` is its character offset; `test` is Jinja2's, without splitting text each time."""

    __slots__ = ()

    def test(self, expr: str) -> bool:
        """Does this token match "type" or "name:value"?"""
        return self[1] == expr or (self[1] == "name" and expr == f"name:{self[2]}")


class Tokens:
    """The tokens of one source, with what else the later stages ask about it."""

    __slots__ = ("blocks", "closes", "ends", "extras", "marks", "source", "variables")

    def __init__(self, source: str) -> None:
        self.source = source
        self.marks: list[Mark] = []
        self.ends: list[int] = []  # where each mark ends
        self.closes: dict[int, int] = {}  # opening bracket's offset → end of its closing one
        self.variables = 0  # {{ }}
        self.blocks = 0  # {% %}
        self.extras = 0  # comments and raw sections

    def add(self, offset: int, kind: str, value: Any, end: int) -> None:
        """Keep one token."""
        self.marks.append(tuple.__new__(Mark, (offset, kind, value)))
        self.ends.append(end)


def tokenize(source: str) -> Tokens:
    """Cut a source into tokens."""
    tokens = Tokens(source)
    position = 0
    while True:
        opening = OPENING.search(source, position)
        if opening is None:
            _data(tokens, position, len(source), "")
            return tokens
        start, tag = opening.start(), opening.group()
        _data(tokens, position, start, tag[2:3])
        if tag[1] == "{":
            position = _tag(tokens, start, opening.end(), "variable", VARIABLE_END)
            tokens.variables += 1
        elif tag[1] == "#":
            position = _comment(tokens, start, opening.end())
        elif tag[-1] in "%-+":
            position = _tag(tokens, start, opening.end(), "block", BLOCK_END)
            tokens.blocks += 1
        else:
            position = _raw(tokens, start, opening.end())


def _data(tokens: Tokens, start: int, end: int, sign: str) -> None:
    """Text between tags; a following {{- takes the white space before it."""
    text = tokens.source[start:end]
    if sign == "-":
        text = text.rstrip()
    if text:
        tokens.add(start, "data", text, start + len(text))


def _comment(tokens: Tokens, start: int, position: int) -> int:
    closing = COMMENT_END.search(tokens.source, position)
    if closing is None:
        raise TemplateSyntaxFault("this comment has no end: #} is missing", start)
    tokens.extras += 1
    return closing.end()


def _raw(tokens: Tokens, start: int, position: int) -> int:
    closing = RAW_END.search(tokens.source, position)
    if closing is None:
        raise TemplateSyntaxFault("this raw section has no end: {% endraw %} is missing", start)
    _data(tokens, position, closing.start(), closing.group(1))
    tokens.extras += 1
    return closing.end()


def _tag(tokens: Tokens, start: int, position: int, kind: str, end: str) -> int:
    """Everything from {{ to }}, or from {% to %}."""
    source, add = tokens.source, tokens.add
    pattern = _inside(end, source.isascii())
    add(start, f"{kind}_begin", source[start:position], position)
    brackets: list[tuple[str, int]] = []
    while True:
        match = pattern.match(source, position)
        if match is None:
            raise _stuck(source, position, start, kind, brackets)
        what = match.lastgroup or ""
        begin, position = match.span(what)
        if what == "end" and brackets:  # between brackets }} is two closing braces
            what, position = "operator", cast(re.Match[str], operator_re.match(source, begin)).end()
        if what == "name":
            _name(tokens, begin, position)
        elif what == "operator":
            _operator(tokens, brackets, begin, position)
        elif what == "end":
            add(begin, f"{kind}_end", match.group(what), position)
            return position
        else:
            add(begin, what, _literal(what, match.group(what), begin), position)


def _name(tokens: Tokens, begin: int, end: int) -> None:
    name = tokens.source[begin:end]
    if not name.isidentifier():
        raise TemplateSyntaxFault(f"{name[:40]!r} is not a name", begin)
    tokens.add(begin, "name", name, end)


def _operator(tokens: Tokens, brackets: list[tuple[str, int]], begin: int, end: int) -> None:
    sign = tokens.source[begin:end]
    if sign in "()[]{}":
        _balance(tokens, brackets, sign, begin)
    tokens.add(begin, operators[sign], sign, end)


def _balance(tokens: Tokens, brackets: list[tuple[str, int]], value: str, offset: int) -> None:
    closer = CLOSER.get(value)
    if closer is not None:
        brackets.append((closer, offset))
        if len(brackets) > BRACKETS_MAX:
            raise TemplateSyntaxFault(f"more than {BRACKETS_MAX} brackets are open at once", offset)
        return
    if not brackets:
        raise TemplateSyntaxFault(f"unexpected '{value}': no bracket is open", offset)
    expected, opened = brackets.pop()
    if expected != value:
        raise TemplateSyntaxFault(f"unexpected '{value}', expected '{expected}'", offset)
    tokens.closes[opened] = offset + 1


def _literal(kind: str, text: str, offset: int) -> object:
    """The value of a number or a quoted string."""
    if kind == "string":
        return _string(text, offset)
    digits = text.replace("_", "")
    number = float(digits) if kind == "float" else int(digits, 0) if len(digits) <= DIGITS_MAX else INTEGER_MAX + 1
    if number > INTEGER_MAX if isinstance(number, int) else math.isinf(number):
        raise TemplateSyntaxFault(f"the number {text[:20]}… does not fit in 64 bits", offset)
    return number


def _string(text: str, offset: int) -> str:
    body = text[1:-1]
    if "\\" not in body:
        return body
    try:
        return body.encode("ascii", "backslashreplace").decode("unicode-escape")
    except UnicodeDecodeError as error:
        raise TemplateSyntaxFault(f"this text has a bad escape: {error.reason}", offset) from None


def _stuck(source: str, position: int, start: int, kind: str, brackets: list[tuple[str, int]]) -> TemplateSyntaxFault:
    """No token matches: the text ended inside a tag, or holds a character no expression has."""
    while position < len(source) and source[position].isspace():
        position += 1
    if position < len(source):
        if source[position] in "'\"":
            return TemplateSyntaxFault("this text has no closing quote", position)
        return TemplateSyntaxFault(f"unexpected character {source[position]!r}", position)
    if brackets:
        return TemplateSyntaxFault(f"this bracket is not closed: '{brackets[-1][0]}' is missing", brackets[-1][1])
    return TemplateSyntaxFault(f"this tag is not closed: '{'}}' if kind == 'variable' else '%}'}' is missing", start)
