"""The keychain of one machine without any service: NOETL_SECRET_<NAME> holds an entry.

NAME is the entry's name in upper case, every other character than a letter or digit as _. The value is a JSON mapping,
`{"token": "…"}`, or any other text, which is the entry {value: text}. Read when asked for, so a changed variable of
this process counts at once; nothing is written anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from noetl.keychain.known import KnownSecrets
from noetl.keychain.redaction import Redactor

PREFIX = "NOETL_SECRET_"

_NOT_IN_VARIABLES = re.compile(r"[^A-Z0-9]")


class EnvironmentKeychain:
    """Entries out of environment variables."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._known = KnownSecrets()

    async def resolve(self, name: str) -> Mapping[str, Any]:
        variable = variable_of(name)
        text = self._environment.get(variable)
        if text is None:
            raise LookupError(
                f'set {variable} to the credential "{name}" as JSON, such as {{"token": "…"}}; it is not set'
            )
        entry = _entry_of(variable, text)
        self._known.learn(entry)
        return entry

    def remember(self, secret: str) -> None:
        self._known.remember(secret)

    def known_secrets(self) -> frozenset[str]:
        return self._known.all()

    @property
    def has_secrets(self) -> bool:
        return self._known.has_any

    def redactor(self) -> Redactor:
        return self._known.redactor()


def variable_of(name: str) -> str:
    """The variable that holds the entry of this name."""
    return PREFIX + _NOT_IN_VARIABLES.sub("_", name.upper())


def _entry_of(variable: str, text: str) -> dict[str, Any]:
    if not text.lstrip().startswith("{"):
        return {"value": text}
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as fault:
        raise LookupError(f"{variable} begins as a JSON mapping, but is none: {fault}") from None
