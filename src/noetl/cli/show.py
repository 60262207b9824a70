"""noetl show: one execution at a glance."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.executions import execution_id
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import executions_of
from noetl.cli.words import (
    COLOURS,
    MARKS,
    as_json,
    clean,
    coloured,
    columns_of,
    data_lines,
    duration_ms,
    moment,
    padded,
    plural,
    status_word,
)

if TYPE_CHECKING:
    from noetl.cli.cause import Cause
    from noetl.config import Settings

BAR_WIDTH_MIN, BAR_WIDTH_MAX = 10, 60
BAR_FROM = 60  # a terminal so wide has room for bars
NAME_WIDTH_MIN, NAME_WIDTH_MAX = 12, 32
REST_WIDTH = 40  # of a line: name and bar apart
OUTPUT_LINES_MAX = 20
CHILD_IDS_SHOWN = 5


@click.command("show")
@click.argument("execution", metavar="ID")
@place_options
@format_option
def command(execution: str, home: str | None, store: str | None, form: str) -> int:
    """Show an execution: its step runs over time, loops, retries, the error, what it waits for.

    ID is the execution's number, its beginning, or last.

    Example: noetl show last
    """
    settings = settings_of(home, store)
    found = executions_of(settings).show(settings, execution_id(execution, settings))
    if form == "json":
        click.echo(as_json(found))
        return exits.DONE
    width = shutil.get_terminal_size().columns
    cause = cause_of_failure(settings, found)
    for line in [*head(found), "", *timeline(found, width), *ending(found, cause.lines if cause else [])]:
        click.echo(line)
    advise_on(settings, found, cause)
    return exits.DONE


def cause_of_failure(settings: Settings, found: dict[str, Any]) -> Cause | None:
    if not found["error"] or found["status"] == "success":
        return None
    from noetl.cli.cause import cause_of  # looking at a success need not pay for what it takes

    return cause_of(settings, found)


def advise_on(settings: Settings, found: dict[str, Any], cause: Cause | None) -> None:
    """What a person may want to do now."""
    number, status = found["execution_id"], found["status"]
    if unserved := found.get("unserved"):
        advise("shown.unserved", id=number, pool=unserved[0].get("pool"))
    elif status == "waiting":
        from noetl.cli.awaited import awaited

        step = found["waiting"][0]["step"] if found["waiting"] else None
        advise("shown.waiting", id=number, step=step, assignment=awaited(settings, int(number)) or ...)
    else:
        step = (found["error"] or {}).get("step")
        undone = ".undone" if status == "failed" and any(run["compensates"] for run in found["runs"]) else ""
        advise(f"shown.{status}{undone}", id=number, step=step, child=cause.child if cause else None)


def head(found: dict[str, Any]) -> list[str]:
    title = coloured(f"{clean(found['path'])}@{found['version']}", None, bold=True)
    parent, fork = found["parent_execution_id"], found.get("forked_from")  # an older server says nothing of it
    facts = [
        f"started {moment(found['created_at'])}",
        f"took {duration_ms(found['duration_ms'])}" if found["ended_at"] else "not ended",
        plural(found["events"], "event"),
        *([f"called by execution {parent}"] if parent else []),
        *([again_words(fork)] if fork else []),
    ]
    return [f"{title}  {status_word(found['status'])}  execution {found['execution_id']}", ", ".join(facts)]


def again_words(fork: dict[str, Any]) -> str:
    """Of a rerun: what it does again, and from where."""
    if not fork["seq"]:
        return f"does execution {fork['execution_id']} again"
    return f"goes on from event {fork['seq']:,} of execution {fork['execution_id']}"


# --- the runs --------------------------------------------------------------------------------------------------------


def timeline(found: dict[str, Any], width: int) -> list[str]:
    """One line per step run: its name, a bar where it stood in the whole, how long, and what is worth a word."""
    runs = found["runs"]
    names = run_names(runs)
    name_width = min(max(map(columns_of, names), default=0), NAME_WIDTH_MAX, max(width // 3, NAME_WIDTH_MIN))
    bar_width = min(max(width - name_width - REST_WIDTH, BAR_WIDTH_MIN), BAR_WIDTH_MAX) if width >= BAR_FROM else 0
    whole = max((run["offset_ms"] + (run["duration_ms"] or 0) for run in runs), default=0)
    told = (found["error"] or {}).get("message")  # below, with its place: once is enough
    lines = [
        run_line(run, padded(name, name_width), bar(run, max(whole, found["duration_ms"] or 0), bar_width), told)
        for run, name in zip(runs, names, strict=True)
    ]
    if found["omitted_runs"]:
        lines.insert(len(lines) // 2, f"  … {plural(found['omitted_runs'], 'run')} left out …")
    return lines or ["  no step has run"]


def run_names(runs: list[dict[str, Any]]) -> list[str]:
    """The step of each run, with its number where the step ran more than once."""
    often = Counter(run["step"] for run in runs)
    names = []
    for run in runs:
        number = f" #{run['run']}" if often[run["step"]] > 1 else ""
        names.append(f"{clean(run['step'])}{number}{' (undo)' if run['compensates'] else ''}")
    return names


def bar(run: dict[str, Any], whole_ms: float, width: int) -> str:
    """Where a run stood in the time of the whole; a run under way reaches to the end."""
    if not width:
        return ""
    if whole_ms <= 0:
        return "━" + " " * (width - 1)
    start = min(int(run["offset_ms"] / whole_ms * width), width - 1)
    share = width if run["duration_ms"] is None else round(run["duration_ms"] / whole_ms * width)
    length = min(max(share, 1), width - start)
    return " " * start + "━" * length + " " * (width - start - length)


def run_line(run: dict[str, Any], name: str, drawn: str, told: str | None = None) -> str:
    colour = COLOURS.get(run["status"])
    mark = coloured(MARKS.get(run["status"], "·"), colour)
    took = duration_ms(run["duration_ms"]) if run["duration_ms"] is not None else run["status"]
    drawing = f"  {coloured(drawn, colour)}" if drawn else ""
    return f"{mark} {name}{drawing}  {took:>9}  {'; '.join(remarks(run, told))}".rstrip()


def remarks(run: dict[str, Any], told: str | None = None) -> list[str]:
    """Counts of a loop, tasks, retries, why it failed, unless that is told anyway."""
    found = []
    if run["loop"]:
        loop = run["loop"]
        failed = f", {loop['failed']:,} failed" if loop["failed"] else ""
        found.append(f"{loop['done']:,} of {plural(loop['total'], 'iteration')}{failed}")
    if run["nested"]:
        found.append(f"inner {run['nested']['done']:,} of {run['nested']['total']:,}")
    tasks = [task_words(task) for task in run["tasks"]]
    found += [", ".join(tasks)] if tasks else []
    message = str((run["error"] or {}).get("message", ""))
    found += [clean(message)] if message and message != told else []
    return found


def task_words(task: dict[str, Any]) -> str:
    """`fetch × 100 (3 retries, 1 failed)`"""
    often = f" × {task['runs']:,}" if task["runs"] > 1 else ""
    trouble = [f"{task['retries']:,} {'retry' if task['retries'] == 1 else 'retries'}"] if task["retries"] else []
    trouble += [f"{task['failed']:,} failed"] if task["failed"] else []
    return f"{clean(task['task'])}{often}{' (' + ', '.join(trouble) + ')' if trouble else ''}"


# --- what follows from it --------------------------------------------------------------------------------------------


def ending(found: dict[str, Any], cause: Sequence[str]) -> list[str]:
    lines = ["", *(line.replace("error:", coloured("error:", "red", bold=True), 1) for line in cause)] if cause else []
    lines += [child_line(child) for child in found["children"]]
    lines += [waiting_line(one) for one in found["waiting"]]
    lines += [clean(one["reason"]) for one in found.get("unserved", ())]  # an older server does not tell
    return [*lines, *output_lines(found["output"])]


def child_line(child: dict[str, Any]) -> str:
    ids = child["execution_ids"]
    more = ", …" if len(ids) > CHILD_IDS_SHOWN else ""
    which = f" (executions {', '.join(ids[:CHILD_IDS_SHOWN])}{more})" if ids else ""
    counts = f"{child['done']:,} of {child['started']:,} done, {child['failed']:,} failed"
    return f"called {clean(child['path'])}: {counts}{which}"


def waiting_line(one: dict[str, Any]) -> str:
    what = "a signal" if one["is_for_signal"] else "ctx to change"
    return f'"{clean(one["step"])}" waits for {what} since {moment(one["since"])}'


def output_lines(output: dict[str, Any] | None) -> list[str]:
    """The output's data, short."""
    if not output or output.get("data") is None:
        return []
    lines = data_lines(output["data"])
    if len(lines) == 1:
        return [f"output: {lines[0]}"]
    more = [f"  … {plural(len(lines) - OUTPUT_LINES_MAX, 'more line')} with --format json"]
    return ["output:", *(f"  {line}" for line in lines[:OUTPUT_LINES_MAX]), *more[: len(lines) > OUTPUT_LINES_MAX]]
