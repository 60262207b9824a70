"""noetl plan: what a playbook would run, its worst case, what it needs, and whether that can be reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.files import STANDARD_INPUT
from noetl.cli.kinds import available_kinds
from noetl.cli.options import format_option, place_options, settings_of, surface_options
from noetl.cli.payloads import payload_of
from noetl.cli.sides import executions_of, is_empty
from noetl.cli.targets import target_of
from noetl.cli.words import as_json
from noetl.config import Settings
from noetl.errors import InvalidPlaybook, UnknownPlaybook


@click.command("plan")
@click.argument("target", metavar="FILE|PATH[@VERSION]")
@click.option("--set", "assignments", metavar="A.B=VALUE", multiple=True, help="One value of the payload; repeatable.")
@click.option("--payload", metavar="JSON|@FILE|-", help="The payload: a JSON mapping, a file of it, or standard input.")
@click.option("--connect", is_flag=True, help="Try its connections for real; nothing is changed on the other side.")
@surface_options
@place_options
@format_option
def command(
    target: str,
    assignments: Sequence[str],
    payload: str | None,
    connect: bool,
    legacy: bool,
    compat: str | None,
    home: str | None,
    store: str | None,
    form: str,
) -> int:
    """Say what a playbook would run, at worst how often and how long, and what it needs. Nothing is run.

    FILE is a playbook, or - for standard input; what is no file is looked up in the catalog, with --server in that of
    the server. What only the run can tell is called unknown, with the reason. --connect tries credentials, hosts of
    http tasks and result stores, from this machine.

    Exit code: 0 planned, 1 a connection failed (--connect), 2 wrong input or a playbook that does not check, 3 the
    server is out of reach.

    Example: noetl plan orders.yaml --set day=2026-03-01 --connect
    """
    if target == payload == STANDARD_INPUT:
        raise click.UsageError("playbook and payload cannot both come from standard input: name a file for one of them")
    settings = settings_of(home, store)
    if connect and settings.server_url:
        raise click.UsageError(
            "--connect tries connections from this machine, but with --server the workers there make them: run noetl "
            "plan --connect on a worker's machine, without --server"
        )
    from noetl.forecasting import PlanRequest, plan

    found = target_of(target)
    request = PlanRequest(
        data=found.data,
        name=found.name,
        folder=found.folder,
        path=found.path or "",
        version=found.version,
        payload=payload_of(payload, assignments),
        is_legacy=legacy,
        is_upstream=compat == "upstream",
    )

    def show(path: str, version: int | None) -> dict[str, Any]:
        return shown(settings, path, version)

    try:
        document = plan(settings, request, available_kinds, show, is_connecting=connect)
    except InvalidPlaybook as error:
        from noetl.cli.refusing import refuse

        return refuse(error, form, "planned")
    if form == "json":
        click.echo(as_json(document))
    else:
        from noetl.cli.plan_text import lines_of

        for line in lines_of(document):
            click.echo(line)
        advise(**following(document, target, is_remote=bool(settings.server_url)))
    return exits.FAILED if has_failed(document) else exits.DONE


def has_failed(document: dict[str, Any]) -> bool:
    return any(one["state"] == "fail" for one in document["connections"] or ())


def following(document: dict[str, Any], target: str, *, is_remote: bool) -> dict[str, str]:
    """What has happened, and its facts."""
    missing = [one for one in document["needs"]["credentials"] if one["state"] == "missing"]
    if missing:
        return {"situation": "planned.incomplete", "name": missing[0]["name"], "kind": missing[0]["kind"]}
    if has_failed(document):
        return {"situation": "planned.not", "file": target}
    if document["connections"] is None:
        return {"situation": "planned.remote" if is_remote else "planned", "file": target}
    return {"situation": "planned.connected", "file": target}


def shown(settings: Settings, path: str, version: int | None) -> dict[str, Any]:
    """A playbook of the catalog; where nothing was ever kept there is none."""
    if is_empty(settings):
        raise UnknownPlaybook(path, version)
    return executions_of(settings).catalog_show(settings, path, version)
