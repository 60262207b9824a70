"""Where a Schedule or a Trigger leaves the table of `start_shapes.py`, said in the words that playbooks are told.

Two rules share this: they name the kind of document, add what one key means for another, and give the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from noetl.dsl.departures import ShapeFault, departures
from noetl.dsl.findings import Edit, Finding, did_you_mean, listed
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, describe, shorten
from noetl.dsl.read import Reading
from noetl.dsl.rules import nl117_wrong_type, nl118_value_not_allowed, nl119_value_out_of_range
from noetl.dsl.rules.contract import Rule
from noetl.dsl.rules.nl124_template_in_workload import templates
from noetl.dsl.rules.shape_faults import MISSING, NOT_A_CHOICE, OUT_OF_RANGE, UNKNOWN
from noetl.dsl.rules.whereabouts import dotted
from noetl.dsl.schedule_documents import NAME, documents_of_kind
from noetl.dsl.source import Place
from noetl.dsl.start_shapes import START_SHAPES


class Fault(NamedTuple):
    """What is wrong at a node."""

    node: AnyNode
    message: str
    why: str
    fix: str
    edits: tuple[Edit, ...] = ()


def start_findings(
    rule: Rule, reading: Reading, kind: str, of_spec: Callable[[Mapping], Iterator[Fault]]
) -> Iterator[Finding]:
    """The findings of all documents of a kind in a text; `of_spec` says what the table cannot."""
    first: dict[str, int] = {}
    for root in documents_of_kind(reading, kind):
        faults = [*map(shape_fault, departures(root, {}, set(), START_SHAPES, kind.lower()))]
        faults += [*of_name(root, kind, first), *of_payload(root)]
        spec = root.mapping("spec")
        faults += of_spec(spec) if spec else ()
        for fault in faults:
            yield rule.at(place_of(fault.node), fault.message, why=fault.why, fix=fault.fix, edits=fault.edits)


def place_of(node: AnyNode) -> Place:
    """A scalar whole, the beginning of anything longer."""
    if isinstance(node, Scalar) and node.line == node.end_line:
        return node.place
    first = next(iter(node.entries.values()), None) if isinstance(node, Mapping) else None
    return first.key.place if first else Place(node.source.name, node.line, node.column, node.line, node.column + 1)


def shape_fault(one: ShapeFault) -> Fault:
    where = dotted(one.path) or one.shape.where
    why = one.shape.doc[:1].lower() + one.shape.doc[1:].rstrip(".")
    if one.fault == UNKNOWN:
        message = f'{one.shape.where} has no "{shorten(one.key)}"'
        fix = did_you_mean(one.key, one.shape.keys, f"delete it; {one.shape.where} has: {listed(one.shape.keys, 15)}")
        return Fault(one.node, message, why, fix)
    if one.fault == MISSING:
        return Fault(one.node, f"{where} has no {one.key}", why, f"add {one.key}: …")
    if one.fault == NOT_A_CHOICE:
        message = f"{where} must be {nl118_value_not_allowed.words(one)}, found {describe(one.node)}"
        return Fault(one.node, message, why, nl118_value_not_allowed.fix(one), nl118_value_not_allowed.edits(one))
    if one.fault == OUT_OF_RANGE:
        message = (
            f"{where} must be {nl119_value_out_of_range.bounds(one)}, found {nl119_value_out_of_range.value(one):,}"
        )
        return Fault(one.node, message, why, f"write {nl119_value_out_of_range.limit(one)}")
    return wrong_type(one, where, why)


def wrong_type(one: ShapeFault, where: str, why: str) -> Fault:
    message = f"{where} must be {nl117_wrong_type.wanted(one.shape)}, found {describe(one.node)}"
    right = nl117_wrong_type.converted(one.node, one.shape)
    if one.name == "start.playbook" and isinstance(one.node, Scalar) and one.node.value:
        return Fault(one.node, message, why, f"write playbook: {{ path: {shorten(one.node.text)} }}")
    fix = f"write {right}" if right else nl117_wrong_type.fix(one)
    return Fault(one.node, message, why, fix, nl117_wrong_type.repair(one.node, right))


def of_name(root: Mapping, kind: str, first: dict[str, int]) -> Iterator[Fault]:
    """A name goes into addresses and keys, so it is plain; and a file has it once."""
    metadata = root.mapping("metadata")
    entry = metadata.entries.get("name") if metadata else None
    if entry is None or not isinstance(entry.value, Scalar) or not isinstance(entry.value.value, str):
        return
    name = entry.value.text
    why = f"the name of a {kind.lower()} stands in addresses and in keys"
    if not NAME.match(name):
        fix = "write letters, digits, _ . and -, beginning with none of the last two"
        yield Fault(entry.value, f'"{shorten(name)}" is no name for a {kind.lower()}', why, fix)
    elif name in first:
        message = f'this file has the {kind.lower()} "{name}" twice; the first is on line {first[name]}'
        yield Fault(entry.value, message, why, "give it another name")
    first.setdefault(name, entry.key.line)


def of_payload(root: Mapping) -> Iterator[Fault]:
    spec = root.mapping("spec")
    payload = spec.get("payload") if spec else None
    for node, path in templates(payload, ("spec", "payload")) if payload else ():
        yield Fault(
            node,
            f"the template in {dotted(path)} is not rendered",
            "a payload is data; its strings stay as they are",
            "write the template in the playbook, where the value is used",
        )


def text_entry(mapping: Mapping | None, key: str) -> Scalar | None:
    """The text under a key; None: there is none, or it is something else, which the table says."""
    value = mapping.scalar(key) if mapping else None
    return value if value is not None and isinstance(value.value, str) else None


def both(mapping: Mapping, *keys: str) -> list[Entry]:
    """Those of these keys that are there."""
    return [mapping.entries[key] for key in keys if key in mapping.entries]
