"""Which execution is meant: an id, or `last`."""

from __future__ import annotations

import click

from noetl.config import Settings
from noetl.dsl.findings import printable
from noetl.errors import UnknownExecution

NEWEST = "last"
ID_DIGITS_MAX = 18  # within 63 bits


def execution_id(text: str, settings: Settings) -> int:
    """The number of the execution that a person named."""
    if text == NEWEST:
        return newest(settings)
    if not (text.isascii() and text.isdigit() and len(text) <= ID_DIGITS_MAX):
        raise click.UsageError(
            f'an execution is named by its number, or {NEWEST} for the newest one, but not by "{printable(text)}"; '
            "`noetl list` names those there are"
        )
    return int(text)


def newest(settings: Settings) -> int:
    from noetl import server

    found = server.list_executions(settings, 1) if settings.store_path.exists() else []
    if not found:
        raise UnknownExecution(NEWEST, settings.store_url)
    return int(found[0]["execution_id"])
