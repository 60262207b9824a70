"""Tests run, and what became of them said: a line each, what differs with its place, counts, coverage, what is next."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.check import coloured as coloured_finding
from noetl.cli.files import SUFFIXES, check_folder, write_whole
from noetl.cli.sentences import error_sentence
from noetl.cli.voice import say
from noetl.cli.words import as_json, clean, clean_lines, coloured, duration, plural
from noetl.config import Settings
from noetl.dsl.findings import as_text, printable
from noetl.dsl.reports import as_json as findings_as_json
from noetl.errors import NoetlError
from noetl.rehearsal.suite import ERRONEOUS, FAILED, PASSED, Outcome, Suite, Trials

NEVER_TAKEN_MAX = 50  # lines; as JSON all of them


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to run them, and what to say."""

    words: tuple[str, ...] = ()
    is_updating: bool = False
    is_covering: bool = False
    coverage_min: float | None = None
    junit_file: str | None = None
    is_quiet: bool = False
    form: str = "text"


def run_tests(settings: Settings, paths: Sequence[str], options: Options) -> int:
    """Run what the paths hold, say how it went, and give the exit code."""
    for path in paths:
        if not Path(path).exists():
            raise click.UsageError(f'"{printable(path)}" is neither a file nor a folder; name one that has tests')
    if options.junit_file is not None:
        check_target(options.junit_file)
    teller = Teller(options)
    suite = Trials(settings, teller.tell).run(paths, lambda test: all(word in test.name for word in options.words))
    updated = update(suite) if options.is_updating else []
    if options.junit_file is not None:
        from noetl.rehearsal.junit import as_junit

        write_whole(options.junit_file, as_junit(suite).encode())
    code = code_of(suite, options, updated)
    if options.form == "json":
        say(as_json(as_data(suite, updated)))
    else:
        finish(suite, options, paths, updated)
    return code


def check_target(file: str) -> None:
    """Whether a report can be written there, before anything has run or was updated."""
    if Path(file).is_dir():
        raise click.UsageError(f'"{printable(file)}" is a folder; name a file for --junit, such as report.xml')
    if Path(file).suffix in SUFFIXES:
        raise click.UsageError(
            f'--junit writes a report, and would write it over "{printable(file)}"; name an .xml file'
        )
    check_folder(file)


def update(suite: Suite) -> list[Outcome]:
    """Write what came into the tests that failed; gives those. A file that cannot be rewritten is told, and stays."""
    from noetl.rehearsal.updating import updated_text

    changed = [outcome for outcome in suite.outcomes if outcome.status == FAILED and outcome.rehearsed is not None]
    done = []
    for file, grouped in itertools.groupby(changed, key=lambda outcome: outcome.file):
        outcomes = list(grouped)
        try:
            write_whole(file, updated_text(Path(file).read_bytes(), outcomes))
        except (NoetlError, OSError) as error:
            say(f"error: {printable(str(error))}", err=True)
        else:
            done += outcomes
    return done


def code_of(suite: Suite, options: Options, updated: list[Outcome]) -> int:
    if suite.wrong or suite.unreadable or not suite.outcomes:
        return exits.WRONG_INPUT
    failed = suite.count(FAILED) + suite.count(ERRONEOUS) - len(updated)
    is_thin = options.coverage_min is not None and suite.coverage.percent < options.coverage_min
    return exits.FAILED if failed or is_thin else exits.DONE


