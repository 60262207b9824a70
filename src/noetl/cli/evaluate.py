"""noetl eval: an expression, read in an execution at any of its events."""

from __future__ import annotations

from typing import Any

import click

from noetl.cli import exits
from noetl.cli.executions import execution_id
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import executions_of
from noetl.cli.words import as_json, clean, data_lines


@click.command("eval")
@click.argument("execution", metavar="ID")
@click.argument("expression")
@click.option("--at", type=click.IntRange(min=1), metavar="SEQ", help="After this event, not the last one.")
@click.option("--step", metavar="NAME", help="As a template of this step reads it.")
@click.option("--run", type=click.IntRange(min=1), metavar="N", help="Of this run; noetl show numbers them.")
@click.option("--iteration", type=click.IntRange(min=0), metavar="N", help="In this iteration of its loop.")
@click.option("--task", metavar="LABEL", help="As this task reads it.")
@place_options
@format_option
def command(
    execution: str,
    expression: str,
    at: int | None,
    step: str | None,
    run: int | None,
    iteration: int | None,
    task: str | None,
    home: str | None,
    store: str | None,
    form: str,
) -> int:
    """Evaluate an expression against an execution, as it stood after any event; nothing is written.

    ID is the execution's number, its beginning, or last; EXPRESSION a template, with or without its braces. Exit code:
    0 it has a value, 2 it cannot be evaluated there.

    Example: noetl eval last "ctx.rows | length" --at 40
    """
    settings = settings_of(home, store)
    given = {"step": step, "run": run, "iteration": iteration, "task": task}
    place = {name: value for name, value in given.items() if value is not None}
    found = executions_of(settings).evaluate(settings, execution_id(execution, settings), expression, at, place)
    if form == "json":
        click.echo(as_json(found))
    elif found["error"] is None:
        for line in data_lines(found["value"]):
            click.echo(line)
    for line in error_lines(expression, found["error"]) if form == "text" else ():
        click.echo(line, err=True)
    return exits.DONE if found["error"] is None else exits.WRONG_INPUT


def error_lines(expression: str, error: dict[str, Any] | None) -> list[str]:
    """The message, and where in the expression it is."""
    if error is None:
        return []
    lines = [f"error: {clean(error['message'])}"]
    if error["column"] is not None and "\n" not in expression:
        lines += [f"  {clean(expression)}", f"  {' ' * (error['column'] - 1)}^"]
    return lines
