"""Values for people to look at: of any size, kind and depth in; plain data that is small, and without secrets, out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from noetl.expressions import Stored
from noetl.secret import MASK
from noetl.sql import Sql

DEPTH_MAX = 64
ELSEWHERE = "(kept outside the log)"
ELLIPSIS = "…"
COST_OF_ITEM = 2  # a comma and a space, as they would be printed


class Excerpt:
    """One value on its way out; `is_cut` says whether anything was left away."""

    def __init__(self, characters_max: int) -> None:
        self.left = characters_max
        self.is_cut = False

    def of(self, value: Any, depth: int = 0) -> Any:
        """The value, as far as there is room for it."""
        if value is None or isinstance(value, bool | int):
            self.left -= len(str(value)) if isinstance(value, int) else COST_OF_ITEM
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, float):
            self.left -= len(repr(value))
            return value if math.isfinite(value) else str(value)
        if depth > DEPTH_MAX:
            self.is_cut = True
            return ELLIPSIS
        if isinstance(value, dict):
            return self._mapping(value, depth)
        if isinstance(value, list | tuple | range):
            return self._items(value, depth)
        return self._text(_stand_in(value))

    def _text(self, value: str) -> str:
        room = max(self.left, 0)
        self.left -= len(value)
        if len(value) <= room:
            return str(value)
        self.is_cut = True
        return value[:room] + ELLIPSIS

    def _mapping(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in value.items():
            if self.left <= 0:
                self.is_cut = True
                break
            self.left -= COST_OF_ITEM
            found[self._text(str(key))] = self.of(item, depth + 1)
        return found

    def _items(self, value: Iterable[Any], depth: int) -> list[Any]:
        found: list[Any] = []
        for item in value:
            if self.left <= 0:
                self.is_cut = True
                break
            self.left -= COST_OF_ITEM
            found.append(self.of(item, depth + 1))
        return found


def _stand_in(value: object) -> str:
    """What is no data: a payload that is elsewhere, SQL without its values, a secret; of others nothing is known."""
    if isinstance(value, Stored):
        return ELSEWHERE
    if isinstance(value, Sql):
        return value.shown
    return MASK


def excerpt(value: Any, characters_max: int) -> tuple[Any, bool]:
    """A value as far as there is room for it, and whether it was cut."""
    made = Excerpt(characters_max)
    return made.of(value), made.is_cut
