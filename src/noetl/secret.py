"""A secret in data: shown as ***, and refused by whatever would write it down.

Credentials and what templates make of them reach a tool sealed, and are opened inside it. It is no str, so that it
cannot be joined, sliced or encoded into something that no longer looks like a secret.
"""

from __future__ import annotations

from hmac import compare_digest
from typing import Any, ClassVar

import msgspec

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
        """With another secret only: a text never equals one, so that nothing can be guessed at."""
        return isinstance(other, Secret) and compare_digest(_bytes_of(other._text), _bytes_of(self._text))

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> Any:
        raise TypeError("a secret is not written down: it can be neither pickled nor copied")

    __getstate__ = __reduce__  # else Python's own would hand out the slots

    def __init_subclass__(cls) -> None:
        raise TypeError("a secret has no other kinds: they might show it")


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class CredentialUnavailable(LookupError):
    """A credential that is known, but cannot be had now; the message is for people and shows nothing of it."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class Errand(msgspec.Struct, frozen=True, kw_only=True):
    """The job that a credential is asked for: a server gives it to the worker that holds the job, and nobody else."""

    key: tuple[int, int, int]  # execution, run, iter
    lease: int
    sha: str  # of the playbook that declares it


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """A credential as a playbook declares it: which one, of which kind, and what its provider needs to know."""

    name: str
    kind: str
    settings: dict[str, Any] = {}
    errand: Errand | None = None  # None: nobody works on a job


def sealed(data: Any) -> Any:
    """Data with every text in it made a secret: what was rendered from a credential."""
    if isinstance(data, str):
        return Secret(data)
    if isinstance(data, dict):
        return {name: sealed(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [sealed(value) for value in data]
    return data


def has_secret(data: Any) -> bool:
    """Whether anything in the data is sealed."""
    if isinstance(data, dict):
        return any(map(has_secret, data.values()))
    if isinstance(data, list | tuple):
        return any(map(has_secret, data))
    return isinstance(data, Secret)


def revealed(data: Any) -> Any:
    """Data with every secret in it opened: inside a tool, and nowhere else."""
    if isinstance(data, Secret):
        return data.reveal()
    if isinstance(data, dict):
        return {name: revealed(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [revealed(value) for value in data]
    return data
