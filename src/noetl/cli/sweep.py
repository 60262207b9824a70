"""noetl sweep: stored results that nothing needs any more are removed."""

from __future__ import annotations

from typing import Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import executions_of, is_empty
from noetl.cli.words import as_json, in_bytes, plural

NOTHING = {"removed": 0, "removed_bytes": 0, "kept": 0, "kept_bytes": 0}


@click.command("sweep")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Remove nothing, and say what would go.")
@click.option(
    "--keep-days",
    type=click.IntRange(0, 36_500),
    metavar="DAYS",
    help="Keep results so long after the end of their execution.  [default: results.keep_days, else for ever]",
)
@click.option(
    "--remote",
    "is_alone",
    is_flag=True,
    help="Sweep stores off this machine too: only if no other NoETL keeps results in the same place.",
)
@place_options
@format_option
def command(
    is_dry_run: bool, keep_days: int | None, is_alone: bool, home: str | None, store: str | None, form: str
) -> int:
    """Remove stored results that nothing needs any more.

    A result goes when its ttl, or --keep-days, has passed since its execution ended, and what a crash left behind
    after a day. What an execution that has not ended names always stays. Others may run meanwhile. Only this store's
    logs are read: what other stores' executions need in a place that they share is not known here.

    Example: noetl sweep --keep-days 30 --dry-run
    """
    settings = settings_of(home, store)
    if is_empty(settings):
        found = {**NOTHING, "dry_run": is_dry_run}
    else:
        found = executions_of(settings).sweep(settings, keep_days, is_dry_run=is_dry_run, is_alone=is_alone)
    click.echo(as_json(found) if form == "json" else sentence(found))
    advise("swept.dry" if is_dry_run else "swept")
    return exits.DONE


def sentence(found: dict[str, Any]) -> str:
    did = "would remove" if found["dry_run"] else "removed"
    going = f"{plural(found['removed'], 'result')} ({in_bytes(found['removed_bytes'])})"
    staying = f"{plural(found['kept'], 'result')} ({in_bytes(found['kept_bytes'])})"
    return f"{did} {going}, kept {staying}"
