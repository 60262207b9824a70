"""What failing tests expect, rewritten to what came: their comments, their order and everything else stay.

Only what a test names is compared, so only that is rewritten; what it does not name stays unnamed.
"""

from __future__ import annotations

import itertools
from typing import Any

from noetl.dsl.findings import Edit
from noetl.dsl.nodes import AnyNode, Mapping, plain
from noetl.dsl.playbook_test_shapes import PLAYBOOK_TEST
from noetl.dsl.playbook_tests import PlaybookTest, tests_of
from noetl.dsl.read import Reading, read
from noetl.dsl.rewriting.revaluing import end_of, is_same, revalued, with_entry
from noetl.errors import RequestError
from noetl.rehearsal.checking import DURATION_DIGITS, path_of, runs_of
from noetl.rehearsal.stage import Rehearsed
from noetl.rehearsal.suite import Outcome

EXPECT = "expect"


def updated_text(data: bytes, outcomes: list[Outcome]) -> bytes:
    """The file of these tests, with what came of them as what they expect. Raises RequestError."""
    name = outcomes[0].file
    reading = read(data, name)
    came = {outcome.test.name: outcome for outcome in outcomes}
    edits = []
    wanted: dict[str, dict[str, Any]] = {}
    for test in tests_of(reading):
        outcome = came.get(test.name)
        if outcome is not None and outcome.rehearsed is not None:
            wanted[test.name] = expectation(test, outcome.rehearsed)
            edits += edits_of(test, wanted[test.name])
    text = applied(reading.source.text, edits)
    faulty = first_fault(reading, read(text, name), wanted)
    if faulty is not None:
        raise RequestError(
            f'{name}: what the test "{faulty}" expects could not be rewritten in place, so the file is as it was. '
            "Does it use anchors, a block text, or comments inside braces? Change it by hand"
        )
    return text.encode()


def first_fault(before: Reading, after: Reading, wanted: dict[str, dict[str, Any]]) -> str | None:
    """The first test that does not expect what it should now, or has anything else than before; None: all is well."""
    found = [(test.name, test.expect) for test in tests_of(after)] if len(after.faults) <= len(before.faults) else []
    expected = [(test.name, wanted.get(test.name, test.expect)) for test in tests_of(before)]
    for one, other in itertools.zip_longest(expected, found):
        if other is None or one is None or one[0] != other[0] or not is_same(one[1], other[1]):
            return (one or other)[0]
    is_rest_same = is_same(list(map(without_expect, before.documents)), list(map(without_expect, after.documents)))
    return None if is_rest_same else next(iter(wanted))


def without_expect(root: AnyNode) -> Any:
    data: Any = plain(root)
    is_test = isinstance(data, dict) and data.get("kind") == PLAYBOOK_TEST
    return {key: value for key, value in data.items() if key != EXPECT} if is_test else data


def expectation(test: PlaybookTest, rehearsed: Rehearsed) -> dict[str, Any]:
    """What a test would expect if what came were right: the same keys, as far as there is something to say."""
    summary, old = rehearsed.summary, test.expect
    new: dict[str, Any] = {}
    if summary["status"] != "success" or "status" in old:
        new["status"] = summary["status"]
    for key in old:
        if key == "output":
            new[key] = (summary["output"] or {}).get("data")
        elif key == "path":
            new[key] = path_of(rehearsed)
        elif key == "ctx":
            new[key] = {name: summary["ctx"][name] for name in old[key] if name in summary["ctx"]}
        elif key == "runs":
            runs = runs_of(rehearsed)
            new[key] = {name: runs.get(name, 0) for name in old[key]}
        elif key == "duration":
            new[key] = bounds(old[key], round(rehearsed.seconds, DURATION_DIGITS))
        elif key == "error" and summary["error"]:
            new[key] = error_now(old[key], summary["error"])
    return {key: new[key] for key in ("status", *old) if key in new} if "status" not in old else ordered(new, old)


def ordered(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    return {key: new[key] for key in old if key in new}


def bounds(old: dict[str, Any], seconds: float) -> dict[str, Any]:
    kept = {"min": lambda limit: min(limit, seconds), "max": lambda limit: max(limit, seconds)}
    return {key: kept[key](limit) for key, limit in old.items()}


def error_now(old: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    def now(key: str) -> Any:
        is_message_kept = key == "message" and str(old[key]) in str(found.get(key))
        return old[key] if is_message_kept or str(found.get(key)) == str(old[key]) else found.get(key)

    return {key: now(key) for key in old if found.get(key) is not None}


def edits_of(test: PlaybookTest, new: dict[str, Any]) -> list[Edit]:
    entry = test.root.entries.get(EXPECT)
    if entry is None:
        end = end_of(test.root)
        return [Edit(end, end, f"\n{EXPECT}:\n  status: {new['status']}")]
    value = entry.value
    added = [key for key in new if not isinstance(value, Mapping) or key not in value.entries]
    if not isinstance(value, Mapping) or added not in ([], ["status"]) or value.entries.keys() - new.keys():
        return list(revalued(entry, new))
    edits = [with_entry(value, key, new[key]) for key in added]
    return [*edits, *(edit for key, one in value.entries.items() for edit in revalued(one, new[key]))]


def applied(text: str, edits: list[Edit]) -> str:
    """The text with its edits, which end their lines as it does."""
    end = "\r\n" if "\r\n" in text else "\n"
    for edit in sorted(edits, key=lambda one: (one.start, one.end), reverse=True):
        text = text[: edit.start] + edit.text.replace("\n", end) + text[edit.end :]
    return text
