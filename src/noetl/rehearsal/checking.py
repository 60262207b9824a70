"""What a test expects beside what came of its rehearsal: differences, each with the place of the expectation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from noetl.dsl.playbook_tests import PlaybookTest
from noetl.dsl.source import Place
from noetl.engine.events import StepScheduled
from noetl.rehearsal.stage import Rehearsed

PARTS_MAX = 10  # of one expectation: who has more is told so
ABSENT = "nothing"
DURATION_DIGITS = 3  # milliseconds: to look whether anything still goes on takes a few millionths of a second


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as expected."""

    place: Place  # of the expectation
    what: str  # expect.output.rows
    wanted: Any
    found: Any
    note: str = ""  # in place of wanted and found

    def sentence(self) -> str:
        return self.note or f"{self.what}: wanted {worded(self.wanted)}, found {worded(self.found)}"


class Missing(msgspec.Struct, frozen=True):
    """What is not there at all, which is something else than null."""


MISSING = Missing()


def worded(value: Any) -> str:
    return ABSENT if isinstance(value, Missing) else msgspec.json.encode(value).decode()


def path_of(rehearsed: Rehearsed) -> list[str]:
    """The steps in the order in which they were scheduled; compensations are steps again."""
    events = rehearsed.events.get(rehearsed.execution_id, [])
    return [event.step for event in events if isinstance(event, StepScheduled)]


def runs_of(rehearsed: Rehearsed) -> dict[str, int]:
    """How often each step ran, and each task was called."""
    steps = Counter(dict.fromkeys(rehearsed.loaded.playbook.steps, 0))
    steps.update(path_of(rehearsed))
    tasks = Counter(
        {f"{name}.{task.label}": 0 for name, step in rehearsed.loaded.playbook.steps.items() for task in step.tasks}
    )
    tasks.update(call.asked.name for call in rehearsed.calls if not call.asked.playbook)
    return {**steps, **tasks}


def differences(test: PlaybookTest, rehearsed: Rehearsed) -> list[Difference]:
    """Everything that is not as the test expects; its order is that of what to look at first."""
    found = [*of_status(test, rehearsed), *of_error(test, rehearsed), *of_values(test, rehearsed)]
    return [*found, *of_path(test, rehearsed), *of_runs(test, rehearsed), *of_duration(test, rehearsed)]


def of_status(test: PlaybookTest, rehearsed: Rehearsed) -> Iterator[Difference]:
    wanted, found = test.expect.get("status", "success"), rehearsed.summary["status"]
    if wanted != found:
        yield Difference(place=place_in(test, "status"), what="expect.status", wanted=wanted, found=found)


def of_error(test: PlaybookTest, rehearsed: Rehearsed) -> Iterator[Difference]:
    found = rehearsed.summary["error"] or {}
    for key, wanted in (test.expect.get("error") or {}).items():
        came = found.get(key)
        is_same = str(wanted) in str(came) if key == "message" else str(wanted) == str(came) and came is not None
        if not is_same:
            place = place_in(test, "error", key)
            yield Difference(place=place, what=f"expect.error.{key}", wanted=wanted, found=came)


def of_values(test: PlaybookTest, rehearsed: Rehearsed) -> Iterator[Difference]:
    if "output" in test.expect:
        found = (rehearsed.summary["output"] or {}).get("data")
        yield from parts(test, ("output",), test.expect["output"], found)
    ctx = rehearsed.summary["ctx"]
    for key, wanted in (test.expect.get("ctx") or {}).items():
        yield from parts(test, ("ctx", key), wanted, ctx.get(key, MISSING))


def of_path(test: PlaybookTest, rehearsed: Rehearsed) -> Iterator[Difference]:
    if "path" not in test.expect:
        return
    wanted, found = test.expect["path"], path_of(rehearsed)
    if wanted == found:
        return
    at = next((index for index, pair in enumerate(zip(wanted, found, strict=False)) if pair[0] != pair[1]), None)
    place = place_in(test, "path")
    if at is None:
        at = min(len(wanted), len(found))
        said = f'wanted no step after "{found[at - 1]}", found "{found[at]}"' if at < len(found) and at else ""
        said = said or (f'wanted "{wanted[at]}", found no further step' if at < len(wanted) else "wanted no step")
    else:
        said = f'wanted "{wanted[at]}", found "{found[at]}"'
    note = f"expect.path: step {at + 1}: {said}; the whole path was {', '.join(found) or 'empty'}"
    yield Difference(place=place, what="expect.path", wanted=wanted, found=found, note=note)


def of_runs(test: PlaybookTest, rehearsed: Rehearsed) -> Iterator[Difference]:
    found = runs_of(rehearsed)
    for name, wanted in (test.expect.get("runs") or {}).items():
        came = found.get(name, 0)
        if wanted != came:
            place = place_in(test, "runs", name)
            yield Difference(place=place, what=f"expect.runs.{name}", wanted=wanted, found=came)


def of_duration(test: PlaybookTest, rehearsed: Rehearsed) -> Iterator[Difference]:
    wanted = test.expect.get("duration") or {}
    seconds = round(rehearsed.seconds, DURATION_DIGITS)
    for key, word, sign in (("min", "at least", 1), ("max", "at most", -1)):
        if key in wanted and sign * seconds < sign * wanted[key]:
            note = f"expect.duration.{key}: wanted {word} {wanted[key]:g} s, found {seconds:g} s"
            place = place_in(test, "duration", key)
            yield Difference(place=place, what=f"expect.duration.{key}", wanted=wanted[key], found=seconds, note=note)


def place_in(test: PlaybookTest, *keys: str) -> Place:
    """Where an expectation stands; one that is only implied stands where the test's name does."""
    node = test.node_of("expect", *keys)
    return node.place if node is not None else test.place


def parts(test: PlaybookTest, keys: tuple[str, ...], wanted: Any, found: Any) -> list[Difference]:
    """Where two values differ, part by part; of many parts the first ones."""
    several = list(_parts(test, keys, wanted, found))
    if len(several) <= PARTS_MAX:
        return several
    more = f"expect.{'.'.join(keys)}: {len(several) - PARTS_MAX} more parts differ"
    return [*several[:PARTS_MAX], Difference(place=place_in(test, *keys), what="", wanted="", found="", note=more)]


def _parts(test: PlaybookTest, keys: tuple[str, ...], wanted: Any, found: Any) -> Iterator[Difference]:
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in dict.fromkeys((*wanted, *found)):
            yield from _parts(test, (*keys, str(key)), wanted.get(key, MISSING), found.get(key, MISSING))
    elif isinstance(wanted, list) and isinstance(found, list):
        for index in range(max(len(wanted), len(found))):
            yield from _parts(test, (*keys, str(index)), item(wanted, index), item(found, index))
    elif not same(wanted, found):
        place = place_in(test, *keys)
        yield Difference(place=place, what=f"expect.{'.'.join(keys)}", wanted=wanted, found=found)


def item(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else MISSING


def same(wanted: Any, found: Any) -> bool:
    """Equal, where true is not 1; 1 and 1.0 are the same number."""
    return wanted == found and isinstance(wanted, bool) == isinstance(found, bool)
