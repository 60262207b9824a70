"""Files in, the outcome of every test in them out.

A file is read and checked as `noetl check` does, each test of it is rehearsed and compared, and what was taken of its
playbook is noted. One fault never hides another: a file that does not check does not stop the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from noetl.config import Settings
from noetl.control.catalog import Text, playbook_of
from noetl.control.requests import RunRequest
from noetl.dsl.check import Checked, check
from noetl.dsl.findings import ERROR, Finding, listed, near_miss
from noetl.dsl.kinds import Kinds
from noetl.dsl.model import Playbook
from noetl.dsl.nodes import Mapping
from noetl.dsl.playbook_test_shapes import LEGACY, PLAYBOOK_TEST, UPSTREAM
from noetl.dsl.playbook_tests import PlaybookTest, tests_of
from noetl.dsl.read import Reading, read
from noetl.dsl.rules import nl136_playbook_test_shape, nl137_test_of_unknown_step
from noetl.dsl.schedule_documents import documents_of_kind
from noetl.dsl.source import Source
from noetl.errors import InvalidPlaybook, NoetlError
from noetl.rehearsal.answers import Answers, ByPlaybook, Listed, Several
from noetl.rehearsal.checking import Difference, differences
from noetl.rehearsal.coverage import Coverage
from noetl.rehearsal.families import Family, family_of, is_open
from noetl.rehearsal.files import beside, bytes_of, test_files
from noetl.rehearsal.records import RECORDING_BYTES_MAX, read_records
from noetl.rehearsal.stage import BEGUN_AT, EVENTS_MAX, LATE, SECONDS_MAX, Rehearsed, Stage, Wanted
from noetl.rehearsal.tools import HARMLESS, AnsweredKinds
from noetl.rehearsal.unanswered import unanswered_words

PASSED, FAILED, ERRONEOUS = "passed", "failed", "error"
Say = Callable[["Outcome"], None]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one test."""

    file: str
    test: PlaybookTest
    status: str  # passed; failed: something is not as expected; error: it could not be rehearsed to its end
    differences: list[Difference] = []
    fault: str = ""  # of an error: what, and what to do
    rehearsed: Rehearsed | None = None
    real_seconds: float = 0.0

    @property
    def simulated_seconds(self) -> float:
        return self.rehearsed.seconds if self.rehearsed else 0.0


class Suite(msgspec.Struct, kw_only=True):
    """What became of all of them."""

    outcomes: list[Outcome] = []
    wrong: list[Checked] = []  # documents and playbooks that do not check
    unreadable: list[str] = []
    files: int = 0
    coverage: Coverage

    def count(self, status: str) -> int:
        return sum(outcome.status == status for outcome in self.outcomes)


