"""noetl cancel: end an execution before its end."""

from __future__ import annotations

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.executions import execution_id
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import executions_of
from noetl.cli.words import as_json, status_word

REASON_CHARS_MAX = 1000


@click.command("cancel")
@click.argument("execution", metavar="ID")
@click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded in the log.")
@place_options
@format_option
def command(execution: str, reason: str, home: str | None, store: str | None, form: str) -> int:
    """Cancel an execution: what runs is stopped, what it called too, and compensations run.

    ID is the execution's number, its beginning, or last.

    Example: noetl cancel 4097 --reason "wrong input file"
    """
    if len(reason) > REASON_CHARS_MAX:
        raise click.UsageError(f"--reason may have {REASON_CHARS_MAX} characters, but has {len(reason)}")
    settings = settings_of(home, store)
    found = executions_of(settings).cancel(settings, execution_id(execution, settings), reason)
    if form == "json":
        click.echo(as_json(found))
    else:
        click.echo(f"execution {found['execution_id']}: {status_word(found['status'])}")
        is_stopped = found["status"] == "running" and "runs_in" not in found
        if is_stopped:
            click.echo("what its steps did is undone when it goes on", err=True)
        advise("cancelled.undoing" if is_stopped else "cancelled", id=found["execution_id"])
    return exits.DONE
