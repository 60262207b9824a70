"""A secret in data: shown as ***, and refused by whatever would write it down.

Templates may carry one from the keychain to a field of a tool; the worker opens it when it makes the call. It is no
str, so that it cannot be joined, sliced or encoded into something that no longer looks like a secret.
"""

from __future__ import annotations

from typing import Any, ClassVar

MASK = "***"


class Secret:
    """A text that is read with `reveal` and in no other way."""

    __slots__ = ("_text",)
    __noetl_plain__: ClassVar[bool] = True

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MASK

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> Any:
        raise TypeError("a secret is not written down: it can be neither pickled nor copied")


def revealed(data: Any) -> Any:
    """Data with every secret in it opened: for the call of a tool, and for nothing else."""
    if isinstance(data, Secret):
        return data.reveal()
    if isinstance(data, dict):
        return {name: revealed(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [revealed(value) for value in data]
    return data
