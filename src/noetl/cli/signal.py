"""noetl signal: write to the ctx of an execution that waits."""

from __future__ import annotations

from collections.abc import Sequence

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.executions import execution_id
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.payloads import context_patches
from noetl.cli.sides import executions_of
from noetl.cli.words import as_json, status_word


@click.command("signal")
@click.argument("execution", metavar="ID")
@click.option(
    "--set", "assignments", metavar="CTX.K=VALUE", multiple=True, required=True, help="What to write; repeatable."
)
@place_options
@format_option
def command(execution: str, assignments: Sequence[str], home: str | None, store: str | None, form: str) -> int:
    """Write to the ctx of an execution, so that a step that waits for it is asked again.

    ID is the execution's number, its beginning, or last. Values are read as run's --set reads them.

    Example: noetl signal 4097 --set ctx.approved=true
    """
    settings = settings_of(home, store)
    patches = context_patches(assignments)
    found = executions_of(settings).signal(settings, execution_id(execution, settings), patches)
    if form == "json":
        click.echo(as_json(found))
    else:
        number = found["execution_id"]
        click.echo(f"execution {number}: {status_word(found['status'])}, {', '.join(patches)} written")
        is_stopped = found["status"] == "running" and "runs_in" not in found
        advise("signalled.stopped" if is_stopped else "signalled", id=number)
    return exits.FAILED if found["status"] == "failed" else exits.DONE  # a gate could not use what was written
