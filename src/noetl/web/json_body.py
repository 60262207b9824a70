"""JSON of strangers as data: bounded in depth, without NaN, whole numbers beyond 64 bits as text (security 5)."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Any

import msgspec

JSON_DEPTH_MAX = 64
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1

_NOT_BRACKETS = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[^\[\]{}"]++')
_NESTING = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_LONG_NUMBER = re.compile(rb"[0-9]{19}")


class NotJson(Exception):
    """A body that should be JSON and is not, or not JSON that we keep; the message says which."""


def parsed_json(body: bytes) -> Any:
    """JSON as data: at most JSON_DEPTH_MAX deep, no NaN, integers beyond 64 bits as text."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise NotJson(f"it is not: {fault}") from None
    except RecursionError:
        raise NotJson(f"it is nested deeper than {JSON_DEPTH_MAX} levels") from None
    if _depth_of(body) > JSON_DEPTH_MAX:
        raise NotJson(f"it is nested deeper than {JSON_DEPTH_MAX} levels")
    return _with_bounded_integers(data) if _LONG_NUMBER.search(body) else data


def _depth_of(body: bytes) -> int:
    """How deep valid JSON is nested, without a walk over its values: brackets outside of strings are counted."""
    if body.count(b"[") + body.count(b"{") <= JSON_DEPTH_MAX:
        return 0
    return max(accumulate(map(_NESTING.__getitem__, _NOT_BRACKETS.sub(b"", body))), default=0)


def _with_bounded_integers(value: Any) -> Any:
    if type(value) is int:
        return value if INTEGER_MIN <= value <= INTEGER_MAX else str(value)
    if type(value) is list:
        return [_with_bounded_integers(item) for item in value]
    if type(value) is dict:
        return {name: _with_bounded_integers(item) for name, item in value.items()}
    return value