class Trials:
    """Runs tests, one after another."""

    def __init__(self, settings: Settings, said: Say) -> None:
        self.settings = settings
        self.kinds = AnsweredKinds(settings)
        self.said = said
        self.suite = Suite(coverage=Coverage())
        self._playbooks: dict[str, Playbook] = {}  # by sha

    def run(self, names: Sequence[str], chosen: Callable[[PlaybookTest], bool]) -> Suite:
        with Stage(self.settings) as stage:
            for name in dict.fromkeys(test_files(names)):
                self._run_file(stage, name, chosen)
        return self.suite

    def _run_file(self, stage: Stage, name: str, chosen: Callable[[PlaybookTest], bool]) -> None:
        self.suite.files += 1
        try:
            data = bytes_of(name)
        except OSError as error:
            self.suite.unreadable.append(f'cannot read "{name}": {error.strerror or error}')
            return
        reading = read(data, name)
        checked = check(data, name, self.kinds, **surface_within(reading))
        if not checked.is_valid:
            self.suite.wrong.append(checked)
            return
        tests = [test for test in tests_of(reading) if chosen(test)]
        for test in tests:
            outcome = self._outcome(stage, name, reading, test)
            if outcome is not None:
                self.suite.outcomes.append(outcome)
                self.said(outcome)

    def _outcome(self, stage: Stage, file: str, reading: Reading, test: PlaybookTest) -> Outcome | None:
        begun = time.monotonic()
        try:
            request = request_of(file, reading, test)
            answers = answers_of(file, test)
        except Unusable as fault:
            self._refuse(reading.source, fault.finding)
            return None
        wanted = Wanted(
            request=request,
            answers=answers,
            real=HARMLESS if test.real is None else frozenset(test.real) | {"noop", "workbook"},
            begun_at=BEGUN_AT if test.now is None else test.now,
            signals=test.signals,
        )
        try:
            findings = list(self._name_findings(request, test))
            if findings:
                self._refuse(reading.source, *findings)
                return None
            rehearsed = stage.rehearse(wanted)
        except InvalidPlaybook as invalid:
            self._refuse_playbook(invalid)
            return None
        except NoetlError as error:
            return Outcome(file=file, test=test, status=ERRONEOUS, fault=str(error))
        self._cover(request, rehearsed)
        return outcome_of(file, test, rehearsed, time.monotonic() - begun)

    def _name_findings(self, request: RunRequest, test: PlaybookTest) -> Iterator[Finding]:
        playbook = self._playbook(request)
        self.suite.coverage.know(request.name, playbook)
        yield from kind_findings(test, self.kinds)
        if not is_open(playbook):
            yield from nl137_test_of_unknown_step.name_findings(test.root, labels_of(playbook))
        named = test.root.mapping("children")
        if named is not None:
            yield from self._child_findings(named, family_of(playbook, request.folder, self._loaded))

    def _child_findings(self, named: Mapping, family: Family) -> Iterator[Finding]:
        for path, entry in named.entries.items():
            called = family.members.get(path)
            if path not in family.members and family.is_whole:
                yield nl137_test_of_unknown_step.of_path(entry.key, family.members)
            if called is not None and not is_open(called) and isinstance(entry.value, Mapping):
                yield from nl137_test_of_unknown_step.child_findings(entry.value, labels_of(called))

    def _playbook(self, request: RunRequest) -> Playbook:
        text = Text(
            data=request.data or b"", name=request.name, is_legacy=request.is_legacy, is_upstream=request.is_upstream
        )
        return self._loaded(text)

    def _loaded(self, text: Text) -> Playbook:
        if text.sha not in self._playbooks:
            self._playbooks[text.sha] = playbook_of(text, self.kinds)
        return self._playbooks[text.sha]

    def _refuse(self, source: Source, *findings: Finding) -> None:
        self.suite.wrong.append(Checked(source, [], list(findings)))

    def _refuse_playbook(self, invalid: InvalidPlaybook) -> None:
        if not any(one.source.name == invalid.name for one in self.suite.wrong):
            source = invalid.source if isinstance(invalid.source, Source) else Source(invalid.name, "")
            found = [one for one in invalid.findings if isinstance(one, Finding) and one.severity == ERROR]
            self.suite.wrong.append(Checked(source, [], found))

    def _cover(self, request: RunRequest, rehearsed: Rehearsed) -> None:
        folder = Path(request.name).parent
        for execution_id, log in rehearsed.events.items():
            loaded = rehearsed.playbooks.get(execution_id)
            if loaded is not None:
                is_own = loaded.text.sha == rehearsed.loaded.text.sha
                file = request.name if is_own else str(folder / loaded.text.name)
                called = rehearsed.called_rules.get(execution_id, ())
                self.suite.coverage.add(file, loaded, execution_id, log, called)


def labels_of(playbook: Playbook) -> dict[str, list[str]]:
    return {
        name: list(dict.fromkeys(task.label for task in (*step.tasks, *step.compensation) if not task.is_transparent))
        for name, step in playbook.steps.items()
    }


def kind_findings(test: PlaybookTest, kinds: Kinds) -> Iterator[Finding]:
    real = test.root.sequence("real")
    for node in real.items if real else ():
        name = getattr(node, "text", "")
        if name not in kinds:
            miss = near_miss(name, kinds)
            fix = f'did you mean "{miss}"?' if miss else "write one of them"
            rule = nl136_playbook_test_shape.RULE
            yield rule.at(node.place, f'there is no tool kind "{name}"', why=f"the kinds are: {listed(kinds)}", fix=fix)


