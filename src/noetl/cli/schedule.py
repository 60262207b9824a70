"""noetl schedule: when playbooks are started by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import is_empty, place_name, schedules_of
from noetl.cli.words import as_json, clean, coloured, moment, one_line, table

NEXT_MAX = 100
COLOURS = {"active": "green", "waiting": "cyan", "paused": "yellow", "ended": "bright_black"}
OUTCOME_COLOURS = {"started": "green", "skipped": "yellow", "failed": "red"}
LINE_WIDTH = 100
UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


@click.group("schedule")
def command() -> None:
    """Start playbooks by themselves, by cron or every so often.

    A schedule is a document of kind: Schedule, and its playbook one of the catalog. Servers start what is due: noetl
    server start.

    Example: noetl schedule apply schedules.yaml
    """


@command.command("apply")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@place_options
@format_option
def apply(files: Sequence[str], home: str | None, store: str | None, form: str) -> int:
    """Keep the Schedule documents of files, each in place of the one of its name.

    FILE may hold other documents too, which are left alone; - is standard input. If one document does not check,
    nothing is applied. The same again changes nothing.

    Example: noetl schedule apply schedules.yaml
    """
    from noetl.cli.applying import apply_files

    return apply_files(files, "Schedule", schedules_of(settings_of(home, store)).apply, form)


@command.command("list")
@place_options
@format_option
def list_schedules(home: str | None, store: str | None, form: str) -> int:
    """List schedules: how each stands, and when it is due next.

    Example: noetl schedule list --format json
    """
    settings = settings_of(home, store)
    found = [] if is_empty(settings) else schedules_of(settings).listed()
    if form == "json":
        click.echo(as_json(found))
    elif found:
        head, *lines = table(map(cells, found), ("NAME", "STATE", "NEXT", "WHEN", "PLAYBOOK", "LAST"))
        click.echo(coloured(head, None, bold=True))
        for row, line in zip(found, lines, strict=True):
            click.echo(line.replace(row["state"], coloured(row["state"], COLOURS[row["state"]]), 1))
        advise("schedule.listed", name=found[0]["name"])
    else:
        click.echo(f"no schedules in {place_name(settings)}", err=True)
        advise("schedule.none", file=...)
    return exits.DONE


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    last = f"failed: {one_line(row['last_error'], 60)}" if row["last_error"] else row["last_execution_id"] or "-"
    return clean(row["name"]), row["state"], moment(row["next_at"]), when(row), playbook_of(row), last


def when(row: dict[str, Any]) -> str:
    if row["cron"] is None:
        return f"every {span(row['every_seconds'])}"
    return f"{clean(row['cron'])} {clean(row['timezone'])}"


def span(seconds: int) -> str:
    """As a document may write it: 30s, 5m, 2h, 1d."""
    count, unit = next((seconds // size, unit) for unit, size in UNITS.items() if seconds % size == 0)
    return f"{count}{unit}"


def playbook_of(row: dict[str, Any]) -> str:
    return clean(row["path"]) + ("" if row["version"] is None else f"@{row['version']}")


@command.command("show")
@click.argument("name")
@place_options
@format_option
def show(name: str, home: str | None, store: str | None, form: str) -> int:
    """Show a schedule: how it stands, when it is due next, what became of the last times.

    Example: noetl schedule show nightly_report
    """
    row = schedules_of(settings_of(home, store)).shown(name, 5)
    click.echo(as_json(row) if form == "json" else "\n".join(lines_of(row)))
    advise("schedule.shown", id=row["last_execution_id"], name=row["name"])
    return exits.DONE


def lines_of(row: dict[str, Any]) -> list[str]:
    counts = row["counts"]
    said = [
        f"{coloured(clean(row['name']), None, bold=True)}  {coloured(row['state'], COLOURS[row['state']])}",
        f"  playbook   {playbook_of(row)}",
        f"  when       {when(row)}",
        f"  overlap    {row['overlap']}",
        f"  catch up   {row['catch_up']}" + (f", {row['catch_up_max']} at most" if row["catch_up"] == "all" else ""),
        f"  so far     {counts['started']} started, {counts['skipped']} skipped, {counts['missed']} missed, "
        f"{counts['failed']} failed",
    ]
    if row["last_error"]:
        said.append(f"  error      {coloured(one_line(row['last_error'], 200), 'red')}")
    said += [f"  next       {due}" for due in row["next"]]
    said += [f"  {firing_line(firing)}" for firing in row["recent"]]
    return said


def firing_line(firing: dict[str, Any]) -> str:
    outcome = coloured(firing["outcome"].ljust(10), OUTCOME_COLOURS[firing["outcome"]])
    execution = f"execution {firing['execution_id']}" if firing["execution_id"] else ""
    why = one_line(firing["why"], LINE_WIDTH)
    return f"{outcome} {moment(firing['due_at'])}  {execution or why}".rstrip()


@command.command("next")
@click.argument("name")
@click.option("--count", type=click.IntRange(1, NEXT_MAX), default=5, show_default=True, help="How many.")
@place_options
@format_option
def upcoming(name: str, count: int, home: str | None, store: str | None, form: str) -> int:
    """Print the next due times of a schedule, in its own time zone.

    Example: noetl schedule next nightly_report --count 10
    """
    row = schedules_of(settings_of(home, store)).shown(name, count)
    if form == "json":
        click.echo(as_json(row["next"]))
    elif row["next"]:
        click.echo("\n".join(row["next"]))
    else:
        click.echo(f"{clean(name)} is {row['state']}: nothing is due", err=True)
    advise("schedule.next", name=row["name"])
    return exits.DONE


@command.command("pause")
@click.argument("name")
@place_options
@format_option
def pause(name: str, home: str | None, store: str | None, form: str) -> int:
    """Let a schedule rest; what comes due meanwhile is not made up for.

    Example: noetl schedule pause nightly_report
    """
    return changed(schedules_of(settings_of(home, store)).pause(name), form)


@command.command("resume")
@click.argument("name")
@place_options
@format_option
def resume(name: str, home: str | None, store: str | None, form: str) -> int:
    """Let a paused schedule go on with its next due time.

    Example: noetl schedule resume nightly_report
    """
    return changed(schedules_of(settings_of(home, store)).resume(name), form)


def changed(row: dict[str, Any], form: str) -> int:
    coming = f", next {moment(row['next_at'])}" if row["next_at"] else ""
    click.echo(as_json(row) if form == "json" else f"{clean(row['name'])}  {row['state']}{coming}")
    advise("schedule.paused" if row["state"] == "paused" else "schedule.going", name=row["name"])
    return exits.DONE


@command.command("run")
@click.argument("name")
@place_options
@format_option
def run_now(name: str, home: str | None, store: str | None, form: str) -> int:
    """Start a schedule's playbook now, with its payload; its due times stay.

    A server does it, so that the execution goes on by itself.

    Example: noetl schedule run nightly_report --server http://127.0.0.1:8080
    """
    begun = schedules_of(settings_of(home, store)).run(name)
    said = as_json({"name": name, **begun}) if form == "json" else f"{clean(name)}  execution {begun['execution_id']}"
    click.echo(said)
    advise("schedule.ran", id=begun["execution_id"])
    return exits.DONE


@command.command("remove")
@click.argument("name")
@place_options
@format_option
def remove(name: str, home: str | None, store: str | None, form: str) -> int:
    """Remove a schedule; what it started goes on.

    Example: noetl schedule remove nightly_report
    """
    schedules_of(settings_of(home, store)).remove(name)
    click.echo(as_json({"name": name, "removed": True}) if form == "json" else f"{clean(name)}  removed")
    advise("schedule.removed")
    return exits.DONE
