"""Documents from files to a store or a server: all files are checked first, then each of their documents is applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.files import read_bytes, shown_name
from noetl.cli.words import as_json, clean, coloured

Apply = Callable[[bytes, str], list[dict[str, Any]]]


def apply_files(files: Sequence[str], kind: str, apply: Apply, form: str) -> int:
    """Apply the documents of a kind; others in the same files are left alone."""
    from noetl.cli.check import Options, check_bytes
    from noetl.cli.refusing import refuse_all
    from noetl.dsl.read import read
    from noetl.dsl.schedule_documents import documents_of_kind

    texts = [(name, read_bytes(name)) for name in files]
    options = Options(is_strict=False, is_legacy=False, is_upstream=False)
    if faults := [result for name, data in texts if not (result := check_bytes(name, data, options)).is_valid]:
        return refuse_all(faults, form, "applied")
    for name, data in texts:
        if not any(documents_of_kind(read(data, name), kind)):
            raise click.UsageError(f'"{clean(name)}" has no document of kind: {kind}')
    rows = [row for name, data in texts for row in apply(data, shown_name(name))]
    if form == "json":
        click.echo(as_json(rows))
        return exits.DONE
    for row in rows:
        click.echo(f"{clean(row['name'])}  {'applied' if row['is_changed'] else 'unchanged'}")
        for note in row["notes"]:
            click.echo(f"   {coloured('note', 'yellow')}: {clean(note)}", err=True)
    advise(f"{kind.lower()}.applied", name=rows[0]["name"])
    return exits.DONE
