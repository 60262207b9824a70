"""noetl doctor: what is right and wrong with home, store, queue, servers and workers, and what to do."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.lifecycle import Flags
from noetl.cli.options import format_option, store_options
from noetl.cli.words import as_json, clean, coloured, plural

COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command("doctor")
@click.option("--queue", metavar="URL", help="NATS, by which workers are reached.  [default: queue.url]")
@click.option("--server", metavar="URL", help="Ask a server instead of looking into its store.  [default: server.url]")
@click.option("--token-file", metavar="FILE", help="That server's token.  [default: NOETL_TOKEN, else the home's]")
@store_options
@format_option
def command(
    queue: str | None, server: str | None, token_file: str | None, home: str | None, store: str | None, form: str
) -> int:
    """Look at home, store, queue, servers and workers, and say what to do.

    Nothing is changed, and nothing secret is shown. Exit code: 0 nothing fails (there may be warnings), 1 something
    does.

    Example: noetl doctor --format json
    """
    from noetl import clictl

    flags = Flags(
        {
            "home": ("--home", home),
            "store.url": ("--store", store),
            "queue.url": ("--queue", queue),
            "server.url": ("--server", server),
            "server.token_file": ("--token-file", token_file),
        }
    )
    findings = clictl.examine(flags.settings())
    is_ok = not any(finding["state"] == "fail" for finding in findings)
    if form == "json":
        click.echo(as_json({"is_ok": is_ok, "findings": findings}))
    else:
        for line in lines_of(findings):
            click.echo(line)
        advise("doctor" if is_ok else "doctor.not", file=...)
    return exits.DONE if is_ok else exits.FAILED


def lines_of(findings: list[dict[str, Any]]) -> list[str]:
    """One line each, what to do below it, and a count."""
    width = max((len(f"{one['area']} {one['name']}") for one in findings), default=0)
    lines = []
    for one in findings:
        label = clean(f"{one['area']} {one['name']}").ljust(width)
        lines.append(f"{coloured(one['state'].ljust(4), COLOURS[one['state']])}  {label}  {clean(one['says'])}")
        if one["fix"]:
            lines.append(f"      {' ' * width}  do: {clean(one['fix'])}")
    counts = Counter(one["state"] for one in findings)
    return [*lines, f"{plural(counts['fail'], 'failure')}, {plural(counts['warn'], 'warning')}, {counts['ok']} ok"]
