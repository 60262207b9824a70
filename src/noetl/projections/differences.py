"""Where two values differ, as paths: `rows.3.id`. Plain data in; true is not 1, and 1 is 1.0."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

MAXIMUM = 50
ABSENT = object()


def differences(before: Any, after: Any, path: str = "", maximum: int = MAXIMUM) -> list[dict[str, Any]]:
    """The first of them; `before` or `after` is left out where there is no such thing."""
    return list(islice(_each(before, after, path), maximum))


def _each(before: Any, after: Any, path: str) -> Iterator[dict[str, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _each(before.get(key, ABSENT), after.get(key, ABSENT), _below(path, key))
    elif isinstance(before, list) and isinstance(after, list):
        for place in range(max(len(before), len(after))):
            one, other = (side[place] if place < len(side) else ABSENT for side in (before, after))
            yield from _each(one, other, _below(path, place))
    elif not is_same(before, after):
        sides_named = (("before", before), ("after", after))
        yield {"path": path, **{name: value for name, value in sides_named if value is not ABSENT}}


def is_same(before: Any, after: Any) -> bool:
    if before is ABSENT or after is ABSENT or isinstance(before, bool) != isinstance(after, bool):
        return before is after
    return bool(before == after)


def _below(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)
