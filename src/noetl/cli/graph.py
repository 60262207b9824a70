"""noetl graph: a playbook's steps and arcs as a picture, or as data."""

from __future__ import annotations

from pathlib import PurePath

import click
import msgspec

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.files import read_bytes, shown_name, write_whole
from noetl.cli.kinds import available_kinds
from noetl.dsl.check import Checked, check
from noetl.dsl.findings import ERROR, Finding, as_text
from noetl.dsl.graph import Graph, graph_of
from noetl.dsl.reports import as_json

FORMATS = ("mermaid", "svg", "json")
BY_SUFFIX = {".svg": "svg", ".json": "json", ".mmd": "mermaid", ".mermaid": "mermaid"}


@click.command("graph")
@click.argument("file", metavar="FILE", type=click.Path())
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="How it is drawn.  [default: as --output ends, else mermaid]"
)
@click.option("--output", "-o", metavar="FILE", help="Write it there instead of printing it.")
@click.option(
    "--legacy", is_flag=True, help="Accept the constructs of the oldest surface (eval, step.when, next lists)."
)
@click.option("--compat", type=click.Choice(["upstream"]), help="Accept the spellings of the public NoETL.")
def command(file: str, form: str | None, output: str | None, legacy: bool, compat: str | None) -> int:
    """Draw a playbook's steps, arcs, loops and joins.

    FILE is a playbook, or - for standard input. In the SVG a bar on top of a step is a join, one below it a fan-out, a
    dashed red line is taken when the step fails, and what is pale can never happen. Exit code: 0 drawn, 2 the playbook
    has faults that leave nothing to draw.

    Example: noetl graph orders.yaml -o orders.svg
    """
    form = form or BY_SUFFIX.get(PurePath(output or "").suffix.lower(), "mermaid")
    result = check(
        read_bytes(file), shown_name(file), available_kinds, is_legacy=legacy, is_upstream=compat == "upstream"
    )
    graph = graph_of(result.drafts[0]) if result.drafts else None
    if graph is None:
        refuse(result, form)
        return exits.WRONG_INPUT
    text = drawn(graph, form, shown_name(file))
    if output:
        write_whole(output, text.encode("utf-8"))
        click.echo(f"{shown_name(output)}: drawn", err=True)
    else:
        click.echo(text, nl=False)
    note(result, shown_name(file))
    if output:
        advise("drawn", file=file)
    return exits.DONE


def drawn(graph: Graph, form: str, name: str) -> str:
    """The graph in one of the forms."""
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(graph), indent=2).decode() + "\n"
    if form == "mermaid":
        from noetl.dsl.drawing.mermaid import as_mermaid

        return as_mermaid(graph)
    from noetl.dsl.drawing.plan import TooLarge
    from noetl.dsl.drawing.svg import as_svg

    try:
        return as_svg(graph)
    except TooLarge as error:
        raise click.UsageError(f"{name} is too large to draw: {error}. Take --format mermaid or json.") from None


def errors_of(result: Checked) -> list[Finding]:
    return [finding for finding in result.findings if finding.severity == ERROR]


def refuse(result: Checked, form: str) -> None:
    """Say why there is nothing to draw; as data on standard output where data was asked for."""
    if form == "json":
        document = {"status": "invalid", "findings": as_json(errors_of(result))}
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))
        return
    for finding in errors_of(result):
        click.echo(as_text(finding, result.source) + "\n", err=True)
    reason = "the steps and arcs have to be in order first" if result.drafts else "there is no playbook in it"
    click.echo(f"nothing drawn: {reason}", err=True)
    advise("refused", code=next((finding.code for finding in errors_of(result)), None))


def note(result: Checked, name: str) -> None:
    """Say what the picture does not show."""
    count = len(errors_of(result))
    if count:
        click.echo(f"note: {name} has {count} error{'s' * (count > 1)}, see: noetl check {name}", err=True)
    if len(result.drafts) > 1:
        click.echo(f"note: {name} holds {len(result.drafts)} playbooks; this is the first", err=True)
