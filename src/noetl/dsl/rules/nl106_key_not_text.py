"""A key of a mapping is not text.

Keys are names. A key such as `404:` or `true:` is a number or a boolean to YAML; here it is read as the text it is
written as, which is what an author means, and the quotes say so. A list or a mapping as a key has no such reading and
is an error.

Wrong:

    workload:
      labels:
        404: not found
        true: on

Right:

    workload:
      labels:
        "404": not found
        "true": on

Spec: PB-02.
"""

from collections.abc import Iterator

from noetl.dsl.findings import WARNING, Edit, Finding
from noetl.dsl.read import Fault, Reading
from noetl.dsl.rules import contract
from noetl.dsl.source import Source

RULE = contract.Rule(code="NL106", name="key-not-text", spec=("PB-02",), is_of_text=True, also=(WARNING,))


def check(reading: Reading) -> Iterator[Finding]:
    for fault in reading.faults:
        if fault.fault == "key-not-text":
            yield of_scalar(reading.source, fault) if "key" in fault.facts else of_collection(reading.source, fault)


def of_scalar(source: Source, fault: Fault) -> Finding:
    key = fault.facts["key"]
    start = source.index(fault.place.line, fault.place.column)
    return RULE.at(
        fault.place,
        f'the key {key or "of nothing"} is not text; it is read as the text "{key}"',
        why="a key is a name, and YAML takes this one for a number, true, false or null",
        fix=f'write "{key}"',
        edits=(Edit(start, start + len(key), f'"{key}"'),) if source.text.startswith(key, start) and key else (),
        severity=WARNING,
    )


def of_collection(source: Source, fault: Fault) -> Finding:
    if source.text.startswith("{{", source.index(fault.place.line, fault.place.column)):
        return RULE.at(
            fault.place,
            "a key that begins with a template must be quoted",
            why="YAML reads an unquoted { as the beginning of a mapping",
            fix="put quotes around the key",
        )
    return RULE.at(
        fault.place,
        f"a key must be text, this one is {fault.facts.get('found', 'none')}",
        why="keys are names, and a playbook's names are text",
        fix="use a text as the key",
    )
