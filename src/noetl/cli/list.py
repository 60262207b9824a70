"""noetl list: the executions there are."""

from __future__ import annotations

from typing import Any

import click

from noetl.cli import exits
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import executions_of, is_empty, place_name
from noetl.cli.words import COLOURS, as_json, clean, coloured, duration_ms, moment, table

STATUSES = ("running", "waiting", "incident", "success", "failed", "cancelled")
LIMIT_MAX = 10_000


@click.command("list")
@click.option("--status", type=click.Choice(STATUSES), help="Only those.")
@click.option("--limit", type=click.IntRange(1, LIMIT_MAX), default=20, show_default=True, help="At most so many.")
@place_options
@format_option
def command(status: str | None, limit: int, home: str | None, store: str | None, form: str) -> int:
    """List executions, newest first; those that have not ended too.

    Example: noetl list --status failed --limit 5
    """
    settings = settings_of(home, store)
    found = [] if is_empty(settings) else executions_of(settings).list_executions(settings, limit, status)
    if form == "json":
        click.echo(as_json(found))
    elif found:
        for line in lines_of(found):
            click.echo(line)
    else:
        which = f" with status {status}" if status else ""
        click.echo(f"no executions{which} in {place_name(settings)}", err=True)
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
