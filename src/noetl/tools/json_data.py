"""What a tool may give as its data: a Python value in, JSON out, or the reason why it is none.

Used inside children of kind python, so it imports next to nothing, and for what programs print.

Lists, tuples and sets become lists (a set sorted, if that can be done); dates and times ISO texts; Decimal, UUID and
paths texts; keys that are numbers, booleans or None texts. Refused, with the place inside the result: bytes, NaN and
infinities, integers of more than 64 bits, nesting beyond RESULT_DEPTH_MAX, and all other objects.
"""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False  # typing is an import of 3 ms, in every child
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

RESULT_DEPTH_MAX = 64
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**64 - 1
LONG_NUMBER = re.compile(rb"\d{19}")  # perhaps an integer beyond the bounds, perhaps just text
CONTAINERS = (dict, list, tuple, set, frozenset)

# by module and name, so that none of the modules is imported for it
AS_TEXT = {
    ("datetime", "date"): "isoformat",
    ("datetime", "time"): "isoformat",
    ("decimal", "Decimal"): "__str__",
    ("uuid", "UUID"): "__str__",
}


class Unfit(Exception):
    """A value that cannot be given as a result, or code that cannot be run; becomes the error of the task."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def as_json(value: object, bytes_max: int) -> bytes:
    """The value as JSON; raises Unfit."""
    try:
        encoded = _compact(value).encode()
    except (TypeError, ValueError, RecursionError):
        refuse(value)
        raise
    if len(encoded) > bytes_max:
        raise Unfit("limit", f"the result may have {bytes_max} bytes as JSON, but has {len(encoded)}")
    if is_suspect(value, encoded):
        refuse(value)
    return encoded


def is_suspect(value: object, encoded: bytes) -> bool:
    """Whether a value that is JSON may be beyond the bounds all the same; quick, and `refuse` tells for certain."""
    return bool(LONG_NUMBER.search(encoded)) or is_too_deep(value, encoded)


def is_too_deep(value: Any, encoded: bytes) -> bool:
    if encoded.count(b"[") + encoded.count(b"{") <= RESULT_DEPTH_MAX:
        return False
    level = [value]
    for _ in range(RESULT_DEPTH_MAX):
        insides = (outer.values() if isinstance(outer, dict) else outer for outer in level)
        level = [inner for inside in insides for inner in inside if isinstance(inner, CONTAINERS)]
    return bool(level)


def as_plain(value: Any) -> object:
    """JSON has no such type: sets become lists, dates and times ISO texts, Decimal, UUID and paths texts."""
    if isinstance(value, set | frozenset):
        try:
            return sorted(value)
        except TypeError:
            return list(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    for base in type(value).__mro__:
        if method := AS_TEXT.get((base.__module__, base.__qualname__)):
            return getattr(value, method)()
    raise TypeError


_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=as_plain).encode


def refuse(value: object) -> None:
    """Raise Unfit for the first part of a result that is not data. Slow, and only called on a suspicion."""
    for path, reason in faults("result", value, 1):
        raise Unfit("type", f"{path} {reason}")


def faults(path: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if depth > RESULT_DEPTH_MAX:
        yield path, f"is nested more than {RESULT_DEPTH_MAX} levels deep"
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key is not None and not isinstance(key, str | int | float):
                yield path, f"has a key that is {article(key)}; keys must be text"
            yield from faults(f"{path}[{key!r:.80}]", inner, depth + 1)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from faults(f"{path}[{index}]", inner, depth + 1)
    elif isinstance(value, float):
        if value - value != 0:
            yield path, f"is {value}, which is not a number in JSON; use None or text"
    elif isinstance(value, str):
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            yield path, "is text with half a character (a lone surrogate)"
    elif isinstance(value, bytes | bytearray | memoryview):
        yield path, "is bytes; decode them to text, or encode them as base64"
    elif isinstance(value, int):
        if not INTEGER_MIN <= value <= INTEGER_MAX:
            yield path, "is an integer of more than 64 bits; give it as text"
    elif value is not None:
        try:
            plain = as_plain(value)
        except TypeError:
            yield path, f"is {article(value)}; a result is made of texts, numbers, booleans, None, lists and dicts"
        else:
            yield from faults(path, plain, depth)


def article(value: object) -> str:
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"an object of type {name}"
