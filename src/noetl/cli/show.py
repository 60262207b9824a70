"""noetl show: one execution at a glance."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from noetl.cli import exits
from noetl.cli.executions import execution_id
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sentences import error_sentence
from noetl.cli.sides import executions_of
from noetl.cli.words import (
    COLOURS,
    MARKS,
    as_json,
    clean,
    coloured,
    data_lines,
    duration_ms,
    moment,
    plural,
    status_word,
)

if TYPE_CHECKING:
    from noetl.config import Settings

BAR_WIDTH_MIN, BAR_WIDTH_MAX = 10, 60
NAME_WIDTH_MAX = 32
REST_WIDTH = 40  # of a line: name and bar apart
OUTPUT_LINES_MAX = 20
CHILD_IDS_SHOWN = 5


@click.command("show")
@click.argument("execution", metavar="ID")
@place_options
@format_option
def command(execution: str, home: str | None, store: str | None, form: str) -> int:
    """Show an execution: its step runs over time, loops, retries, the error, what it waits for.

    ID is the execution's number, or last.

    Example: noetl show last
    """
    settings = settings_of(home, store)
    found = executions_of(settings).show(settings, execution_id(execution, settings))
    if form == "json":
        click.echo(as_json(found))
        return exits.DONE
    width = shutil.get_terminal_size().columns
    for line in [*head(found), "", *timeline(found, width), *ending(found, place_of_error(settings, found))]:
        click.echo(line)
    return exits.DONE


def place_of_error(settings: Settings, found: dict[str, Any]) -> str:
    """Where in the playbook the step or task stands that failed it."""
    error = found["error"]
    if not error or not error.get("step"):
        return ""
    from noetl.cli.places import place_in_catalog  # reads YAML, which looking at a success need not pay for

    return place_in_catalog(settings, found["path"], found["version"], error["step"], error.get("task"))


def head(found: dict[str, Any]) -> list[str]:
    title = coloured(f"{clean(found['path'])}@{found['version']}", None, bold=True)
    parent = found["parent_execution_id"]
    facts = [
        f"started {moment(found['created_at'])}",
        f"took {duration_ms(found['duration_ms'])}" if found["ended_at"] else "not ended",
        plural(found["events"], "event"),
        *([f"called by execution {parent}"] if parent else []),
    ]
    return [f"{title}  {status_word(found['status'])}  execution {found['execution_id']}", ", ".join(facts)]


# --- the runs --------------------------------------------------------------------------------------------------------


def timeline(found: dict[str, Any], width: int) -> list[str]:
    """One line per step run: its name, a bar where it stood in the whole, how long, and what is worth a word."""
    runs = found["runs"]
    names = run_names(runs)
    name_width = min(max(map(len, names), default=0), NAME_WIDTH_MAX)
    bar_width = min(max(width - name_width - REST_WIDTH, BAR_WIDTH_MIN), BAR_WIDTH_MAX)
    whole = max((run["offset_ms"] + (run["duration_ms"] or 0) for run in runs), default=0)
    lines = [
        run_line(run, name[:name_width].ljust(name_width), bar(run, max(whole, found["duration_ms"] or 0), bar_width))
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
    if whole_ms <= 0:
        return "━" + " " * (width - 1)
    start = min(int(run["offset_ms"] / whole_ms * width), width - 1)
    share = width if run["duration_ms"] is None else round(run["duration_ms"] / whole_ms * width)
    length = min(max(share, 1), width - start)
    return " " * start + "━" * length + " " * (width - start - length)


def run_line(run: dict[str, Any], name: str, drawn: str) -> str:
    colour = COLOURS.get(run["status"])
    mark = coloured(MARKS.get(run["status"], "·"), colour)
    took = duration_ms(run["duration_ms"]) if run["duration_ms"] is not None else run["status"]
    return f"{mark} {name}  {coloured(drawn, colour)}  {took:>9}  {'; '.join(remarks(run))}".rstrip()


def remarks(run: dict[str, Any]) -> list[str]:
    """Counts of a loop, tasks, retries, why it failed."""
    found = []
    if run["loop"]:
        loop = run["loop"]
        failed = f", {loop['failed']:,} failed" if loop["failed"] else ""
        found.append(f"{loop['done']:,} of {plural(loop['total'], 'iteration')}{failed}")
    if run["nested"]:
        found.append(f"inner {run['nested']['done']:,} of {run['nested']['total']:,}")
    tasks = [task_words(task) for task in run["tasks"]]
    found += [", ".join(tasks)] if tasks else []
    found += [clean(str(run["error"].get("message", "")))] if run["error"] else []
    return found


def task_words(task: dict[str, Any]) -> str:
    """`fetch × 100 (3 retries, 1 failed)`"""
    often = f" × {task['runs']:,}" if task["runs"] > 1 else ""
    trouble = [f"{task['retries']:,} {'retry' if task['retries'] == 1 else 'retries'}"] if task["retries"] else []
    trouble += [f"{task['failed']:,} failed"] if task["failed"] else []
    return f"{clean(task['task'])}{often}{' (' + ', '.join(trouble) + ')' if trouble else ''}"


# --- what follows from it --------------------------------------------------------------------------------------------


def ending(found: dict[str, Any], place: str) -> list[str]:
    lines = []
    if found["error"] and found["status"] != "success":
        lines += ["", f"{coloured('error:', 'red', bold=True)} {error_sentence(found['error'], place)}"]
    lines += [child_line(child) for child in found["children"]]
    lines += [waiting_line(one) for one in found["waiting"]]
    lines += [clean(one["reason"]) for one in found.get("unserved", ())]  # an older server does not tell
    lines += output_lines(found["output"])
    return [*lines, "", f"next: {', '.join(next_commands(found['status'], found['execution_id']))}"]


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


def next_commands(status: str, number: str) -> list[str]:
    """What a person may want to do now."""
    looking = [f"noetl events {number}"]
    if status == "waiting":
        return [f"noetl signal {number} --set ctx.NAME=VALUE", *looking]
    if status in ("running", "incident"):
        return [f"noetl resume {number}", f"noetl cancel {number}", *looking]
    return [*looking, f"noetl replay {number} --verify"]
