"""noetl trigger: what from outside starts playbooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.schedule import playbook_of
from noetl.cli.sides import is_empty, place_name, triggers_of
from noetl.cli.words import as_json, clean, coloured, moment, one_line, table


@click.group("trigger")
def command() -> None:
    """Start playbooks by requests and messages from outside.

    A trigger is a document of kind: Trigger, with a webhook or a NATS subject, and its playbook one of the catalog.
    Servers listen: noetl server start.

    Example: noetl trigger apply triggers.yaml
    """


@command.command("apply")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@place_options
@format_option
def apply(files: Sequence[str], home: str | None, store: str | None, form: str) -> int:
    """Keep the Trigger documents of files, each in place of the one of its name.

    FILE may hold other documents too, which are left alone; - is standard input. If one document does not check,
    nothing is applied. The same again changes nothing.

    Example: noetl trigger apply triggers.yaml
    """
    from noetl.cli.applying import apply_files

    return apply_files(files, "Trigger", triggers_of(settings_of(home, store)).apply, form)


@command.command("list")
@place_options
@format_option
def list_triggers(home: str | None, store: str | None, form: str) -> int:
    """List triggers, and what came of their messages.

    Example: noetl trigger list --format json
    """
    settings = settings_of(home, store)
    found = [] if is_empty(settings) else triggers_of(settings).listed()
    if form == "json":
        click.echo(as_json(found))
    elif found:
        head, *lines = table(map(cells, found), ("NAME", "SOURCE", "PLAYBOOK", "STARTED", "LAST", "ERROR"))
        click.echo("\n".join([coloured(head, None, bold=True), *lines]))
        advise("trigger.listed", name=found[0]["name"])
    else:
        click.echo(f"no triggers in {place_name(settings)}", err=True)
        advise("trigger.none", file=...)
    return exits.DONE


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    rests = " (paused)" if row["is_paused"] else ""
    started, last = str(row["counts"]["started"]), moment(row["last_started_at"])
    return clean(row["name"]), source_of(row) + rests, playbook_of(row), started, last, one_line(row["last_error"], 80)


def source_of(row: dict[str, Any]) -> str:
    return f"POST {row['hook']}" if row["hook"] else f"nats {clean(row['nats']['subject'])}"


@command.command("show")
@click.argument("name")
@place_options
@format_option
def show(name: str, home: str | None, store: str | None, form: str) -> int:
    """Show a trigger, and what came of its messages.

    Example: noetl trigger show new_order
    """
    row = triggers_of(settings_of(home, store)).shown(name)
    click.echo(as_json(row) if form == "json" else "\n".join(lines_of(row)))
    advise("trigger.shown", id=row["last_execution_id"])
    return exits.DONE


def lines_of(row: dict[str, Any]) -> list[str]:
    counts = row["counts"]
    said = [
        f"{coloured(clean(row['name']), None, bold=True)}  {'paused' if row['is_paused'] else 'listening'}",
        f"  source     {source_of(row)}",
        f"  playbook   {playbook_of(row)}",
        f"  so far     {counts['started']} started, {counts['repeated']} repeated, {counts['refused']} refused",
    ]
    if row["last_execution_id"]:
        said.append(f"  last       {moment(row['last_started_at'])}  execution {row['last_execution_id']}")
    if row["last_error"]:
        said.append(f"  error      {moment(row['last_error_at'])}  {one_line(row['last_error'], 200)}")
    return said


@command.command("remove")
@click.argument("name")
@place_options
@format_option
def remove(name: str, home: str | None, store: str | None, form: str) -> int:
    """Remove a trigger; what it started goes on.

    Example: noetl trigger remove new_order
    """
    triggers_of(settings_of(home, store)).remove(name)
    click.echo(as_json({"name": name, "removed": True}) if form == "json" else f"{clean(name)}  removed")
    advise("trigger.removed")
    return exits.DONE
