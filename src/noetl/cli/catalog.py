"""noetl catalog: playbooks kept under a path, version by version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.files import STANDARD_INPUT, read_bytes, shown_name
from noetl.cli.options import format_option, place_options, settings_of, surface_options
from noetl.cli.sides import executions_of, is_empty, place_name
from noetl.cli.targets import catalog_name
from noetl.cli.words import as_json, clean, clean_lines, coloured, moment, table


@click.group("catalog")
def command() -> None:
    """Keep playbooks under a path, version by version, and look at them.

    `noetl run PATH` runs the newest version, `noetl run PATH@3` the third; a task of kind playbook finds them here.

    Example: noetl catalog register orders.yaml
    """


@command.command("register")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@surface_options
@place_options
@format_option
def register(
    files: Sequence[str], legacy: bool, compat: str | None, home: str | None, store: str | None, form: str
) -> int:
    """Keep playbooks: each gets the next version of its path; the same text again keeps the version it has.

    FILE is a playbook, or - for standard input. Exit code: 0 all are kept, 2 one does not check or cannot be read, and
    none is kept.

    Example: noetl catalog register reports/daily.yaml
    """
    from noetl.cli.check import Options, check_bytes
    from noetl.cli.refusing import refuse_all

    settings = settings_of(home, store)
    options = Options(is_strict=False, is_legacy=legacy, is_upstream=compat == "upstream")
    texts = [(name, read_bytes(name)) for name in files]
    if faults := [result for name, data in texts if not (result := check_bytes(name, data, options)).is_valid]:
        return refuse_all(faults, form)
    kept = [
        executions_of(settings).catalog_register(
            settings, data, shown_name(name), folder_of(name), legacy, options.is_upstream
        )
        for name, data in texts
    ]
    if form == "json":
        click.echo(as_json(kept))
    else:
        for entry in kept:
            click.echo(f"{clean(entry['path'])}@{entry['version']}  {clean(entry['name'])}")
        advise("registered", path=kept[-1]["path"])
    return exits.DONE


def folder_of(name: str) -> str:
    return str(Path.cwd() if name == STANDARD_INPUT else Path(name).absolute().parent)


@command.command("list")
@place_options
@format_option
def list_entries(home: str | None, store: str | None, form: str) -> int:
    """List all versions of all playbooks, by path, newest version first.

    Example: noetl catalog list
    """
    settings = settings_of(home, store)
    found = [] if is_empty(settings) else executions_of(settings).catalog_list(settings)
    if form == "json":
        click.echo(as_json(found))
    elif found:
        rows = [
            (
                f"{clean(entry['path'])}@{entry['version']}",
                clean(entry["label"]) or "-",
                moment(entry["created_at"]),
                clean(entry["name"]),
            )
            for entry in found
        ]
        head, *lines = table(rows, ("PLAYBOOK", "LABEL", "REGISTERED", "FILE"))
        click.echo("\n".join([coloured(head, None, bold=True), *lines]))
        advise("catalog", path=max(found, key=lambda entry: entry["created_at"])["path"])
    else:
        click.echo(f"the catalog of {place_name(settings)} is empty", err=True)
        advise("catalog.none", file=...)
    return exits.DONE


@command.command("show")
@click.argument("name", metavar="PATH[@VERSION]")
@place_options
@format_option
def show(name: str, home: str | None, store: str | None, form: str) -> int:
    """Print the text of a playbook; without a version that of the newest.

    Example: noetl catalog show reports/daily@3
    """
    settings = settings_of(home, store)
    path, version = catalog_name(name)
    found = executions_of(settings).catalog_show(settings, path, version)
    if form == "json":
        click.echo(as_json(found))
    else:
        click.echo("\n".join(clean_lines(found["text"])), nl=not found["text"].endswith("\n"))
    return exits.DONE
