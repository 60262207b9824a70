"""noetl token: who may ask a server what. A token is printed when it is made, and never again."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.options import format_option, place_options, settings_of
from noetl.cli.sides import place_name, tokens_of
from noetl.cli.times import span_seconds
from noetl.cli.words import as_json, clean, coloured, moment, table

ROLES = ("viewer", "runner", "author", "admin", "worker")
STATUS_COLOURS = {"active": "green", "expired": "bright_black", "revoked": "red"}


def life_seconds(_context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """How long a token lasts: 90m, 12h, 30d, 4w."""
    if value is None:
        return None
    seconds = span_seconds(value)
    if seconds is None:
        says = "a token lasts for a number of minutes, hours, days or weeks: 90m, 12h, 30d, 4w"
        raise click.BadParameter(says, param=parameter)
    return seconds


@click.group("token")
def command() -> None:
    """Make, list and revoke the tokens that servers ask for.

    A role may do what those before it may: viewer looks, runner starts and cancels, author registers playbooks, admin
    keeps tokens and credentials. A worker takes work, and may do nothing else.

    Example: noetl token create --role viewer --label dashboard
    """


@command.command("create")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What it may do.")
@click.option("--label", default="", metavar="TEXT", help="Whose it is, for lists and the audit log.")
@click.option("--pool", default="", metavar="POOL", help="Of a worker: the only pool that it may join.")
@click.option("--path-prefix", default="", metavar="PATH", help="Only playbooks at this path and below.")
@click.option(
    "--expires", callback=life_seconds, metavar="30d", help="How long it lasts: m, h, d or w.  [default: for ever]"
)
@place_options
@format_option
def create(
    role: str,
    label: str,
    pool: str,
    path_prefix: str,
    expires: float | None,
    home: str | None,
    store: str | None,
    form: str,
) -> int:
    """Make a token, and print it: this is the only time that it is to be seen.

    The token goes to standard output, everything else to standard error. A file that it is put into is closed to
    others, as the file of a token has to be.

    Example: noetl token create --role runner --label nightly --expires 30d > nightly.token
    """
    settings = settings_of(home, store)
    made = tokens_of(settings).create(
        settings, role=role, label=label, pool=pool, path_prefix=path_prefix, expires_in_seconds=expires
    )
    close_to_others()
    if form == "json":
        click.echo(as_json(made))
        return exits.DONE
    click.echo(made["token"])
    until = f"until {moment(made['expires_at'])}" if made["expires_at"] else "until it is revoked"
    click.echo(f"{made['role']} token {made['id']} ({clean(made['label'])}), {until}", err=True)
    advise("token.made")
    return exits.DONE


def close_to_others() -> None:
    """Before the token is written: whoever reads a token file refuses one that others can read."""
    with suppress(OSError, ValueError):  # no file at all, or somebody else's
        file = sys.stdout.fileno()
        mode = os.fstat(file).st_mode
        if stat.S_ISREG(mode) and sys.platform != "win32":
            os.fchmod(file, stat.S_IMODE(mode) & stat.S_IRWXU)


@command.command("list")
@place_options
@format_option
def list_tokens(home: str | None, store: str | None, form: str) -> int:
    """List tokens, newest first: what they are for, never one itself.

    Example: noetl token list --server https://noetl.example.com
    """
    settings = settings_of(home, store)
    found = tokens_of(settings).listed(settings)
    if form == "json":
        click.echo(as_json(found))
    elif found:
        head, *lines = table(map(cells, found), ("ID", "ROLE", "STATUS", "CREATED", "EXPIRES", "FOR", "LABEL"))
        click.echo("\n".join([coloured(head, None, bold=True), *map(shown, lines, found)]))
        advise("token.listed", role=...)
    else:
        click.echo(f"no tokens in {place_name(settings)}; the first server makes those it needs", err=True)
        advise("token.listed", role=...)
    return exits.DONE


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    scope = row["path_prefix"] or row["pool"] or "all"
    times = moment(row["created_at"]), moment(row["expires_at"])
    return row["id"], row["role"], row["status"], *times, clean(scope), clean(row["label"])


def shown(line: str, row: dict[str, Any]) -> str:
    return line.replace(row["status"], coloured(row["status"], STATUS_COLOURS.get(row["status"])), 1)


@command.command("revoke")
@click.argument("token_id", metavar="ID")
@place_options
@format_option
def revoke(token_id: str, home: str | None, store: str | None, form: str) -> int:
    """End a token, named by the ID that list shows, or its beginning. Other servers hear of it within half a minute.

    Example: noetl token revoke 1f0c9a7be2d4
    """
    settings = settings_of(home, store)
    row = tokens_of(settings).revoke(settings, token_id)
    click.echo(as_json(row) if form == "json" else f"{row['id']}  {row['role']} ({clean(row['label'])}) revoked")
    advise("token.revoked")
    return exits.DONE
