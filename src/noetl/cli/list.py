"""noetl list: the executions there are."""

from __future__ import annotations

from typing import Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import executions_of, is_empty, place_name
from noetl.cli.times import moment_seconds
from noetl.cli.words import COLOURS, as_json, clean, coloured, duration_ms, moment, table

STATUSES = ("running", "waiting", "incident", "success", "failed", "cancelled")
TROUBLE = ("failed", "incident", "waiting")  # what a person is likely to look at first
LIMIT_MAX = 10_000


def statuses(_context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """One status, or several with commas."""
    unknown = [word for word in (value or "").split(",") if word not in STATUSES] if value is not None else []
    if unknown:
        says = f'"{clean(unknown[0])}" is none; there are {", ".join(STATUSES)}; several are named with commas'
        raise click.BadParameter(says, param=parameter)
    return value


@click.command("list")
@click.option("--status", callback=statuses, metavar="STATUS[,STATUS]", help="Only those with one of these.")
@click.option("--path", metavar="PATH", help="Only those of this playbook; with * at its end, of all that begin so.")
@click.option("--q", metavar="TEXT", help="Only those with this text in their path, or whose id begins so.")
@click.option("--since", callback=moment_seconds, metavar="24h", help="Started so long ago, or at that time, or later.")
@click.option("--until", callback=moment_seconds, metavar="1h", help="Started by then.")
@click.option("--root", "is_root", is_flag=True, help="Only those that no other execution called.")
@click.option("--limit", type=click.IntRange(1, LIMIT_MAX), default=20, show_default=True, help="At most so many.")
@place_options
@format_option
def command(limit: int, home: str | None, store: str | None, form: str, **filters: Any) -> int:
    """List executions, newest first; those that have not ended too.

    Example: noetl list --status failed,incident --path 'team/*' --since 24h
    """
    settings = settings_of(home, store)
    wanted = {name: value for name, value in filters.items() if value}
    found = [] if is_empty(settings) else executions_of(settings).list_executions(settings, limit, wanted)
    if form == "json":
        click.echo(as_json(found))
    elif found:
        for line in lines_of(found):
            click.echo(line)
        called = any(row.get("parent_execution_id") for row in found) and not wanted
        first = next((row for row in found if row["status"] in TROUBLE), found[0])
        advise("listed.called" if called else "listed", id=first["execution_id"])
    else:
        which = f" with status {wanted['status']}" if list(wanted) == ["status"] else " like that" if wanted else ""
        click.echo(f"no executions{which} in {place_name(settings)}", err=True)
        advise("listed.none_like_that" if wanted else "listed.none", file=...)
    return exits.DONE


def lines_of(found: list[dict[str, Any]]) -> list[str]:
    """One line each, with its status in colour."""
    rows = [
        (
            row["execution_id"],
            row["status"],
            moment(row["created_at"]),
            duration_ms(row["duration_ms"]),
            f"{clean(row['path'])}@{row['version']}",
        )
        for row in found
    ]
    head, *lines = table(rows, ("ID", "STATUS", "STARTED", "TOOK", "PLAYBOOK"))
    shown = [
        line.replace(row["status"], coloured(row["status"], COLOURS.get(row["status"])), 1)
        for line, row in zip(lines, found, strict=True)
    ]
    return [coloured(head, None, bold=True), *shown]
