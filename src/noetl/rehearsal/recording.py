"""A run for real, written down as a test: its payload, what its tools answered, and what came of it.

What is small stands in the test itself; too many answers go to a recording beside it. Before anything is written the
test is rehearsed, which touches nothing since all of it is answered: where the time that answers took matters, that
goes in too, and what even then comes out otherwise is not expected, and told.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from noetl.config import Settings
from noetl.control.requests import RunRequest
from noetl.dsl.nodes import plain
from noetl.dsl.playbook_test_shapes import LEGACY, PLAYBOOK_TEST, STATUSES, UPSTREAM
from noetl.dsl.playbook_tests import tests_of
from noetl.dsl.read import read
from noetl.dsl.rewriting.writing import block
from noetl.dsl.start_shapes import VERSION
from noetl.errors import NoetlError, RequestError
from noetl.rehearsal.checking import differences
from noetl.rehearsal.envelopes import Answer
from noetl.rehearsal.records import RECORDING_BYTES_MAX, written_records
from noetl.rehearsal.stage import BEGUN_AT, Stage, Wanted
from noetl.rehearsal.suite import answers_from
from noetl.rehearsal.taps import Note, Taps

INLINE_BYTES_MAX = 16 * 1024  # of all answers, as JSON
INLINE_ANSWERS_MAX = 60
VALUE_BYTES_MAX = 32 * 1024  # of what is expected
RECORDING_ENDING = ".rec.jsonl"
HEADER = """\
# Recorded by noetl run --record. To let the code of a python task run in this test, delete its answers.
"""
Answers = list[tuple[str, Answer]]
BRIEF, PLAIN, TIMED = "brief", "plain", "timed"  # without what hardly anybody reads; as it is; with how long it took
ALL_WELL: tuple[set[str], str] = (set(), "")
SELDOM_READ = {"http": ("headers", "request_id", "url"), "py": ("stdout", "exception_type")}


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be written."""

    test: bytes
    recording: bytes | None
    left_out: list[str] = []  # what would come out otherwise, and so is not expected
    fault: str = ""  # why the test does not pass as it is


def recording_name(file: str) -> str:
    """orders.test.yaml → orders.rec.jsonl"""
    stem = Path(file).name
    for ending in (".yaml", ".yml", ".test", "_test"):
        stem = stem.removesuffix(ending)
    return stem + RECORDING_ENDING


def recorded(
    settings: Settings, request: RunRequest, taps: Taps, summary: dict[str, Any], file: str, playbook: str
) -> Recorded:
    """The test of a run that has ended. Raises RequestError: it cannot be recorded."""
    if taps.fault:
        raise RequestError(f"the run is not recorded: {taps.fault}")
    if summary["status"] not in STATUSES:
        raise RequestError(f"the run is not recorded: it has not come to an end ({summary['status']})")
    expect = expectation(taps, summary)
    draft = Draft(request, taps, file, playbook)
    with Stage(settings) as stage:
        for way in (BRIEF, PLAIN):
            made = draft.written(expect, way)
            if failing(stage, request, made, file) == ALL_WELL:
                return made
        made = draft.written(expect, TIMED)
        fails, fault = failing(stage, request, made, file)
    if (fails, fault) == ALL_WELL:
        return made
    kept = {key: value for key, value in expect.items() if key not in fails}
    return msgspec.structs.replace(draft.written(kept, TIMED), left_out=sorted(fails), fault=fault)


def expectation(taps: Taps, summary: dict[str, Any]) -> dict[str, Any]:
    """What a test expects if everything comes as it came."""
    found: dict[str, Any] = {"status": summary["status"]}
    output = summary["output"] or {}
    if "data" in output and summary["status"] == "success" and can_stand(output["data"]):
        found["output"] = output["data"]
    if summary["ctx"] and can_stand(summary["ctx"]):
        found["ctx"] = summary["ctx"]
    error = summary["error"]
    if error and summary["status"] in ("failed", "cancelled"):
        found["error"] = {
            key: error[key] for key in ("kind", "step", "task", "iteration") if error.get(key) is not None
        }
    found["path"] = taps.path
    found["runs"] = dict(sorted(taps.calls.items()))
    return taps.clean({key: value for key, value in found.items() if value not in ({}, [])})  # type: ignore[no-any-return]


def can_stand(value: Any) -> bool:
    """Whether a value can stand in a test: it is not too large, and YAML has words for it, as it has not for integers
    from 2**63 on."""
    if len(msgspec.json.encode(value)) > VALUE_BYTES_MAX:
        return False
    found = read("\n".join(block({"value": value}, 0)), "")
    return not found.faults and plain(found.documents[0]) == {"value": value}


