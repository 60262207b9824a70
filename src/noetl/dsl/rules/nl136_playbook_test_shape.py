"""A PlaybookTest document is not written as one.

It has `apiVersion: noetl.io/v2`, `kind: PlaybookTest`, `metadata.name`, the file of its `playbook`, and what it
expects. Tasks that may not run have answers under `tools`, by `step.task`: one mapping answers every call, a list one
call after another. An answer has the fields of an output: `data`, `error`, and what its kind has beside them (`http`,
`pg`). The payload is data and holds no templates. What `signals` set are paths below ctx.

Wrong:

    apiVersion: noetl.io/v2
    kind: PlaybookTest
    metadata: { name: gives up }
    playbook: ../orders.yaml
    tools:
      fetch.get_page: { eror: { kind: timeout } }
    expected: { status: failed }

Right:

    apiVersion: noetl.io/v2
    kind: PlaybookTest
    metadata: { name: gives up }
    playbook: ../orders.yaml
    tools:
      fetch.get_page: { error: { kind: timeout } }
    expect: { status: failed }

Spec: PB-01.
"""

from base64 import b64decode
from collections.abc import Iterator

from noetl.dsl.departures import departures
from noetl.dsl.findings import Finding, did_you_mean, listed, near_miss
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, Sequence, describe, shorten
from noetl.dsl.playbook_test_shapes import ANSWER_KEYS, HELPERS, PLAYBOOK_TEST, ROOT, TEST_SHAPES
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract
from noetl.dsl.rules.nl124_template_in_workload import templates
from noetl.dsl.rules.nl328_impossible_output_value import ERROR_KINDS
from noetl.dsl.rules.start_faults import Fault, place_of, shape_fault, text_entry
from noetl.dsl.rules.whereabouts import dotted
from noetl.dsl.schedule_documents import documents_of_kind, moment_of

RULE = contract.Rule(code="NL136", name="playbook-test-shape", spec=("PB-01",), is_of_text=True)

ANSWER_DOC = "an answer has the fields of an output: data, error, and what its kind has beside them"

SIGNAL_DOC = "a signal writes to ctx, by paths such as ctx.approved, as noetl signal --set does"


def check(reading: Reading) -> Iterator[Finding]:
    first: dict[str, int] = {}
    has_playbook = any(isinstance(one, Mapping) and one.text("kind") == "Playbook" for one in reading.documents)
    for root in documents_of_kind(reading, PLAYBOOK_TEST):
        faults = [*map(shape_fault, departures(root, {}, set(), TEST_SHAPES, ROOT))]
        faults += [*of_name(root, first), *of_playbook(root, has_playbook), *of_payload(root), *of_answers(root)]
        faults += [*of_now(root), *of_signals(root), *of_expectations(root.mapping("expect"))]
        for fault in faults:
            yield RULE.at(place_of(fault.node), fault.message, why=fault.why, fix=fault.fix, edits=fault.edits)


def of_name(root: Mapping, first: dict[str, int]) -> Iterator[Fault]:
    metadata = root.mapping("metadata")
    name = text_entry(metadata, "name")
    if name is None:
        return
    if name.text in first:
        message = f'this file has the test "{shorten(name.text)}" twice; the first is on line {first[name.text]}'
        yield Fault(name, message, "a test is found by its name", "give it another name")
    first.setdefault(name.text, name.line)


def of_playbook(root: Mapping, has_playbook: bool) -> Iterator[Fault]:
    named = root.entries.get("playbook")
    if named is None and not has_playbook:
        why = "a test says which playbook it is of, unless that stands in the same file"
        yield Fault(
            root, "the test names no playbook", why, "add playbook: ../orders.yaml, a file relative to this one"
        )


def of_payload(root: Mapping) -> Iterator[Fault]:
    payload = root.get("payload")
    for node, path in templates(payload, ("payload",)) if payload else ():
        message = f"the template in {dotted(path)} is not rendered"
        yield Fault(node, message, "a payload is data; its strings stay as they are", "write the value itself")


def of_now(root: Mapping) -> Iterator[Fault]:
    now = text_entry(root, "now")
    if now is not None and moment_of(now.text) is None:
        message = f"now is no time: found {describe(now)}"
        yield Fault(now, message, "it is a date and a time, in UTC or with an offset", "write 2026-03-01T08:00:00Z")


def of_signals(root: Mapping) -> Iterator[Fault]:
    signals = root.sequence("signals")
    before = 0.0
    for index, signal in enumerate(signals.items if signals else ()):
        if not isinstance(signal, Mapping):
            continue
        yield from of_writes(signal.mapping("set"), ("signals", str(index), "set"))
        at = signal.scalar("at")
        if at is not None and is_number(at):
            if at.value < before:  # type: ignore[operator]
                why = "signals are sent in the order in which they are written"
                yield Fault(at, f"this signal is to be sent before the one above it, at {before:g} s", why, "sort them")
            before = at.value  # type: ignore[assignment]


