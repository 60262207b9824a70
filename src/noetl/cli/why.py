"""noetl why: why a step of an execution ran, failed, or did not run."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.executions import execution_id
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import executions_of
from noetl.cli.words import as_json, clean, coloured, moment, one_line, plural, status_word

WHEN_WIDTH_MAX = 60
VALUE_WIDTH_MAX = 100
NOT_ASKED = "-"
MARKS = {"ran": "▸", "waited": "…", "skipped": "·", "refused": "✗", "failed": "✗", "not_reached": "·"}
COLOURS = {"ran": "green", "waited": "yellow", "skipped": "bright_black", "refused": "red", "failed": "red"}


@click.command("why")
@click.argument("execution", metavar="ID")
@click.argument("step")
@place_options
@format_option
def command(execution: str, step: str, home: str | None, store: str | None, form: str) -> int:
    """Say why a step ran, waited, was skipped, was passed by or failed: each arc and rule about it, with the values it
    saw.

    ID is the execution's number, its beginning, or last. Nothing is run: what was recorded is shown, and each condition
    is asked again on the state of its moment.

    Example: noetl why last store_orders
    """
    settings = settings_of(home, store)
    found = executions_of(settings).why(settings, execution_id(execution, settings), step)
    if form == "json":
        click.echo(as_json(found))
        return exits.DONE
    for line in lines_of(found):
        click.echo(line)
    advise("explained", id=found["execution_id"], step=found["step"] if has_run(found) else None)
    return exits.DONE


def has_run(found: dict[str, Any]) -> bool:
    return any(visit["run"] for visit in found["visits"])


def lines_of(found: dict[str, Any]) -> list[str]:
    """A line about the step, the sentences, then each visit with its rules and arcs as a table."""
    step = coloured(f'"{clean(found["step"])}"', None, bold=True)
    lines = [f"{step}  {status_word(found['status'])}  execution {found['execution_id']}", ""]
    lines += [clean(sentence) for sentence in found["sentences"]]
    if found["omitted_visits"]:
        lines.append(f"… {plural(found['omitted_visits'], 'visit')} in the middle left out …")
    for visit in found["visits"]:
        lines += visit_lines(visit) if visit["verdicts"] else []
    return lines


def visit_lines(visit: dict[str, Any]) -> list[str]:
    happened = visit["happened"]
    words = happened.replace("_", " ")
    words += f" {'in' if happened == 'failed' else 'as'} run {visit['run']}" if visit["run"] else ""
    mark = coloured(MARKS[happened], COLOURS.get(happened))
    head = f"{mark} event {visit['seq']}  {moment(visit['at'])}  {words}"
    rows = [row_of(one) for one in visit["verdicts"]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["", head]
    for row, one in zip(rows, visit["verdicts"], strict=True):
        lines.append(("  " + "  ".join(map(str.ljust, row, widths))).rstrip())
        lines += [f"      {line}" for line in value_lines(one)]
    return lines


def row_of(one: dict[str, Any]) -> tuple[str, str, str, str]:
    """What it is, its line, its condition, its answer."""
    what = f"{'→' if one['is_chosen'] else ' '} {one['place']} {one['index'] + 1}: {clean(one['target'] or '')}"
    line = f"line {one['line']}" if one["line"] else "planned"
    answer = NOT_ASKED if one["result"] is None else "true" if one["result"] else "false"
    return what, line, one_line(one["when"] or "(always)", WHEN_WIDTH_MAX), answer


def value_lines(one: dict[str, Any]) -> list[str]:
    lines = [f"{clean(read['name'])} {value_of(read)}" for read in one["reads"]]
    lines += [f"error: {clean(one['error'])}"] if one["error"] else []
    return [*lines, *([clean(one["note"])] if one["note"] else [])]


def value_of(read: dict[str, Any]) -> str:
    """`= 3`, or why there is no value."""
    if read["note"] and read["value"] is None:
        return f"is {read['note']}"
    return f"= {one_line(msgspec.json.encode(read['value']).decode(), VALUE_WIDTH_MAX)}"
