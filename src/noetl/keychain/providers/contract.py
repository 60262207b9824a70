"""What a provider does: a declaration in, the secret it names out; and what it is handed for that.

Raises LookupError, or CredentialUnavailable when it may work later, with a message for people that never shows a
secret. What a provider signs in with (a token, a key) it tells `remember`, so that it is redacted too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Protocol

import msgspec

from noetl.clock import Clock
from noetl.config import Settings
from noetl.keychain.endpoint import Endpoint
from noetl.secret import Declared

NAME_CHARACTERS_MAX = 512


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """A secret as its keeper gave it: a text, or fields."""

    text: str = ""
    fields: Mapping[str, Any] | None = None
    version: str = ""


class Provider(Protocol):
    async def fetch(self, declared: Declared) -> Fetched: ...

    async def close(self) -> None: ...


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What every provider is handed."""

    settings: Settings
    environment: Mapping[str, str]
    clock: Clock
    remember: Callable[[str], None]
    endpoint: Callable[..., Endpoint]  # for these hosts and no others

    def variable(self, name: str, needed_by: str) -> str:
        """A variable of the operator's own, without which a provider cannot work."""
        found = self.environment.get(name)
        if not found:
            raise LookupError(f"provider {needed_by} needs {name}, which is not set where the worker runs")
        return found

    def check_allowed(self, provider: str, name: str) -> None:
        """Refuse a secret of a service that the operator does not let playbooks name."""
        patterns = self.settings.keychain_secrets_allow
        if not any(fnmatchcase(f"{provider}:{name}", pattern) for pattern in patterns):
            raise LookupError(
                f'{provider}: "{name}" is not allowed by keychain.secrets_allow ({", ".join(patterns) or "none"}); '
                f'an operator can add "{provider}:{name}"'
            )


def wanted(declared: Declared, *names: str, default: str | None = None) -> str:
    """A text of the declaration, by the first of these names that it has."""
    for name in names:
        found = declared.settings.get(name)
        if found is not None and found != "":
            if not isinstance(found, str | int) or isinstance(found, bool) or len(str(found)) > NAME_CHARACTERS_MAX:
                raise LookupError(f"{name} must be a text of at most {NAME_CHARACTERS_MAX} characters")
            return str(found)
    if default is None:
        raise LookupError(f"provider {declared.settings.get('provider')} needs {names[0]} in the keychain declaration")
    return default
