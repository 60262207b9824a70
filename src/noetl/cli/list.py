"""noetl list: the executions there are."""

from __future__ import annotations

from typing import Any

import click

from noetl.cli import exits
from noetl.cli.options import format_option, settings_of, store_options
from noetl.cli.words import COLOURS, as_json, clean, coloured, duration_ms, moment, table

STATUSES = ("running", "waiting", "incident", "success", "failed", "cancelled")
LIMIT_MAX = 10_000


@click.command("list")
@click.option("--status", type=click.Choice(STATUSES), help="Only those.")
@click.option("--limit", type=click.IntRange(1, LIMIT_MAX), default=20, show_default=True, help="At most so many.")
@store_options
@format_option
def command(status: str | None, limit: int, home: str | None, store: str | None, form: str) -> int:
    """List executions, newest first; those that have not ended too.

    Example: noetl list --status failed --limit 5
    """
    from noetl import server

    settings = settings_of(home, store)
    has_run = settings.store_path.exists()  # a home in which nothing ran yet has no store, and no executions
    found = server.list_executions(settings, limit, status) if has_run else []
    if form == "json":
        click.echo(as_json(found))
    elif found:
        for line in lines_of(found):
            click.echo(line)
    else:
        which = f" with status {status}" if status else ""
        click.echo(f"no executions{which} in {settings.store_url}", err=True)
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
