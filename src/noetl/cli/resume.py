"""noetl resume: go on with an execution that stopped."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from noetl.cli.executions import execution_id
from noetl.cli.options import format_option, place_options, settings_of, wait_option
from noetl.cli.progress import observer_for
from noetl.cli.sides import executions_of

if TYPE_CHECKING:
    from noetl.config import Settings


@click.command("resume")
@click.argument("execution", metavar="ID")
@wait_option
@click.option("--quiet", "-q", is_flag=True, help="No progress; only the result, errors and the status.")
@place_options
@format_option
def command(execution: str, wait_seconds: float, quiet: bool, home: str | None, store: str | None, form: str) -> int:
    """Go on with an execution where it stopped: after Ctrl-C, a crash, or a signal.

    ID is the execution's number, its beginning, or last. Tasks whose end is recorded are not run again. It prints what
    run prints and leaves with the same exit codes.

    Example: noetl resume 4097
    """
    from noetl.cli.endings import finish

    settings = settings_of(home, store)
    number = execution_id(execution, settings)
    observer = observer_for(form, quiet)
    try:
        result = executions_of(settings).resume(settings, number, observer, wait_seconds)
    finally:
        observer.close()
    return finish(result, form, partial(place_in_execution, settings, number), settings)


def place_in_execution(settings: Settings, number: int, step: str, task: str | None) -> str:
    """Where a step or task stands in the playbook that an execution runs."""
    from noetl.cli.places import place_in_catalog

    shown = executions_of(settings).show(settings, number)
    return place_in_catalog(settings, shown["path"], shown["version"], step, task)
