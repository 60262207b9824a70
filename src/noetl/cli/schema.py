"""noetl schema: the JSON Schema of playbooks, for editors."""

from __future__ import annotations

import click
import msgspec

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.kinds import available_kinds
from noetl.cli.words import clean
from noetl.dsl.schema import schema


@click.command("schema")
@click.option("--output", "-o", metavar="FILE", help="Write to a file instead of standard output.")
def command(output: str | None) -> int:
    """Print the JSON Schema of playbooks.

    Point your editor at it for completion and hover, with a first line in a playbook such as
    `# yaml-language-server: $schema=noetl.schema.json`.

    Example: noetl schema --output noetl.schema.json
    """
    text = schema_text()
    if output:
        from noetl.cli.files import write_whole

        write_whole(output, text)
        click.echo(f"{clean(output)}: written", err=True)
        advise("page", file=...)
    else:
        click.echo(text, nl=False)
    return exits.DONE


def schema_text() -> bytes:
    """The schema as the bytes of a file."""
    return msgspec.json.format(msgspec.json.encode(schema(available_kinds)), indent=2) + b"\n"