class Draft:
    """A test on its way."""

    def __init__(self, request: RunRequest, taps: Taps, file: str, playbook: str) -> None:
        self.payload = taps.clean(request.payload)
        self.notes = taps.notes
        self.clean: Callable[[Any], Any] = taps.clean
        self.file = file
        self.playbook = playbook
        self.surface = LEGACY if request.is_legacy else UPSTREAM if request.is_upstream else ""
        self.runs = {step: taps.path.count(step) for step in taps.path}

    def written(self, expect: dict[str, Any], way: str) -> Recorded:
        answers = self._answers(way)
        size = sum(len(msgspec.json.encode(answer)) for _, answer in answers)
        if size <= INLINE_BYTES_MAX and len(answers) <= INLINE_ANSWERS_MAX:
            text = self._text({"tools": by_name(answers)} if answers else {}, expect)
            if text is not None:
                return Recorded(test=text, recording=None)
        text = self._text({"recording": recording_name(self.file)}, expect)
        if text is None:
            raise RequestError("the run is not recorded: its payload or its result cannot be written as YAML")
        recording = written_records(answers)
        if len(recording) > RECORDING_BYTES_MAX:
            raise RequestError(f"the run is not recorded: its answers are more than {RECORDING_BYTES_MAX:,} bytes")
        return Recorded(test=text, recording=recording)

    def _answers(self, way: str) -> Answers:
        """The answers in order, with whose they are; the same one for all calls of a task stands once."""
        found: dict[str, Answers] = {}
        for note in self.notes:
            found.setdefault(note.name, []).append((note.name, self._answer(note, way)))
        return [one for several in found.values() for one in shortened(several)]

    def _answer(self, note: Note, way: str) -> Answer:
        answer: Answer = self.clean(msgspec.json.decode(note.answer))
        answer = brief(answer) if way == BRIEF else answer
        selectors: Answer = {}
        if self.runs.get(note.name.rpartition(".")[0], 0) > 1:
            selectors["run"] = note.run
        if note.iteration:
            selectors["iteration"] = int(note.iteration) if note.iteration.isdecimal() else note.iteration
        takes = {"takes": note.seconds} if note.seconds and (way == TIMED or note.is_cut_off) else {}
        return {**selectors, **answer, **takes}

    def _text(self, answers: dict[str, Any], expect: dict[str, Any]) -> bytes | None:
        """The document; None: YAML has no words for something in it."""
        name = Path(self.playbook).stem
        document = {
            "apiVersion": VERSION,
            "kind": PLAYBOOK_TEST,
            "metadata": {"name": f"{name} as it was recorded"},
            "playbook": self.playbook,
            **({"surface": self.surface} if self.surface else {}),
            **({"payload": self.payload} if self.payload else {}),
            **answers,
            "expect": expect,
        }
        text = HEADER + "\n".join(block(document, 0)) + "\n"
        found = tests_of(read(text, self.file))
        is_same = len(found) == 1 and found[0].expect == expect and found[0].payload == self.payload
        return text.encode() if is_same and found[0].tools == listed(answers.get("tools", {})) else None


def listed(tools: dict[str, Any]) -> dict[str, list[Answer]]:
    return {name: given if isinstance(given, list) else [given] for name, given in tools.items()}


def brief(answer: Answer) -> Answer:
    """Without what hardly anybody reads: headers and the like, and a status that goes without saying."""
    made = dict(answer)
    for helper, seldom in SELDOM_READ.items():
        given = made.pop(helper, None)
        if isinstance(given, dict):
            kept = {key: value for key, value in given.items() if key not in seldom}
            made |= {} if not kept or kept == {"status": 200} else {helper: kept}
    return made


def shortened(several: Answers) -> Answers:
    """What all calls of a task got, once; else all of them, without those at the end that the last one answers."""
    plain = [{key: value for key, value in one.items() if key not in ("run", "iteration")} for _, one in several]
    if all(one == plain[0] for one in plain):
        return [(several[0][0], plain[0])]
    if any("iteration" in one or "run" in one for _, one in several):
        return sorted(several, key=lambda one: place_of(one[1]))
    while len(several) > 1 and several[-1] == several[-2]:
        several = several[:-1]
    return several


def place_of(answer: Answer) -> tuple[int, list[int]]:
    """Run and iteration, to sort by; the answers of one place stay in the order of its calls."""
    indexes = str(answer.get("iteration", "")).split(".")
    return answer.get("run", 0), [int(index) for index in indexes if index]


def by_name(answers: Answers) -> dict[str, Any]:
    found: dict[str, list[Answer]] = {}
    for name, answer in answers:
        found.setdefault(name, []).append(answer)
    return {name: several if len(several) > 1 else several[0] for name, several in found.items()}


def failing(stage: Stage, request: RunRequest, made: Recorded, file: str) -> tuple[set[str], str]:
    """Which expectations of a recorded test do not hold when it is rehearsed; and why it cannot be, if it cannot."""
    (test,) = tests_of(read(made.test, file))
    wanted = Wanted(
        request=msgspec.structs.replace(request, payload=test.payload, request_key=None),
        answers=answers_from(test, made.recording, file),
        real=frozenset(("noop", "workbook", "resolve")),  # nothing that could do anything twice
        begun_at=BEGUN_AT,
    )
    try:
        rehearsed = stage.rehearse(wanted)
    except NoetlError as error:
        return set(), str(error)
    if rehearsed.unanswered is not None:
        return set(), f"the call of {rehearsed.unanswered.name} was not recorded"
    if rehearsed.stopped:
        return set(), f"its rehearsal was ended: {rehearsed.stopped}"
    return {key_of(one.what) for one in differences(test, rehearsed)} - {""}, ""


def key_of(what: str) -> str:
    """expect.output.rows → output"""
    parts = what.split(".")
    return parts[1] if len(parts) > 1 else ""
