"""Texts that come again and again, each kept once and known by a number: names of steps and tasks, messages of errors.

Bounded: a log of a hundred thousand different messages keeps the first ones and says of the others that it did not.
"""

from __future__ import annotations

from typing import Any

WORD_CHARACTERS_MAX = 500
WORDS_BYTES_MAX = 8 * 1024 * 1024
WORD_BYTES = 150  # that a text costs besides its characters
NOTHING, UNKEPT = 0, 1


class Words:
    """See above. Number 0 is no text."""

    def __init__(self) -> None:
        self._words = ["", "… (there are too many different ones to keep them all)"]
        self._numbers = {"": NOTHING}
        self.size_bytes = 0

    def number(self, word: str) -> int:
        """The number of a text, which is kept if it is new."""
        found = self._numbers.get(word)
        return self._kept(word) if found is None else found

    def _kept(self, word: str) -> int:
        if self.size_bytes > WORDS_BYTES_MAX:
            return UNKEPT
        number = self._numbers[word] = len(self._words)
        self._words.append(word)
        self.size_bytes += len(word) + WORD_BYTES
        return number

    def message(self, error: Any) -> int:
        """The number of what an error says, which is not kept at any length."""
        if not isinstance(error, dict):
            return NOTHING
        text = str(error.get("message") or error.get("kind") or "failed")
        return self.number(shortened(text))

    def known(self, word: str) -> int | None:
        """The number of a text, if it is kept."""
        return self._numbers.get(word)

    def __getitem__(self, number: int) -> str:
        return self._words[number]

    def shown(self, number: int) -> str | None:
        return self._words[number] if number else None


def shortened(text: str) -> str:
    return text if len(text) <= WORD_CHARACTERS_MAX else f"{text[: WORD_CHARACTERS_MAX - 1]}…"
