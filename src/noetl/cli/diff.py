"""noetl diff: two executions side by side, and the first place in which they part."""

from __future__ import annotations

from typing import Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.executions import execution_id
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import executions_of
from noetl.cli.words import as_json, clean, coloured, one_line, plural, status_word, table

VALUE_WIDTH_MAX = 100
ROWS_MAX = 10  # differences of one sort that are shown
NOTHING = "–"


@click.command("diff")
@click.argument("before", metavar="ID")
@click.argument("after", metavar="ID")
@place_options
@format_option
def command(before: str, after: str, home: str | None, store: str | None, form: str) -> int:
    """Compare two executions: their inputs and texts, where they part first, and every step that differs.

    Each ID is an execution's number, its beginning, or last. What counts is what happened: outputs, errors, rules and
    arcs, writes; not times, nor the order of what ran side by side. Leaves with 0 if they are the same, 1 if not.

    Example: noetl diff 4097 last
    """
    settings = settings_of(home, store)
    ids = [execution_id(one, settings) for one in (before, after)]
    found = executions_of(settings).diff(settings, ids[0], ids[1])
    if form == "json":
        click.echo(as_json(found))
    else:
        for line in lines_of(found):
            click.echo(line)
        advise("compared", id=found["executions"][1]["execution_id"], step=parting_step(found))
    return exits.DONE if found["is_same"] else exits.FAILED


def lines_of(found: dict[str, Any]) -> list[str]:
    lines = [head(one) for one in found["executions"]]
    if found["is_same"]:
        return [*lines, "", f"they tell the same story{other_text(found)}"]
    lines += [*values("inputs that differ", found["inputs"]), *texts(found["playbook"])]
    if found["first"]:
        lines += first(found["first"])
    lines += steps(found)
    lines += [*values("output", found["output"]), *values("ctx", found["ctx"])]
    return lines


def head(one: dict[str, Any]) -> str:
    title = coloured(f"{clean(one['path'])}@{one['version']}", None, bold=True)
    return f"{title}  {status_word(one['status'])}  execution {one['execution_id']}"


def other_text(found: dict[str, Any]) -> str:
    return "" if found["playbook"]["is_same"] else ", by another text"


def texts(playbook: dict[str, Any]) -> list[str]:
    if playbook["is_same"]:
        return []
    named = ", ".join(f"{clean(one['step'])} ({one['change']})" for one in playbook["steps"]) or "none"
    return ["", f"another text; steps that differ in it: {named}"]


def first(found: dict[str, Any]) -> list[str]:
    """Where they part, with both sides below each other."""
    lines = ["", f"{coloured('first difference:', None, bold=True)} {clean(found['sentence'])}"]
    for number, side in enumerate(("before", "after")):
        seq, line = found["seqs"][number], found["lines"][number]
        if seq is None:
            lines.append(f"  {side}: nothing")
            continue
        place = f"event {seq}" + (f", line {line}" if line else "")
        lines.append(f"  {side}: {place}")
    return [*lines, *rows_of(found["differences"])]


def values(title: str, rows: list[dict[str, Any]]) -> list[str]:
    return ["", coloured(f"{title}:", None, bold=True), *rows_of(rows)] if rows else []


def rows_of(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        f"  {clean(row['path'] or 'value')}: {shown(row, 'before')} → {shown(row, 'after')}" for row in rows[:ROWS_MAX]
    ]
    more = len(rows) - ROWS_MAX
    return [*lines, f"  … {plural(more, 'more difference')}"] if more > 0 else lines


def shown(row: dict[str, Any], side: str) -> str:
    return one_line(row[side], VALUE_WIDTH_MAX) if side in row else NOTHING


def steps(found: dict[str, Any]) -> list[str]:
    """Every step run that differs."""
    rows = [
        (
            clean(one["step"]),
            *(str(run or NOTHING) for run in one["runs"]),
            *(status or NOTHING for status in one["statuses"]),
            " → ".join(NOTHING if count is None else str(count) for count in one["attempts"]),
            clean(one["sentence"]),
        )
        for one in found["steps"]
    ]
    if not rows:
        return []
    more = [f"… {plural(found['omitted_steps'], 'more run')}"] if found["omitted_steps"] else []
    return ["", *table(rows, ("STEP", "RUN", "RUN", "BEFORE", "AFTER", "ATTEMPTS", "WHAT")), *more]


def parting_step(found: dict[str, Any]) -> str | None:
    """The step at which the second one goes another way, if it comes there at all."""
    parting = found["first"]
    return None if not parting or parting["seqs"][1] is None else parting["step"]
