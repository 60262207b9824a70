"""noetl import: an exported execution, kept as a finished record."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from noetl.cli import exits
from noetl.cli.files import STANDARD_INPUT
from noetl.cli.options import format_option, place_options, settings_of, wait_option
from noetl.cli.sides import executions_of
from noetl.cli.words import as_json, clean, plural

FILE_BYTES_MAX = 64 * 1024 * 1024


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path())
@wait_option
@place_options
@format_option
def command(file: str, wait_seconds: float, home: str | None, store: str | None, form: str) -> int:
    """Keep an execution that noetl export wrote, as a finished record with an id of its own.

    Its playbooks are registered. One that had not ended is refused: it would go on by itself. The same file again is
    the same execution. FILE is - for standard input.

    Example: noetl import failed-run.noetl
    """
    settings = settings_of(home, store)
    row = executions_of(settings).import_file(settings, read(file), wait_seconds)
    if form == "json":
        click.echo(as_json(row))
        return exits.DONE
    what = "" if row["is_new"] else ", which was imported before"
    path = clean(f"{row['path']}@{row['version']}")
    click.echo(f"execution {row['execution_id']}  {path}  {row['status']}  {plural(row['events'], 'event')}{what}")
    return exits.DONE


def read(name: str) -> bytes:
    """A file's bytes; of one that is too large only so much that this can be seen."""
    if name == STANDARD_INPUT:
        return sys.stdin.buffer.read(FILE_BYTES_MAX + 1)
    with Path(name).open("rb") as file:
        return file.read(FILE_BYTES_MAX + 1)
