"""noetl export: an execution as one file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkstemp

import click

from noetl.cli import exits
from noetl.cli.executions import execution_id
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import executions_of
from noetl.cli.words import as_json, clean, in_bytes

STANDARD_OUTPUT = "-"


@click.command("export")
@click.argument("execution", metavar="ID")
@click.option("--output", "-o", metavar="FILE", help="The file, or - for standard output.  [default: NAME-ID.noetl]")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@place_options
@format_option
def command(
    execution: str, output: str | None, force: bool, home: str | None, store: str | None, form: str
) -> int:  # fmt: skip
    """Write an execution to one file: its row, the playbooks it runs, and its whole log, one event a line.

    The web pages show such a file, and noetl import keeps it. One that has not ended is written as it stands. Secrets
    are not in it, payloads that the log refers to stay where they are. ID is the execution's number, or last.

    Example: noetl export last -o failed-run.noetl
    """
    settings = settings_of(home, store)
    number = execution_id(execution, settings)
    found = executions_of(settings).export(settings, number)
    if output == STANDARD_OUTPUT:
        for piece in found.pieces:
            sys.stdout.buffer.write(piece)
        return exits.DONE
    file = file_in(output, found.name)
    if file.exists() and not force:
        raise click.UsageError(
            f'"{clean(str(file))}" is there already: name another with -o, or write over it (--force)'
        )
    size = write(file, found.pieces)
    row = {"execution_id": str(number), "file": str(file), "bytes": size}
    click.echo(as_json(row) if form == "json" else f"{clean(str(file))}  {in_bytes(size)}")
    return exits.DONE


def file_in(output: str | None, name: str) -> Path:
    """The file that is meant: itself, or one of the usual name in a folder."""
    if output is None:
        return Path(name)
    return Path(output, name) if Path(output).is_dir() else Path(output)


def write(target: Path, pieces: Iterator[bytes]) -> int:
    """Write a file whole or not at all; only its owner may read it, for it holds data. How many bytes."""
    handle, temporary = mkstemp(prefix=".noetl-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            size = sum(file.write(piece) for piece in pieces)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink()
        raise
    return size
