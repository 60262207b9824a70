"""noetl check: all faults of playbooks in one pass, for people and for machines."""

from __future__ import annotations

import codecs
import sys
from collections import Counter
from collections.abc import Sequence

import click
import msgspec

from noetl import __version__
from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.files import STANDARD_INPUT, named_files, read_bytes, shown_name, unread_words, write_whole
from noetl.cli.kinds import available_kinds
from noetl.dsl.check import Checked, check
from noetl.dsl.findings import ERROR, SEVERITIES, Finding, as_text, printable
from noetl.dsl.fix import fix
from noetl.dsl.reports import as_github, as_json, as_sarif

FILES_NAMED_MAX = 3
COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}


class Options(msgspec.Struct, frozen=True):
    """How to check."""

    is_strict: bool
    is_legacy: bool
    is_upstream: bool


@click.command("check")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option("--strict", is_flag=True, help="Deprecated spellings and empty steps are errors.")
@click.option(
    "--legacy", is_flag=True, help="Accept the constructs of the oldest surface (eval, step.when, next lists)."
)
@click.option("--compat", type=click.Choice(["upstream"]), help="Accept the spellings of the public NoETL.")
@click.option("--fix", "is_fixing", is_flag=True, help="Repair what is mechanical; no other byte changes.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    show_default=True,
    help="How findings are printed.",
)
def command(files: Sequence[str], strict: bool, legacy: bool, compat: str | None, is_fixing: bool, form: str) -> int:
    """Find the faults of playbooks, all in one pass.

    FILE is a playbook, a directory of them, or - for standard input. Exit code: 0 no error, 1 an error was found, 2 a
    file could not be read.

    Example: noetl check --strict playbooks/ --format github
    """
    options = Options(strict, legacy, compat == "upstream")
    results, is_complete = check_files(files, options, is_fixing)
    show(results, form, is_fixing_input=is_fixing and STANDARD_INPUT in files)
    if not results and is_complete:
        click.echo(f"error: there is no playbook in {', '.join(files)}: no file ends in .yaml or .yml", err=True)
    advise_on(results, is_fixing=is_fixing)
    if not results or not is_complete:
        return exits.WRONG_INPUT
    return exits.DONE if all(result.is_valid for result in results) else exits.FAILED


def advise_on(results: Sequence[Checked], *, is_fixing: bool) -> None:
    """Repair, read about the first fault, or run the first playbook."""
    findings = [finding for result in results for finding in result.findings]
    fixable = dict.fromkeys(finding.place.file for finding in findings if finding.edits and not is_fixing)
    wrong = [finding.code for finding in findings if finding.severity == ERROR]
    if fixable:
        advise("checked.fixable", file=[*fixable] if len(fixable) <= FILES_NAMED_MAX else ...)
    elif wrong:
        advise("checked.not", code=wrong[0])
    elif not results:
        advise("checked.unread", file=...)
    else:
        advise("checked", file=next((result.source.name for result in results if result.has_playbook), ...))


def check_files(names: Sequence[str], options: Options, is_fixing: bool) -> tuple[list[Checked], bool]:
    """Check each file; a file that cannot be read is said on standard error and leaves the answer incomplete."""
    results = []
    is_complete = True
    for name in named_files(names):
        try:
            data = read_bytes(name)
        except OSError as error:
            is_complete = False
            click.echo(unread_words(name, error), err=True)
            continue
        result, is_written = fix_file(name, data, options) if is_fixing else (check_bytes(name, data, options), True)
        result.drafts.clear()  # what is said is in the findings; many files must fit
        results.append(result)
        is_complete = is_complete and is_written
    return results, is_complete


def complain(message: str) -> None:
    click.echo(f"error: {printable(message)}", err=True)


def check_bytes(name: str, data: bytes | str, options: Options) -> Checked:
    return check(data, shown_name(name), available_kinds, **msgspec.structs.asdict(options))


def fix_file(name: str, data: bytes, options: Options) -> tuple[Checked, bool]:
    """Repair all that is mechanical, then write the file once; gives its findings and whether it was written."""
    before = check_bytes(name, data, options)
    text, repaired = fix(before.source.text, lambda text: check_bytes(name, text, options))
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    fixed = mark + text.encode("utf-8") if repaired else data
    try:
        write_fixed(name, data, fixed)
    except OSError as error:
        complain(
            f'cannot write "{name}": {error.strerror or error}; it is as it was. Make room, or allow writing to it.'
        )
        return before, False
    if repaired:
        click.echo(f"{printable(shown_name(name))}: repaired {plural(repaired, 'finding')}", err=True)
    return check_bytes(name, fixed, options), True


def write_fixed(name: str, data: bytes, fixed: bytes) -> None:
    if name == STANDARD_INPUT:
        sys.stdout.buffer.write(fixed)
        sys.stdout.buffer.flush()
    elif fixed != data:
        write_whole(name, fixed)


def show(results: Sequence[Checked], form: str, *, is_fixing_input: bool) -> None:
    findings = [finding for result in results for finding in result.findings]
    if form == "text":
        show_text(results, err=is_fixing_input)
    elif form == "github":
        click.echo(as_github(findings), nl=False, err=is_fixing_input)
    else:
        document = as_json(findings) if form == "json" else as_sarif(findings, __version__)
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2), err=is_fixing_input)


def show_text(results: Sequence[Checked], err: bool) -> None:
    for result in results:
        for finding in result.findings:
            click.echo(coloured(finding, as_text(finding, result.source)) + "\n", err=err)
        if result.is_cut:
            click.echo(f"{result.source.name}: only the first {len(result.findings):,} findings are shown\n", err=err)
    if results:
        click.echo(summary(results), err=err)


def coloured(finding: Finding, text: str) -> str:
    """The severity in its colour; click drops colours where there is no terminal."""
    word = f"{finding.severity} {finding.code}"
    return text.replace(word, click.style(word, fg=COLOURS[finding.severity], bold=True), 1)


def summary(results: Sequence[Checked]) -> str:
    """One line that says how it went, and what to do next."""
    counts = Counter(finding.severity for result in results for finding in result.findings)
    found = ", ".join(plural(counts[severity], severity) for severity in SEVERITIES if counts[severity])
    fixable = sum(bool(finding.edits) for result in results for finding in result.findings)
    advice = f"; {fixable} can be repaired mechanically" if fixable else ""
    verdict = "" if counts[ERROR] else ", ready to run"
    return f"checked {plural(len(results), 'file')}: {found or 'nothing found'}{verdict}{advice}"


def plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 or word == "info" else f"{count} {word}s"
