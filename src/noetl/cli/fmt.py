"""noetl fmt: playbooks in the one usual layout."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Sequence

import click
import msgspec

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.files import STANDARD_INPUT, named_files, read_bytes, shown_name, unread_words, write_whole
from noetl.cli.rewriting import diff_of, faults_as_text, plural
from noetl.dsl.fmt import formatted


class Options(msgspec.Struct, frozen=True):
    """What to do with a file."""

    is_checking: bool
    shows_diff: bool
    is_json: bool

    @property
    def writes(self) -> bool:
        return not self.is_checking and not self.shows_diff


@click.command("fmt")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option("--check", "is_checking", is_flag=True, help="Change nothing; exit 1 if a file would change.")
@click.option("--diff", "shows_diff", is_flag=True, help="Change nothing; print what would change.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: one document that says what became of each file.",
)
def command(files: Sequence[str], is_checking: bool, shows_diff: bool, form: str) -> int:
    """Lay playbooks out in the one usual way, in place.

    Two spaces a level, lists below their key, at most one blank line, one between steps. Comments, quotes, order and
    the lines of long texts stay, and so does the meaning. FILE is a playbook, a directory of them, or -, which reads
    standard input and prints.

    Exit code: 0 done, 1 with --check a file would change, 2 a file could not be read.

    Example: noetl fmt --check playbooks/
    """
    options = Options(is_checking, shows_diff, form == "json")
    outcomes = [outcome(name, options) for name in named_files(files)]
    if options.is_json:
        shown = [{"path": name, "status": status} for name, status in outcomes]
        click.echo(msgspec.json.format(msgspec.json.encode(shown), indent=2))
    elif STANDARD_INPUT not in files:
        click.echo(summary([status for _, status in outcomes], options), err=True)
        would = [name for name, status in outcomes if status == "changed" and not options.writes]
        read = [name for name, status in outcomes if status != "refused"]
        advise("laid_out.not" if would else "laid_out", file=would or ([*files] if read else ...))
    return exit_code([status for _, status in outcomes], options)


def outcome(name: str, options: Options) -> tuple[str, str]:
    """Lay one file out: `unchanged`, `changed`, or `refused`."""
    try:
        data = read_bytes(name)
    except OSError as error:
        click.echo(unread_words(name, error), err=True)
        return name, "refused"
    done = formatted(data, shown_name(name))
    if done.faults:
        click.echo(faults_as_text(data, shown_name(name)), err=True)
        return name, "refused"
    if done.is_refused:
        click.echo(
            f"{shown_name(name)}: error: laid out it would not mean the same, so it stays as it is.\n"
            "   fix: write unusual YAML (`? key`, tabs) more plainly, or report this file",
            err=True,
        )
        return name, "refused"
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    new = mark + done.text.encode("utf-8")
    deliver(name, data, new, options)
    return name, "unchanged" if new == data else "changed"


def deliver(name: str, data: bytes, new: bytes, options: Options) -> None:
    """Write, print or show what was made."""
    if options.shows_diff and not options.is_json:
        click.echo(diff_of(shown_name(name), data, new), nl=False)
    elif options.is_checking and new != data and not options.is_json:
        click.echo(shown_name(name))
    elif options.writes and name == STANDARD_INPUT:
        if not options.is_json:
            sys.stdout.flush()
            sys.stdout.buffer.write(new)
    elif options.writes and new != data:
        write_whole(name, new)


def summary(statuses: list[str], options: Options) -> str:
    """One line that says how it went."""
    count = statuses.count("changed")
    verb = "laid out" if options.writes else "would change"
    good = statuses.count("unchanged")
    rest = f", {plural(good, 'file')} as {'it' if good == 1 else 'they'} should be" if good else ""
    refused = f", {plural(statuses.count('refused'), 'file')} could not be read" if "refused" in statuses else ""
    return f"{plural(count, 'file')} {verb}{rest}{refused}"


def exit_code(statuses: list[str], options: Options) -> int:
    if "refused" in statuses:
        return exits.WRONG_INPUT
    return exits.FAILED if options.is_checking and "changed" in statuses else exits.DONE
