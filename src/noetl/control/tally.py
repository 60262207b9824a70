"""The answers to several operations that were asked for together: one future, done when the last of them is decided.

A future for each would wake its owner once for each; a worker that reports a hundred jobs waits once.
"""

from __future__ import annotations

import asyncio
from typing import Any


class Tally:
    """So many words to come."""

    __slots__ = ("found", "missing", "words")

    def __init__(self, count: int) -> None:
        self.words: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self.found = [""] * count
        self.missing = count
        if not count:
            self.words.set_result([])


class Place:
    """One of them, with the manners of a future."""

    __slots__ = ("_index", "_is_done", "_tally")

    def __init__(self, tally: Tally, index: int) -> None:
        self._tally = tally
        self._index = index
        self._is_done = False

    def done(self) -> bool:
        return self._is_done or self._tally.words.done()

    def set_result(self, word: str) -> None:
        tally = self._tally
        self._is_done = True
        tally.found[self._index] = word
        tally.missing -= 1
        if not tally.missing and not tally.words.done():
            tally.words.set_result(tally.found)

    def set_exception(self, error: BaseException) -> None:
        self._is_done = True
        if not self._tally.words.done():
            self._tally.words.set_exception(error)

    def exception(self) -> BaseException | None:
        words = self._tally.words
        return words.exception() if words.done() and not words.cancelled() else None


def refuse(answer: Any, error: BaseException) -> None:
    """Give an answer an error: whoever waits gets it; nobody has to."""
    answer.set_exception(error)
    answer.exception()