def of_writes(written: Mapping | None, path: tuple[str, ...]) -> Iterator[Fault]:
    if written is None:
        return
    if not written.entries:
        yield Fault(written, "the signal writes nothing", SIGNAL_DOC, "write set: { ctx.approved: true }")
    for name, entry in written.entries.items():
        scope, *names = name.split(".")
        if scope != "ctx" or not names or not all(names):
            fix = f"write ctx.{shorten(names[-1] if names and names[-1] else scope)}"
            yield Fault(entry.key, f'a signal cannot write "{shorten(name)}"', SIGNAL_DOC, fix)
    for node, where in templates(written, path):
        message = f"the template in {dotted(where)} is not rendered"
        yield Fault(node, message, "a signal is data; its strings stay as they are", "write the value itself")


def of_answers(root: Mapping) -> Iterator[Fault]:
    children = root.mapping("children")
    tools = [root.mapping("tools"), *(entry.value for entry in children.entries.values())] if children else []
    for answers in tools or [root.mapping("tools")]:
        for name, entry in answers.entries.items() if isinstance(answers, Mapping) else ():
            for answer in entry.value.items if isinstance(entry.value, Sequence) else [entry.value]:
                yield from of_answer(name, answer)
            if isinstance(entry.value, Sequence) and not entry.value.items:
                why = "the last of a task's answers answers all further calls, so there is one at least"
                yield Fault(entry.key, f'"{shorten(name)}" has no answer', why, "add one, such as { data: null }")


def of_answer(name: str, answer: AnyNode) -> Iterator[Fault]:
    if not isinstance(answer, Mapping):
        message = f'an answer of "{shorten(name)}" must be a mapping, found {describe(answer)}'
        yield Fault(answer, message, ANSWER_DOC, "write { data: … }")
        return
    yield from map(shape_fault, departures(answer, {}, set(), TEST_SHAPES, "test.answer"))
    known = (*ANSWER_KEYS, *HELPERS)
    for key, entry in answer.entries.items():
        if key not in known and (not isinstance(entry.value, Mapping) or near_miss(key, known)):
            fix = did_you_mean(key, known, f"delete it; an answer has: {listed(known, 20)}")
            yield Fault(entry.key, f'an answer has no "{shorten(key)}"', ANSWER_DOC, fix)
        elif key in HELPERS and not isinstance(entry.value, Mapping):
            message = f"{key} must be a mapping, found {describe(entry.value)}"
            yield Fault(entry.value, message, ANSWER_DOC, f"write {key}: {{ … }}, or delete it")
    yield from of_stored(answer.mapping("stored"))
    yield from of_error_kind(answer.mapping("error"))


def of_stored(stored: Mapping | None) -> Iterator[Fault]:
    """Bytes that are no text are written as base64."""
    written = text_entry(stored, "base64") if stored is not None and stored.entries.keys() == {"base64"} else None
    if written is not None and not is_base64(written.text):
        why = "stored with base64 alone stands for bytes, as noetl run --record writes them"
        yield Fault(written, "this is no base64", why, "write the payload itself, or its bytes as base64")


def is_base64(text: str) -> bool:
    try:
        return bool(b64decode(text, validate=True)) or not text
    except ValueError:
        return False


def of_expectations(expect: Mapping | None) -> Iterator[Fault]:
    if expect is None:
        return
    yield from of_error_kind(expect.mapping("error"))
    status = expect.text("status") or "success"
    entry = expect.entries.get("error")
    if entry is not None and status in ("success", "waiting"):
        why = f"an execution that ends as {status} has no error"
        yield Fault(entry.key, f"expect has an error, and the status {status}", why, "add status: failed")
    duration = expect.mapping("duration")
    least, most = (duration.scalar(key) if duration else None for key in ("min", "max"))
    if is_number(least) and is_number(most) and least.value > most.value:  # type: ignore[union-attr, operator]
        yield Fault(most or least, "duration.max is less than duration.min", "nothing lasts so", "write a greater one")  # type: ignore[arg-type]


def is_number(node: Scalar | None) -> bool:
    return node is not None and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def of_error_kind(error: Mapping | None) -> Iterator[Fault]:
    kind = text_entry(error, "kind")
    if kind is None or kind.text in ERROR_KINDS or "." in kind.text:
        return
    why = f"error.kind is one of {listed(ERROR_KINDS, most=len(ERROR_KINDS))}; a plugin's begin with its name and a dot"
    fix = did_you_mean(kind.text, ERROR_KINDS, "write one of them")
    yield Fault(kind, f'there is no error.kind "{shorten(kind.text)}"', why, fix)
