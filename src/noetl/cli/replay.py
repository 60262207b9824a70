"""noetl replay: the state that the log alone adds up to, at any event of it."""

from __future__ import annotations

from typing import Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.executions import execution_id
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import executions_of
from noetl.cli.words import as_json, clean, coloured, data_lines, plural, status_word

SAID_IN_HEAD = ("execution_id", "seq", "status")


@click.command("replay")
@click.argument("execution", metavar="ID")
@click.option("--verify", is_flag=True, help="Check the log against its rules and against the state that was recorded.")
@click.option("--at", type=click.IntRange(min=1), metavar="SEQ", help="The state after this event, not the last one.")
@place_options
@format_option
def command(execution: str, verify: bool, at: int | None, home: str | None, store: str | None, form: str) -> int:
    """Fold the log of an execution again and print the state it gives: ctx, tokens, runs, steps, output.

    Nothing is run and nothing is written. ID is the execution's number, its beginning, or last. With --verify the exit
    code is 1 if the log is not in order or does not give the state that was recorded.

    Example: noetl replay last --at 12
    """
    if verify and at is not None:
        raise click.UsageError("--verify looks at the whole log: leave --at away")
    settings = settings_of(home, store)
    number = execution_id(execution, settings)
    side = executions_of(settings)
    found = side.verify(settings, number) if verify else side.replay(settings, number, at)
    if form == "json":
        click.echo(as_json(found))
    else:
        for line in verdict(found) if verify else state_lines(found):
            click.echo(line)
        advise("replayed" if not verify else "verified" if found["is_equal"] else "verified.not", id=number)
    return exits.DONE if not verify or found["is_equal"] else exits.FAILED


def state_lines(found: dict[str, Any]) -> list[str]:
    lines = [f"execution {found['execution_id']} after event {found['seq']}: {status_word(found['status'])}"]
    for name, value in found.items():
        if name not in SAID_IN_HEAD and value not in (None, [], {}):
            first, *rest = data_lines(value)
            lines += [f"{coloured(name, None, bold=True)}: {first}", *rest]
    return lines


def verdict(found: dict[str, Any]) -> list[str]:
    lines = [check_line(check) for check in found["checks"]]
    said = (
        "the log is in order and gives the state that was recorded" if found["is_equal"] else "the log is NOT in order"
    )
    return [*lines, f"execution {found['execution_id']}: {plural(found['events'], 'event')}; {said}"]


def check_line(check: dict[str, Any]) -> str:
    mark = coloured("✓", "green") if check["ok"] else coloured("✗", "red")
    detail = f": {clean(str(check['detail']))}" if check["detail"] else ""
    return f"{mark} {check['name']}{detail}"
