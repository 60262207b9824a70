"""What `noetl server` and `noetl worker` share: flags that become settings, and how what runs is shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.words import as_json, clean, duration, table
from noetl.config import Settings, load

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Row = Mapping[str, Any]
DRAIN_SECONDS = 30.0
STOP_SECONDS = 60.0

home_option = click.option(
    "--home", metavar="DIR", help="Where data lives.  [default: the nearest .noetl/, else yours]"
)
pid_file_option = click.option(
    "--pid-file", type=click.Path(path_type=Path), metavar="FILE", help="Another pid file than the one in the home."
)


def apart_options(function: Decorated) -> Decorated:
    """--detach, --pid-file, --log-file, --ready-timeout."""
    for option in (
        click.option(
            "--ready-timeout",
            "ready_seconds",
            type=click.FloatRange(min=1),
            default=60.0,
            show_default=True,
            metavar="SECONDS",
            help="With --detach: how long it may take to get ready.",
        ),
        click.option(
            "--log-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Write the log there, rotated by size.  [default: standard error; with --detach beside the pid file]",
        ),
        pid_file_option,
        click.option("--detach", is_flag=True, help="Go on apart from this terminal; return when it is ready."),
    ):
        function = option(function)
    return function


def stop_options(function: Decorated) -> Decorated:
    """--timeout, --kill, --pid-file."""
    function = click.option("--kill", is_flag=True, help="End it by force when the timeout is over.")(function)
    function = pid_file_option(function)
    return click.option(
        "--timeout",
        "drain_seconds_max",
        type=click.FloatRange(min=0),
        default=STOP_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="How long it may take to finish what it is at.",
    )(function)


class Flags:
    """What was given on the command line, by the key of its setting; what was not given is left out."""

    def __init__(self, given: Mapping[str, tuple[str, Any]]) -> None:
        self.given = {key: (flag, value) for key, (flag, value) in given.items() if value is not None}

    @property
    def values(self) -> dict[str, Any]:
        return {key: value for key, (_, value) in self.given.items()}

    def settings(self) -> Settings:
        return load(environ=os.environ, folder=Path.cwd(), flags=self.given)


def home_settings(home: str | None) -> Settings:
    return load(home=home, environ=os.environ, folder=Path.cwd())


def print_stopped(title: str, ended: Mapping[str, Any], form: str) -> int:
    """What `stop` did."""
    if form == "json":
        click.echo(as_json(ended))
    else:
        took = duration(ended["seconds"])
        says = {
            "stopped": f"stopped {title} (process {ended['pid']}) after {took}",
            "killed": f"killed {title} (process {ended['pid']}): it had not ended after {took}. What it was at goes on "
            "elsewhere, or at its next start",
            "draining": f"{title} (process {ended['pid']}) still finishes what it is at, after {took}; it ends by "
            "itself. Wait with another `stop`, or end it by force with --kill",
        }
        click.echo(says[ended["ended"]])
        is_draining = ended["ended"] == "draining"
        advise(f"{ended['role']}.{'draining' if is_draining else 'none'}", url=...)
    return exits.FAILED if ended["ended"] == "draining" else exits.DONE


def print_running(
    rows: Sequence[Row], form: str, columns: Mapping[str, Callable[[Row], str]], *, role: str, is_well: str, none: str
) -> int:
    """What `status` found; `is_well`: the field that says whether one does what it is there for."""
    if form == "json":
        click.echo(as_json(rows))
    elif rows:
        for line in table([tuple(cell(row) for cell in columns.values()) for row in rows], tuple(columns)):
            click.echo(line)
        well = [row for row in rows if row[is_well]]
        is_all_well = len(well) == len(rows) and role == "server"
        advise(f"{role}.status" if role == "worker" or is_all_well else "server.status.not", url=rows[0].get("url"))
    else:
        click.echo(none, err=True)
        advise(f"{role}.none", url=...)
    if not rows:
        return exits.FAILED
    return exits.DONE if all(row[is_well] for row in rows) else exits.UNREACHABLE


def text_of(name: str) -> Callable[[Row], str]:
    return lambda row: clean(str(row.get(name) or "-"))


def yes_or_no(name: str) -> Callable[[Row], str]:
    return lambda row: "yes" if row[name] else "no"


def age(row: Row) -> str:
    """For how long it has run."""
    started = row.get("started_at")
    return duration((datetime.now(UTC) - datetime.fromisoformat(started)).total_seconds()) if started else "-"
