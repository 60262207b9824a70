"""Which execution is meant: an id, the beginning of one that no other has, or `last`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from noetl.cli.sides import executions_of, is_empty, place_name
from noetl.cli.words import clean, duration
from noetl.config import Settings
from noetl.dsl.findings import printable
from noetl.errors import AmbiguousExecution, NoExecution, RequestError, UnknownExecution

NEWEST = "last"
ID_DIGITS_MAX = 18  # within 63 bits
CANDIDATES_MAX = 5  # of those that begin alike
NEAR_MAX = 3
LOOKED_AT_MAX = 100  # of the newest, for one that was nearly typed


def execution_id(text: str, settings: Settings) -> int:
    """The number of the execution that a person named."""
    if text == NEWEST:
        return newest(settings)
    if not (text.isascii() and text.isdigit() and len(text) <= ID_DIGITS_MAX):
        raise click.UsageError(
            f"an execution is named by its number, the beginning of it, or {NEWEST} for the newest one, but not by "
            f'"{printable(text)}"; `noetl list` names those there are'
        )
    found = named(settings, text)
    if len(found) != 1:
        raise ambiguous(text, found, settings) if found else unknown(text, settings)
    return int(found[0]["execution_id"])


def named(settings: Settings, digits: str) -> list[dict[str, Any]]:
    """The execution of this id, or those that begin so, one more than are shown."""
    if is_empty(settings):
        return []
    try:
        return executions_of(settings).named(settings, digits, CANDIDATES_MAX + 1)
    except RequestError as error:
        if type(error) is not RequestError:
            raise
        return [{"execution_id": digits}]  # a server that knows no beginnings: whole ids are what it understands


def newest(settings: Settings) -> int:
    """The newest execution that somebody started; what it called is newer, and not meant."""
    found = [] if is_empty(settings) else executions_of(settings).list_executions(settings, 1, {"is_root": True})
    if not found:
        raise NoExecution(place_name(settings))
    return int(found[0]["execution_id"])


def ambiguous(text: str, found: list[dict[str, Any]], settings: Settings) -> AmbiguousExecution:
    shown = [f"  {row['execution_id']}  {facts_of(row)}" for row in found[:CANDIDATES_MAX]]
    more = ["  …"] if len(found) > CANDIDATES_MAX else []
    return AmbiguousExecution(text, place_name(settings), [*shown, *more])


def unknown(text: str, settings: Settings) -> UnknownExecution:
    from difflib import get_close_matches

    looked_at = [] if is_empty(settings) else executions_of(settings).list_executions(settings, LOOKED_AT_MAX)
    rows = {row["execution_id"]: row for row in looked_at}
    near = [f"{one} ({facts_of(rows[one])})" for one in get_close_matches(text, rows, NEAR_MAX)]
    return UnknownExecution(text, place_name(settings), near)


def facts_of(row: dict[str, Any]) -> str:
    """`orders/daily@2, failed, 3.0 min ago`"""
    created_at = datetime.fromisoformat(row["created_at"]).replace(tzinfo=UTC)
    age = max((datetime.now(UTC) - created_at).total_seconds(), 0.0)
    return f"{clean(row['path'])}@{row['version']}, {row['status']}, {duration(age)} ago"