class Unusable(Exception):
    """A file that a test names and that cannot be had."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(finding.message)


def request_of(file: str, reading: Reading, test: PlaybookTest) -> RunRequest:
    """The run that a test asks for. Raises Unusable."""
    name, data = file, reading.source.text.encode()
    if test.playbook is not None:
        name = beside(file, test.playbook)
        try:
            data = bytes_of(name)
        except OSError as error:
            raise Unusable(unreadable(test, "playbook", name, error)) from None
    folder = str(Path(name).absolute().parent)
    return RunRequest(
        data=data,
        name=name,
        folder=folder,
        payload=test.payload,
        is_legacy=test.surface == LEGACY,
        is_upstream=test.surface == UPSTREAM,
    )


def surface_within(reading: Reading) -> dict[str, bool]:
    """How a playbook is spelt that stands in the file of its tests: as they say."""
    tests = documents_of_kind(reading, PLAYBOOK_TEST)
    said = {test.text("surface") for test in tests if "playbook" not in test.entries}
    return {"is_legacy": LEGACY in said, "is_upstream": UPSTREAM in said}


def answers_of(file: str, test: PlaybookTest) -> Answers:
    """Whoever answers in a test: its own words first, then what was recorded. Raises Unusable."""
    if test.recording is None:
        return answers_from(test, None, "")
    name = beside(file, test.recording)
    try:
        return answers_from(test, bytes_of(name, RECORDING_BYTES_MAX), name)
    except OSError as error:
        raise Unusable(unreadable(test, "recording", name, error)) from None
    except ValueError as error:
        fix = "record it again: noetl run … --record FILE --force"
        finding = nl136_playbook_test_shape.RULE.at(
            test.place_of("recording"),
            str(error),
            why="it has one answer in a line, as JSON, and a bound",
            fix=fix,
        )
        raise Unusable(finding) from None


def answers_from(test: PlaybookTest, recording: bytes | None, name: str) -> Answers:
    """The same of a recording that is there. Raises ValueError: it is none."""
    own: Answers = Listed(test.tools)
    children: dict[str, Answers] = {path: Listed(tools) for path, tools in test.children.items()}
    if recording is not None:
        own = Several(own, Listed(read_records(recording, name)))
    return ByPlaybook(own, children)


def unreadable(test: PlaybookTest, key: str, name: str, error: OSError) -> Finding:
    message = f'the {key} "{name}" cannot be read: {error.strerror or error}'
    why = "a file is named relative to the test that names it"
    return nl136_playbook_test_shape.RULE.at(test.place_of(key), message, why=why, fix="name a file that is there")


def outcome_of(file: str, test: PlaybookTest, rehearsed: Rehearsed, real_seconds: float) -> Outcome:
    made: dict[str, Any] = {"file": file, "test": test, "rehearsed": rehearsed, "real_seconds": real_seconds}
    if rehearsed.unanswered is not None:
        return Outcome(status=ERRONEOUS, fault=unanswered_words(rehearsed.unanswered, rehearsed), **made)
    if rehearsed.stopped:
        limit = f"{SECONDS_MAX:g} s" if rehearsed.stopped == LATE else f"{EVENTS_MAX:,} events"
        fault = f"the rehearsal was ended: it had not come to its end within {limit}. Does a loop or a jump ever end?"
        return Outcome(status=ERRONEOUS, fault=fault, **made)
    found = differences(test, rehearsed)
    if rehearsed.signals_sent < len(test.signals):
        return Outcome(status=ERRONEOUS, fault=unsent_words(test, rehearsed), differences=found, **made)
    return Outcome(status=FAILED if found else PASSED, differences=found, **made)


def unsent_words(test: PlaybookTest, rehearsed: Rehearsed) -> str:
    """A signal that nobody was there for."""
    number = rehearsed.signals_sent
    place = test.place_of("signals", str(number))
    child = test.signals[number].child
    whose = f'no execution of the called playbook "{child}" was going on' if child else "the run had ended by then"
    ended = f"it ended as {rehearsed.summary['status']} after {rehearsed.seconds:.3f} s of simulated time"
    fix = "delete it, or send it earlier with at: SECONDS"
    return f"{place}: signal {number + 1} was not sent: {whose} ({ended})\n   fix: {fix}"
