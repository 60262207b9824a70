"""noetl import: an exported execution, kept as a finished record."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.export import beyond
from noetl.cli.files import STANDARD_INPUT
from noetl.cli.options import format_option, place_options, settings_of, wait_option
from noetl.cli.sides import executions_of
from noetl.cli.words import as_json, clean, in_bytes, plural


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path())
@wait_option
@place_options
@format_option
def command(file: str, wait_seconds: float, home: str | None, store: str | None, form: str) -> int:
    """Keep an execution that noetl export wrote, as a finished record with an id of its own.

    Its playbooks are registered, and payloads that came along are stored. One that had not ended is refused: it would
    go on by itself. The same file again is the same execution. FILE is - for standard input.

    Example: noetl import failed-run.noetl
    """
    settings = settings_of(home, store)
    with opened(file) as stream:
        row = executions_of(settings).import_file(settings, stream, wait_seconds)
    if form == "json":
        click.echo(as_json(row))
        return exits.DONE
    click.echo(told(row))
    if row["left_out"]:
        missing = plural(len(row["left_out"]), "payload")
        click.echo(f"{missing} did not come along: what refers to one finds nothing", err=True)
    if row["not_looked_for"]:
        click.echo(f"{beyond(row['not_looked_for'])}, did not come along", err=True)
    advise("imported", id=row["execution_id"])
    return exits.DONE


def told(row: dict[str, Any]) -> str:
    what = "" if row["is_new"] else ", which was imported before"
    path = clean(f"{row['path']}@{row['version']}")
    size = f", {plural(row['payloads'], 'payload')} ({in_bytes(row['payload_bytes'])})" if row["payloads"] else ""
    return f"execution {row['execution_id']}  {path}  {row['status']}  {plural(row['events'], 'event')}{size}{what}"


def opened(name: str) -> AbstractContextManager[BinaryIO]:
    """A file's bytes as they come; nothing is read ahead of whoever proves them."""
    return nullcontext(sys.stdin.buffer) if name == STANDARD_INPUT else Path(name).open("rb")
