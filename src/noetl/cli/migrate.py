"""noetl migrate: older playbooks in today's spelling."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Sequence

import click
import msgspec

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.files import STANDARD_INPUT, named_files, read_bytes, shown_name, unread_words, write_whole
from noetl.cli.kinds import available_kinds
from noetl.cli.rewriting import diff_of, faults_as_text, plural
from noetl.dsl.check import text_findings
from noetl.dsl.findings import as_data, as_text, excerpt
from noetl.dsl.migrate import COMPAT, KEPT, SURFACES, Leftover, Migrated, migrate, remaining
from noetl.dsl.read import read
from noetl.dsl.source import Source

SURFACE_NAMES = {"legacy": "document 003", "v10": "v10", "upstream": "the public NoETL"}


class Done(msgspec.Struct):
    """One file on its way."""

    name: str
    data: bytes
    result: Migrated
    left: list[dict[str, object]]  # findings that the new text still has

    @property
    def new(self) -> bytes:
        mark = codecs.BOM_UTF8 if self.data.startswith(codecs.BOM_UTF8) else b""
        return mark + self.result.text.encode("utf-8")


@click.command("migrate")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--from", "surface", type=click.Choice(SURFACES), help="The surface they are in; recognised if not given."
)
@click.option("--diff", "shows_diff", is_flag=True, help="Print what would change, as a unified diff.")
@click.option("--write", "writes", is_flag=True, help="Change the files in place.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: what was changed and what was left, one document.",
)
def command(files: Sequence[str], surface: str | None, shows_diff: bool, writes: bool, form: str) -> int:
    """Rewrite older playbooks in today's spelling.

    Without --diff or --write the new text of one FILE is printed. Comments, order and all that is not old stay as they
    are. What cannot be said in today's spelling is left, and named on standard error.

    Exit code: 0 done, 1 something was left or is still wrong, 2 a file could not be read.

    Example: noetl migrate --diff playbooks/
    """
    names = list(named_files(files))
    if shows_diff and writes:
        raise click.UsageError("--diff and --write exclude each other: --diff shows, --write changes")
    if len(names) > 1 and not shows_diff and not writes and form == "text":
        raise click.UsageError(f"{len(names)} files: add --diff to see the changes or --write to make them")
    if writes and STANDARD_INPUT in names:
        raise click.UsageError("standard input cannot be written: leave --write away, and the new text is printed")
    return run(names, surface, shows_diff, writes, form)


def run(names: Sequence[str], surface: str | None, shows_diff: bool, writes: bool, form: str) -> int:
    """Migrate each file; one that cannot be read is said and does not stop the others."""
    done: list[Done] = []
    code = exits.DONE
    for name in names:
        try:
            data = read_bytes(name)
        except OSError as error:
            click.echo(unread_words(name, error), err=True)
            code = exits.WRONG_INPUT
            continue
        done.append(migrate_bytes(name, data, surface))
        code = max(code, finish(done[-1], shows_diff, writes, form))
    changed = [one.name for one in done if one.new != one.data and not writes]
    advise("migrated.shown" if changed else "migrated", file=changed or [one.name for one in done] or ...)
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode([as_json(one, writes) for one in done]), indent=2))
    return code


def migrate_bytes(name: str, data: bytes, surface: str | None) -> Done:
    kinds = available_kinds
    result = migrate(data, shown_name(name), kinds, surface)
    return Done(name, data, result, [])


def finish(one: Done, shows_diff: bool, writes: bool, form: str) -> int:
    """Print or write one file, and say what was left."""
    result, name = one.result, shown_name(one.name)
    if result.faults:
        one.left = [as_data(finding) for finding in text_findings(read(one.data, name))]
        click.echo(faults_as_text(one.data, name), err=True)
        return exits.WRONG_INPUT
    if form == "text" and shows_diff:
        click.echo(diff_of(name, one.data, one.new), nl=False)
    elif form == "text" and not writes:
        sys.stdout.flush()
        sys.stdout.buffer.write(one.new)
    if writes and one.new != one.data:
        write_whole(one.name, one.new)
    left = remaining(one.data, result, name if writes else f"{name} (rewritten)", available_kinds)
    one.left = [as_data(finding) for finding in left.findings]
    if form == "text":
        say(one, writes)
        for finding in left.findings:
            click.echo(as_text(finding, left.source) + "\n", err=True)
    return exits.FAILED if result.left_over or left.findings else exits.DONE


def say(one: Done, writes: bool) -> None:
    """One line about the file, and one finding for each thing that was left."""
    result = one.result
    source = Source(shown_name(one.name), result.text if writes else one.data.decode("utf-8"))
    if not result.changes and one.new == one.data:
        click.echo(f"{shown_name(one.name)}: nothing to migrate", err=True)
    else:
        count = sum(change.old != COMPAT for change in result.changes)
        old = f"{plural(count, 'change')} from {SURFACE_NAMES[result.surface]}"
        click.echo(f"{shown_name(one.name)}: {old}{', written' if writes else ''}", err=True)
    if any(change.new == KEPT for change in result.changes):
        click.echo(f"{shown_name(one.name)}: {KEPT}", err=True)
    for left in result.left_over:
        click.echo(leftover_as_text(left, source, writes), err=True)


def leftover_as_text(left: Leftover, source: Source, writes: bool) -> str:
    place = left.new_place if writes else left.place
    return "\n".join([f"{place}: left: {left.message}", *excerpt(place, source), f"   why: {left.why}", ""])


def as_json(one: Done, writes: bool) -> dict[str, object]:
    """{path, from, changed, written, changes: [{old, new, line, column}], left: [{message, why, line, column}],
    findings, text}"""
    result = one.result
    return {
        "path": one.name,
        "from": result.surface,
        "changed": one.new != one.data,
        "written": writes and one.new != one.data and not result.faults,
        "changes": [
            {"old": change.old, "new": change.new, "line": change.place.line, "column": change.place.column}
            for change in result.changes
        ],
        "left": [
            {"message": left.message, "why": left.why, "line": left.place.line, "column": left.place.column}
            for left in result.left_over
        ],
        "findings": one.left,
        "text": result.text,
    }
