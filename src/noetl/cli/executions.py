"""Which execution is meant: an id, or `last`."""

from __future__ import annotations

import click

from noetl.cli.sides import executions_of, is_empty, place_name
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
    """The newest execution that somebody started; what it called is newer, and not meant."""
    found = [] if is_empty(settings) else executions_of(settings).list_executions(settings, 1, {"is_root": True})
    if not found:
        raise UnknownExecution(NEWEST, place_name(settings))
    return int(found[0]["execution_id"])
