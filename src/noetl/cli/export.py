"""noetl export: an execution as one file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkstemp

import click
import msgspec

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.executions import execution_id
from noetl.cli.files import check_folder
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import executions_of
from noetl.cli.words import as_json, clean, in_bytes, plural

STANDARD_OUTPUT = "-"
MEBIBYTE = 1024 * 1024
LINE_BYTES_SEEN = 16 * 1024
EVENT, LEFT_OUT, END = b'{"name":', b'{"left_out":', b'{"end":'  # how such lines begin
HEADER_STATUS = re.compile(rb'^{"format":.*?"status":"(\w+)"')
LIVE = (b"running", b"waiting", b"incident")  # noetl import takes what has ended
SHOWN_MAX = 5
MB_MAX = 1024
IMPORTED_EVENTS_MAX, IMPORTED_BYTES_MAX = 200_000, 64 * MEBIBYTE  # of a log that noetl import and the pages take


@click.command("export")
@click.argument("execution", metavar="ID")
@click.option("--output", "-o", metavar="FILE", help="The file, or - for standard output.  [default: NAME-ID.noetl]")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--no-payloads", is_flag=True, help="Leave out what is kept outside the log.")
@click.option(
    "--payloads-mb-max",
    type=click.IntRange(0, MB_MAX),
    default=MB_MAX,
    show_default=True,
    metavar="MB",
    help="How much of it may come along, in MiB; what has no room is left out and named.",
)
@place_options
@format_option
def command(
    execution: str,
    output: str | None,
    force: bool,
    no_payloads: bool,
    payloads_mb_max: int,
    home: str | None,
    store: str | None,
    form: str,
) -> int:
    """Write an execution to one file: its row, the playbooks it runs, its whole log, and what is kept outside the log.

    The web pages show such a file, and noetl import keeps it. One that has not ended is written as it stands. Secrets
    are not in it: they were taken out before anything was recorded. ID is the execution's number, its beginning, or
    last.

    Example: noetl export last -o failed-run.noetl
    """
    settings = settings_of(home, store)
    number = execution_id(execution, settings)
    found = executions_of(settings).export(settings, number, None if no_payloads else payloads_mb_max * MEBIBYTE)
    seen = Passing()
    if output == STANDARD_OUTPUT:
        for piece in seen.through(found.pieces):
            sys.stdout.buffer.write(piece)
        tell(seen, payloads_mb_max)
        return exits.DONE
    file = file_in(output, found.name)
    if file.exists() and not force:
        raise click.UsageError(
            f'"{clean(str(file))}" is there already: name another with -o, or write over it (--force)'
        )
    size = write(file, seen.through(found.pieces))
    if form == "json":
        row = {"execution_id": str(number), "file": str(file), "bytes": size}
        missing = {"left_out": seen.left_out, "not_looked_for": seen.not_looked_for}
        click.echo(as_json({**row, "payloads": seen.payloads, **missing, "is_importable": seen.is_importable}))
        return exits.DONE
    with_payloads = f", {plural(seen.payloads, 'payload')}" if seen.payloads else ""
    click.echo(f"{clean(str(file))}  {in_bytes(size)}{with_payloads}")
    tell(seen, payloads_mb_max)
    advise("exported" if seen.is_importable else "exported.large", file=file, id=number)
    return exits.DONE


class Passing:
    """Looks at the lines of a file as it passes: how long its log is, how many payloads it has, which were left out."""

    def __init__(self) -> None:
        self.payloads = self.not_looked_for = 0
        self.events = self.log_bytes = self._line_bytes = 0
        self.left_out: list[dict[str, object]] = []
        self.lacks_room = self.is_live = False
        self._line = b""  # so much of it as tells what it is

    def through(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            first, *others = piece.split(b"\n")
            self._line = (self._line + first)[:LINE_BYTES_SEEN]
            self._line_bytes += len(first)
            for start in others:
                self._look()
                self._line, self._line_bytes = start[:LINE_BYTES_SEEN], len(start)
            yield piece

    @property
    def is_importable(self) -> bool:
        return not self.is_live and not self.is_long

    @property
    def is_long(self) -> bool:
        return self.events > IMPORTED_EVENTS_MAX or self.log_bytes > IMPORTED_BYTES_MAX

    def _look(self) -> None:
        if self._line.startswith(EVENT):
            self.events += 1
            self.log_bytes += self._line_bytes + 1
        elif self._line.startswith(LEFT_OUT):
            found = msgspec.json.decode(self._line)
            self.left_out.append({"sha256": found["left_out"], "bytes": found.get("bytes"), "why": found["why"]})
            self.lacks_room |= bool(found.get("lacks_room"))
        elif self._line.startswith(END):
            end = msgspec.json.decode(self._line)["end"]
            self.payloads, self.not_looked_for = end["payloads"], end.get("not_looked_for", 0)
        elif found := HEADER_STATUS.match(self._line):
            self.is_live = found[1] in LIVE


def tell(seen: Passing, mb_max: int) -> None:
    """Say what is not in the file, and how it can be had, on standard error: the rest of it is good."""
    if seen.is_live:
        click.echo("note: it has not ended: noetl import takes it when it has, the web pages as it stands", err=True)
    if seen.is_long:
        log = f"{seen.events:,} events and {in_bytes(seen.log_bytes)}"
        room = f"{IMPORTED_EVENTS_MAX:,} events and {in_bytes(IMPORTED_BYTES_MAX)}"
        click.echo(f"note: noetl import and the web pages take logs of {room}, and this has {log}", err=True)
    for one in seen.left_out[:SHOWN_MAX]:
        click.echo(f"left out: {one['sha256']}: {clean(str(one['why']))}", err=True)
    if len(seen.left_out) > SHOWN_MAX:
        click.echo(f"left out: {len(seen.left_out) - SHOWN_MAX:,} more", err=True)
    if seen.not_looked_for:
        click.echo(f"left out: {beyond(seen.not_looked_for)}", err=True)
    if seen.lacks_room and mb_max < MB_MAX:
        click.echo(f"   do: allow more with --payloads-mb-max, up to {MB_MAX}", err=True)
    elif seen.lacks_room or seen.not_looked_for:
        click.echo("   do: to have all of it elsewhere, copy the home and the store of results themselves", err=True)


def beyond(count: int) -> str:
    """Names of payloads that were not looked for, in words."""
    return f"{plural(count, 'further name')} of payloads, for one file may not have so many"


def file_in(output: str | None, name: str) -> Path:
    """The file that is meant: itself, or one of the usual name in a folder."""
    if output is None:
        return Path(name)
    return Path(output, name) if Path(output).is_dir() else Path(output)


def write(target: Path, pieces: Iterator[bytes]) -> int:
    """Write a file whole or not at all; only its owner may read it, for it holds data. How many bytes."""
    check_folder(str(target))
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
