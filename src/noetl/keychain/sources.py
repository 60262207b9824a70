"""Where a credential's fields come from: the environment, the encrypted store, a provider.

A keychain asks its sources in order; the first that has the entry gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from noetl.secret import Declared


class Source(Protocol):
    async def entry(self, declared: Declared) -> Mapping[str, Any] | None:
        """The plain fields of an entry by its name; None: it is not here.

        Raises LookupError with a message for people, which never shows a secret, when it is here but cannot be read.
        """
        ...


class KeepingSource(Source, Protocol):
    """A source that keeps what it fetched for a while."""

    def forget(self, declared: Declared) -> bool:
        """Fetch this entry anew when it is asked for next; False: it is not one that others make anew."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
