"""Calls in templates, as the rules about them need to see them."""

from __future__ import annotations

from functools import cache

from noetl.expressions import Call
from noetl.expressions.methods import LIST_METHODS, LOOP_METHODS, TEXT_METHODS


@cache
def callable_methods() -> frozenset[str]:
    """What can be called on some value or other."""
    return frozenset((*TEXT_METHODS, *LIST_METHODS, *LOOP_METHODS))


def arguments(written: str) -> list[str] | None:
    """The arguments of `(a, b)`, as written; None where that is not simply to be seen."""
    written = written.strip()
    if not (written.startswith("(") and written.endswith(")")):
        return None
    given, start, open_brackets, quote = [], 1, 0, ""
    for index, char in enumerate(written[1:-1], start=1):
        if quote:
            if char == "\\":
                return None
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            open_brackets += 1
        elif char in ")]}":
            open_brackets -= 1
        elif char == "," and not open_brackets:
            given.append(written[start:index].strip())
            start = index + 1
    last = written[start:-1].strip()
    return [*given, last] if last or given else []


def needs_brackets(source: str, call: Call) -> bool:
    """Whether a filter in place of this call would take hold of too much or too little."""
    before, after = source[: call.offset].rstrip()[-1:], source[call.end :].lstrip()[:1]
    return before in ("-", "+") or after in (".", "[", "(")