class Teller:
    """Says what became of each test, as soon as that is known."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._file = ""

    def tell(self, outcome: Outcome) -> None:
        if self.options.form != "text" or (self.options.is_quiet and outcome.status == PASSED):
            return
        if outcome.file != self._file:
            self._file = outcome.file
            say(printable(outcome.file))
        is_passed = outcome.status == PASSED
        mark = coloured("✓", "green") if is_passed else coloured("✗", "red")
        say(f"  {mark} {clean(outcome.test.name)} {coloured(times_of(outcome), 'bright_black')}")
        for line in details(outcome):
            say(f"      {line}")


def times_of(outcome: Outcome) -> str:
    if outcome.rehearsed is None:
        return ""
    return f"({duration(outcome.simulated_seconds)} simulated, {duration(outcome.real_seconds)})"


def details(outcome: Outcome) -> list[str]:
    """What is not as it should be, each with the place of the expectation; of a failed run, its error."""
    lines = [line for one in clean_lines(outcome.fault) for line in [one.strip()]] if outcome.fault else []
    for one in outcome.differences:
        lines.append(f"{one.place}: {clean(one.sentence())}")
    summary = outcome.rehearsed.summary if outcome.rehearsed else {}
    wanted = outcome.test.expect.get("status", "success")
    if outcome.differences and summary.get("error") and summary["status"] != wanted:
        lines.append(f"the run ended with: {error_sentence(summary['error'], error_place(outcome))}")
    return lines


def error_place(outcome: Outcome) -> str:
    """Where in the playbook the run failed."""
    assert outcome.rehearsed is not None  # noqa: S101 - it has an error
    error, playbook = outcome.rehearsed.summary["error"], outcome.rehearsed.loaded.playbook
    step = playbook.steps.get(error.get("step") or "")
    tasks = (*step.tasks, *step.compensation) if step else ()
    task = next((task for task in tasks if task.label == error.get("task")), None)
    return str(task.place if task else step.place if step else "")


def finish(suite: Suite, options: Options, paths: Sequence[str], updated: list[Outcome]) -> None:
    for checked in suite.wrong:
        for finding in checked.findings:
            say("\n" + coloured_finding(finding, as_text(finding, checked.source)))
    for message in suite.unreadable:
        say(f"error: {printable(message)}", err=True)
    if options.is_covering:
        show_never_taken(suite)
    for outcome in updated:
        say(f"{printable(outcome.file)}: what it expects is now what came: {clean(outcome.test.name)}")
    say(summary_line(suite, options, updated))
    if not suite.outcomes and not suite.wrong and not suite.unreadable:
        say(f"error: {none_words(options)}", err=True)
    situation = situation_of(suite, options, updated)
    if situation == "tested.not":
        say("repair the playbook; or, if what came is right:", err=True)
    advise(situation, **facts_of(situation, suite, paths))


def show_never_taken(suite: Suite) -> None:
    never = suite.coverage.never_taken()
    if never:
        say(f"\nnever taken by these tests ({len(never)} of {suite.coverage.total}):")
    for _file, place, words in never[:NEVER_TAKEN_MAX]:
        say(f"  {printable(str(place))}: {clean(words)}")
    if len(never) > NEVER_TAKEN_MAX:
        say(f"  … {plural(len(never) - NEVER_TAKEN_MAX, 'more line')}: --format json has all of them")


def summary_line(suite: Suite, options: Options, updated: list[Outcome]) -> str:
    failed = suite.count(FAILED) + suite.count(ERRONEOUS) - len(updated)
    counts = [f"{suite.count(PASSED)} passed"]
    counts += [coloured(f"{failed} failed", "red")] if failed else []
    counts += [f"{len(updated)} updated"] if updated else []
    counts += [coloured(f"{plural(len(suite.wrong), 'document')} wrong", "red")] if suite.wrong else []
    line = f"{plural(len(suite.outcomes), 'test')}: {', '.join(counts)}"
    coverage = suite.coverage
    if coverage.total and suite.outcomes:
        line += f" · {coverage.covered} of {coverage.total} arcs and rules taken ({coverage.percent:.0f}%)"
    if options.coverage_min is not None and coverage.percent < options.coverage_min:
        line += coloured(f", wanted {options.coverage_min:g}% at least", "red")
    return line


def none_words(options: Options) -> str:
    if options.words:
        return f"no test has {' and '.join(map(repr, options.words))} in its name"
    return "there is no test here: no *.test.yaml or *_test.yaml, and no kind: PlaybookTest in a folder tests"


def situation_of(suite: Suite, options: Options, updated: list[Outcome]) -> str:
    """What has happened, in the words of the table of what is next."""
    if suite.wrong:
        return "tested.wrong"
    if not suite.outcomes and not options.words and not suite.unreadable:
        return "tested.none"
    is_told = options.is_updating and suite.count(FAILED)  # what could not be rewritten, and why
    is_broken = suite.count(ERRONEOUS) and not suite.count(FAILED)
    if updated or is_told or not suite.outcomes or suite.unreadable or is_broken:
        return "tested.again"
    if suite.count(FAILED):
        return "tested.not"
    return "tested" if suite.coverage.never_taken() and not options.is_covering else "tested.covered"


def facts_of(situation: str, suite: Suite, paths: Sequence[str]) -> dict[str, object]:
    if situation == "tested.wrong":
        return {"code": next((finding.code for one in suite.wrong for finding in one.findings), None)}
    if situation in ("tested.none", "tested.covered"):
        playbooks = {one.rehearsed.loaded.text.name for one in suite.outcomes if one.rehearsed}
        return {"file": playbooks.pop() if len(playbooks) == 1 else ...}
    return {"file": [path for path in paths if path != "."]}


def as_data(suite: Suite, updated: list[Outcome]) -> dict[str, Any]:
    findings = [finding for checked in suite.wrong for finding in checked.findings]
    return {
        "tests": [test_data(outcome, is_updated=outcome in updated) for outcome in suite.outcomes],
        "passed": suite.count(PASSED),
        "failed": suite.count(FAILED),
        "errors": suite.count(ERRONEOUS),
        "findings": findings_as_json(findings),
        "unreadable": suite.unreadable,
        "coverage": suite.coverage.as_data(),
    }


def test_data(outcome: Outcome, *, is_updated: bool) -> dict[str, Any]:
    summary = outcome.rehearsed.summary if outcome.rehearsed else {}
    return {
        "file": outcome.file,
        "line": outcome.test.place.line,
        "name": outcome.test.name,
        "status": outcome.status,
        "is_updated": is_updated,
        "differences": [
            {"line": one.place.line, "column": one.place.column, "what": one.what, "message": one.sentence()}
            for one in outcome.differences
        ],
        "fault": outcome.fault or None,
        "run": {key: summary.get(key) for key in ("status", "output", "ctx", "error")} if summary else None,
        "simulated_seconds": round(outcome.simulated_seconds, 6),
        "real_seconds": round(outcome.real_seconds, 3),
    }
