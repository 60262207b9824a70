"""Plain data as YAML text: what is short stands in one line, everything else in a block."""

from __future__ import annotations

from typing import Any

from noetl.dsl.rewriting.layout import INDENT
from noetl.dsl.rewriting.spelling import spelt

WIDTH = 100  # of a line; a text that is longer still stands in one


def scalar(value: object) -> str:
    """A scalar in one line; what cannot be printed is escaped."""
    text = spelt(value)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else escaped(ord(char)) for char in text)


def escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def inline(value: Any) -> str:
    """Any value in one line."""
    if isinstance(value, dict):
        entries = ", ".join(f"{scalar(str(key))}: {inline(item)}" for key, item in value.items())
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(inline, value))}]"
    return scalar(value)


def fits(value: Any, column: int) -> bool:
    return not isinstance(value, dict | list | tuple) or not value or len(inline(value)) + column <= WIDTH


def under(head: str, value: Any, column: int) -> list[str]:
    """`head` and its value: `key:` or `-`, beginning at that column."""
    pad = " " * column
    if fits(value, column + len(head) + 1):
        return [f"{pad}{head} {inline(value)}"]
    if head == "-":
        first, *others = block(value, column + INDENT)
        return [f"{pad}- {first.strip()}", *others]
    return [f"{pad}{head}", *block(value, column + INDENT)]


def block(value: Any, column: int) -> list[str]:
    """The lines of a mapping or a list."""
    if isinstance(value, dict):
        return [line for key, item in value.items() for line in under(f"{scalar(str(key))}:", item, column)]
    return [line for item in value for line in under("-", item, column)]
