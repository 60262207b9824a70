"""noetl keychain: credentials kept encrypted, for playbooks to use by name. Nothing here ever prints a value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.options import Decorated, format_option, server_options, settings_of
from noetl.cli.sides import keychain_of, proof_of
from noetl.cli.words import as_json, clean, coloured, moment, plural, table
from noetl.safekeeping import NAMES

NAME_CHARACTERS_MAX = 200


def home_option(function: Decorated) -> Decorated:
    """--home, and --server instead of it."""
    option = click.option("--home", metavar="DIR", help="Where data lives.  [default: the nearest .noetl/, else yours]")
    return option(server_options(function))


@click.group("keychain")
def command() -> None:
    """Keep credentials encrypted, for playbooks to use by name.

    A playbook declares a name and a kind under `keychain`; the value is here, or in NOETL_SECRET_<NAME>. No command
    shows a value.

    Example: noetl keychain set warehouse --kind postgres_credential --from-json -
    """


@command.command("set")
@click.argument("name")
@click.option("--kind", required=True, type=click.Choice(NAMES), help="What sort of credential it is.")
@click.option("--from-json", metavar="-|FILE", help="All fields, as a JSON mapping from standard input or a file.")
@click.option(
    "--field",
    "fields",
    metavar="NAME=-|@FILE",
    multiple=True,
    help="One field from standard input (a line each, if several) or a file; NAME=VALUE if it is no secret.",
)
@home_option
@format_option
def set_credential(
    name: str, kind: str, from_json: str | None, fields: Sequence[str], home: str | None, form: str
) -> int:
    """Store a credential, encrypted; one of that name is replaced.

    Without --from-json and --field, a terminal is asked for each field, secret ones unseen. A value is never an
    argument: that would stay in the shell's history.

    Example: noetl keychain set orders_api --kind bearer --field token=- < token.txt
    """
    from noetl import safekeeping
    from noetl.cli.credential_fields import given_fields

    check_name(name)
    known = safekeeping.kind_named(kind)
    if known is None:
        raise click.UsageError(f"the kinds are: {', '.join(NAMES)}")
    settings = settings_of(home, None)
    kept = keychain_of(settings).keep(settings, name, kind, given_fields(known, from_json, fields))
    click.echo(as_json(kept) if form == "json" else line_of(kept))
    advise("keychain.kept", name=name)
    return exits.DONE


def check_name(name: str) -> None:
    if not (0 < len(name) <= NAME_CHARACTERS_MAX and name.isprintable() and name.strip() == name):
        raise click.UsageError(f"a credential's name has 1 to {NAME_CHARACTERS_MAX} printable characters")


def line_of(row: dict[str, Any]) -> str:
    return f"{clean(row['name'])}  {row['kind']}, version {row['version']}: {clean(', '.join(row['fields']))}"


@command.command("apply")
@click.argument("file", type=click.Path())
@home_option
@format_option
def apply(file: str, home: str | None, form: str) -> int:
    """Store the references of Credential documents; what they refer to is looked up at each use.

    FILE may hold other documents too, which are left alone; - is standard input. All its credentials are stored, or
    none.

    Example: noetl keychain apply credentials.yaml
    """
    from noetl.cli.check import Options, check_bytes
    from noetl.cli.files import STANDARD_INPUT, read_bytes
    from noetl.cli.refusing import refuse_all
    from noetl.dsl.credential_documents import credentials_of

    data = read_bytes(file)
    checked = check_bytes(file, data, Options(is_strict=False, is_legacy=False, is_upstream=False))
    if not checked.is_valid:
        return refuse_all([checked], form, "stored")
    documents = [(found.name, found.kind, found.fields) for found in credentials_of(data, file)]
    if not documents:
        raise click.UsageError(f'"{clean(file)}" has no document of kind: Credential')
    for name, _, _ in documents:
        check_name(name)
    folder = Path.cwd() if file == STANDARD_INPUT else Path(file).absolute().parent
    settings = settings_of(home, None)
    kept = keychain_of(settings).apply(settings, documents, folder)
    click.echo(as_json(kept) if form == "json" else "\n".join(map(line_of, kept)))
    advise("keychain.kept", name=kept[0]["name"])
    return exits.DONE


@command.command("list")
@home_option
@format_option
def list_credentials(home: str | None, form: str) -> int:
    """List what can be had by name, and where it comes from.

    Example: noetl keychain list --format json
    """
    settings = settings_of(home, None)
    found = keychain_of(settings).listed(settings)
    if form == "json":
        click.echo(as_json(found))
    elif found:
        head, *lines = table(map(cells, found), ("NAME", "KIND", "VERSION", "UPDATED", "FROM"))
        click.echo("\n".join([coloured(head, None, bold=True), *lines]))
        advise("keychain.listed", name=found[0]["name"])
    else:
        click.echo(f"no credentials in {settings.server_url or settings.home}", err=True)
        advise("keychain.none", name=..., kind=...)
    return exits.DONE


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    origin = f"{row['origin']}, but {row['shadowed_by']} is set and wins" if row.get("shadowed_by") else row["origin"]
    version = "-" if row["version"] is None else str(row["version"])
    return clean(row["name"]), row["kind"] or "-", version, moment(row.get("updated_at")), origin


@command.command("remove")
@click.argument("name")
@home_option
@format_option
def remove(name: str, home: str | None, form: str) -> int:
    """Remove a stored credential; nothing of it remains to be read.

    Example: noetl keychain remove orders_api
    """
    settings = settings_of(home, None)
    keychain_of(settings).remove(settings, name)
    click.echo(as_json({"name": name, "removed": True}) if form == "json" else f"{clean(name)}  removed")
    advise("keychain.removed")
    return exits.DONE


@command.command("rotate")
@home_option
@format_option
def rotate(home: str | None, form: str) -> int:
    """Encrypt every stored credential with a new key, and drop the old ones.

    With NOETL_MASTER_KEY, put the new key first in it, rotate, then take the old keys away.

    Example: noetl keychain rotate
    """
    settings = settings_of(home, None)
    done = keychain_of(settings).rotate(settings)
    if form == "json":
        click.echo(as_json(done))
        return exits.DONE
    click.echo(
        f"{plural(done['resealed'], 'credential')} encrypted anew with key {done['key_id']} in {done['keys_in']}"
    )
    if dropped := done["dropped_key_ids"]:
        verb = "is not needed any more: take it out of" if done["keys_are_given"] else "dropped from"
        click.echo(f"old key {', '.join(dropped)} {verb} {done['keys_in']}")
    advise("keychain.removed")
    return exits.DONE


@command.command("test")
@click.argument("name")
@click.option("--kind", type=click.Choice(NAMES), help="What a credential in a variable is.  [default: as stored]")
@click.option("--no-connect", is_flag=True, help="Only read it; ask no service.")
@home_option
@format_option
def test(name: str, kind: str | None, no_connect: bool, home: str | None, form: str) -> int:
    """Try a credential: read it, and sign in to the service that it is for, if that can be done.

    An oauth2 asks for a token, a postgres_credential connects. Exit code: 0 it works, 1 it does not, 2 there is none, 3
    the service did not answer.

    Example: noetl keychain test warehouse
    """
    proof = proof_of(settings_of(home, None), name, kind, is_connecting=not no_connect)
    if form == "json":
        click.echo(as_json({"is_ok": proof.error is None} | msgspec.structs.asdict(proof)))
    else:
        verdict = coloured("ok", "green") if proof.error is None else coloured("failed", "red")
        said = "; ".join(proof.tried) if proof.error is None else clean(proof.error)
        click.echo(f"{clean(name)}  {proof.kind}, {proof.origin}: {verdict}: {said}")
        advise("keychain.tested" if proof.error is None else "keychain.tested.not", name=name, kind=proof.kind or ...)
    if proof.error is None:
        return exits.DONE
    return exits.UNREACHABLE if proof.is_unreachable else exits.FAILED
