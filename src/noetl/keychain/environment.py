"""Entries without any service: NOETL_SECRET_<NAME> holds one.

NAME is the entry's name in upper case, every other character than a letter or digit as _. The value is a JSON mapping,
`{"token": "…"}`, or any other text, which is the entry {value: text}. Read when asked for, so a changed variable of
this process counts at once; nothing is written anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from noetl.secret import Declared

PREFIX = "NOETL_SECRET_"

_NOT_IN_VARIABLES = re.compile(r"[^A-Z0-9]")


class EnvironmentSource:
    """Entries out of environment variables."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    async def entry(self, declared: Declared) -> Mapping[str, Any] | None:
        variable = variable_of(declared.name)
        text = self._environment.get(variable)
        return fields_of(text, variable) if text else None  # an empty variable is an unset one


def variable_of(name: str) -> str:
    """The variable that holds the entry of this name."""
    return PREFIX + _NOT_IN_VARIABLES.sub("_", name.upper())


def fields_of(text: str, where: str) -> dict[str, Any]:
    """The entry that a text holds: the fields of a JSON mapping, or one value."""
    if not is_unicode(text):
        raise LookupError(f"{where} is not UTF-8 text; code what is binary as base64")
    if not text.lstrip().startswith("{"):
        return {"value": text}
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):  # the decoder's words could show a part of it
        raise LookupError(f"{where} begins as a JSON mapping, but is none") from None


def is_unicode(text: str) -> bool:
    """Whether it can be written as UTF-8: a variable may hold any bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
