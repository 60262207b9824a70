"""Values as YAML spells them: new ones, and old ones of which a part is replaced."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from noetl.dsl.dialects.tree import Respelling
from noetl.dsl.nodes import Scalar
from noetl.dsl.read import WORDS, number
from noetl.dsl.rewriting.layout import INDENT
from noetl.dsl.rewriting.outline import HEADER, properties_length
from noetl.dsl.source import align

PLAIN_TEXT = re.compile(r"[A-Za-z_][\w./-]*(?: [\w./-]+)*\Z")
NOT_PLAIN = (": ", " #", ",", "[", "]", "{", "}", "\n")


def spelt(value: object) -> str:
    """A new value as YAML."""
    if not isinstance(value, str):
        return json.dumps(value)
    is_plain = PLAIN_TEXT.match(value) and value not in WORDS and number(value) is None
    if is_plain:
        return value
    return f"'{value}'" if '"' in value and is_quotable(value, "'") else json.dumps(value, ensure_ascii=False)


def is_quotable(text: str, style: str) -> bool:
    """Whether a text stands as it is in these quotes."""
    return style in ("'", '"') and style not in text and "\\" not in text and text.isprintable()


def spliced(raw: str, value: str, style: str, respellings: Sequence[Respelling]) -> str | None:
    """The text of a scalar with parts of its value replaced; None where the text spells them differently."""
    start = properties_length(raw)
    prefix, raw = raw[:start], raw[start:]
    for one in reversed(respellings):
        begin = align(raw, value, style, one.offset)
        end = align(raw, value, style, one.offset + one.length - 1) + 1
        new = encoded(one.text, style)
        if raw[begin:end] != value[one.offset : one.offset + one.length] or new is None:
            return None
        raw = raw[:begin] + new + raw[end:]
    return prefix + raw


def encoded(text: str, style: str) -> str | None:
    """New characters as they stand in a scalar of some style."""
    if style == "'":
        return text.replace("'", "''")
    if style == '"':
        return json.dumps(text, ensure_ascii=False)[1:-1]
    if style in ("|", ">"):
        return text if "\n" not in text else None
    return None if any(mark in text for mark in NOT_PLAIN) else text


def anew(raw: str, node: Scalar, column: int) -> str:
    """A respelt scalar whose text could not be changed in place."""
    prefix = raw[: properties_length(raw)]
    header = HEADER.match(raw[len(prefix) :].partition("\n")[0])
    if node.style == "|" and header and node.text.strip() and not node.text[0].isspace():
        pad = " " * (column + INDENT)
        lines = [pad + line if line else "" for line in node.text.rstrip("\n").split("\n")]
        return prefix + "\n".join([header.group(), *lines])
    return prefix + json.dumps(node.text, ensure_ascii=False)
