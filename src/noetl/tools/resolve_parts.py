"""A part of a large list, read as it passes: what resolve gives for `path` and `slice` without holding the rest.

Elements in, the part out: one element (path begins with its index), or those of a slice, whose ends may count from the
end of the list. One pass is enough: a slice that begins at the end keeps a window of the last elements. What is kept is
bounded in bytes; the list itself is not.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

encode = msgspec.json.Encoder().encode
Bounds = tuple[int | None, int | None]

_SLICE = re.compile(r"\[?\s*(-?\d{1,18})?\s*[:,]\s*(-?\d{1,18})?\s*\]?")


class WrongPart(Exception):
    """The part that was asked for is not in the data, or too large; carries the error.kind."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the data is wanted: first along `path`, then the items within `bounds`."""

    path: tuple[str, ...] = ()
    bounds: Bounds | None = None

    @property
    def is_whole(self) -> bool:
        return not self.path and self.bounds is None

    @property
    def index(self) -> int | None:
        """The element that the path goes through, if the data is a list; None: the path says nothing of a list."""
        return int(self.path[0]) if self.path and is_index(self.path[0]) else None

    def of(self, data: Any) -> Any:
        """The part of data that is in memory."""
        for word in self.path:
            data = self._member(data, word)
        if self.bounds is None:
            return data
        if not isinstance(data, list):
            raise WrongPart("type", "slice takes items of a list, but the data is none")
        start, end = self.bounds
        return data[start:end]

    async def of_batches(self, batches: AsyncGenerator[Sequence[Any], None], bytes_max: int) -> Any:
        """The part of a list that comes some elements at a time; what is not needed any more is not asked for."""
        window = Window((self.index, self.index + 1) if self.index is not None else self._ends, bytes_max)
        async with aclosing(batches) as each:
            async for batch in each:
                if not window.takes_more(batch):
                    break
        found = window.items()
        if not self.path:
            return found
        if not found:
            raise self._missing(self.path[0])
        return Part(path=self.path[1:], bounds=self.bounds).of(found[0])

    @property
    def _ends(self) -> Bounds:
        return self.bounds or (None, None)

    def _member(self, data: Any, word: str) -> Any:
        if isinstance(data, dict) and word in data:
            return data[word]
        if isinstance(data, list) and is_index(word) and int(word) < len(data):
            return data[int(word)]
        raise self._missing(word)

    def _missing(self, word: str) -> WrongPart:
        return WrongPart("not_found", f'the data has no "{".".join(self.path)[:80]}": "{word[:40]}" is not there')


class Window:
    """The elements of a slice, taken as they pass, some at a time."""

    def __init__(self, bounds: Bounds, bytes_max: int) -> None:
        self._start, self._end = bounds[0] or 0, bounds[1]
        self._bytes_max = bytes_max
        self._kept: deque[tuple[Any, int]] = deque()  # with their sizes
        self._bytes = 0
        self._count = 0  # of all elements so far

    def takes_more(self, batch: Sequence[Any]) -> bool:
        """Take the next elements; False: whatever follows is not in the slice."""
        first, self._count = self._count, self._count + len(batch)
        if self._start < 0:
            self._keep(batch[self._start :])
            return True
        is_counted_from_start = self._end is not None and self._end >= 0
        until = max(0, self._end - first) if self._end is not None and is_counted_from_start else len(batch)
        self._keep(batch[max(0, self._start - first) : until])
        return not (is_counted_from_start and until <= len(batch))

    def items(self) -> list[Any]:
        """The slice, now that the list has ended, or nothing more is wanted."""
        first = self._start if self._start >= 0 else max(0, self._count + self._start)
        until = self._count if self._end is None else self._end if self._end >= 0 else self._count + self._end
        return [item for item, _ in self._kept][: max(0, until - first)]

    def _keep(self, items: Sequence[Any]) -> None:
        for item in items:
            size = len(encode(item))
            self._kept.append((item, size))
            self._bytes += size
            if self._start < 0 and len(self._kept) > -self._start:
                self._bytes -= self._kept.popleft()[1]
            if self._bytes > self._bytes_max:
                raise WrongPart("limit", f"a part may have {self._bytes_max} bytes, but this has more; take less")


def part_of(path: object, bounds: object) -> Part:
    """What `path` and `slice` of a task ask for."""
    words = tuple(str(path).split(".")) if path not in (None, "") else ()
    return Part(path=words, bounds=None if bounds in (None, "") else _bounds_of(bounds))


def is_index(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 19


def _bounds_of(bounds: object) -> Bounds:
    if isinstance(bounds, list) and len(bounds) == 2 and _are_bounds(bounds):
        return bounds[0], bounds[1]
    match = _SLICE.fullmatch(bounds) if isinstance(bounds, str) else None
    if match is None:
        raise WrongPart("type", "slice must be [start, end] or a text such as 0:100; either end may be left out")
    start, end = match.groups()
    return (int(start) if start else None), (int(end) if end else None)


def _are_bounds(values: Iterable[object]) -> bool:
    return all(value is None or type(value) is int for value in values)
