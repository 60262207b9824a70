"""A number is out of the range that can be kept, so it is read as text.

Whole numbers have 64 bits, and there is no infinity and no NaN: JSON, PostgreSQL and the event log could not carry
them. What is written as such a number stays the text it was written as. Quotes say that this is meant.

Wrong:

    workload:
      account: 92233720368547758080
      limit: .inf

Right:

    workload:
      account: "92233720368547758080"
      limit: 1000000

Spec: TP-05.
"""

from collections.abc import Iterator

from noetl.dsl.findings import WARNING, Edit, Finding
from noetl.dsl.nodes import shorten
from noetl.dsl.read import Fault, Reading
from noetl.dsl.rules import contract
from noetl.dsl.source import Source

RULE = contract.Rule(code="NL107", name="number-kept-as-text", spec=("TP-05",), severity=WARNING, is_of_text=True)


def check(reading: Reading) -> Iterator[Finding]:
    for fault in reading.faults:
        if fault.fault == "number-kept-as-text":
            yield finding(reading.source, fault)


def finding(source: Source, fault: Fault) -> Finding:
    text = fault.facts.get("text", "")
    start = source.index(fault.place.line, fault.place.column)
    is_there = bool(text) and source.text.startswith(text, start)
    return RULE.at(
        fault.place,
        f"{shorten(text, 40)} is no number that can be kept; it is read as text",
        why="whole numbers have 64 bits, and infinity and NaN are no values",
        fix=f'write "{text}" if text is meant' if len(text) <= 40 else "quote it if text is meant",
        edits=(Edit(start, start + len(text), f'"{text}"'),) if is_there else (),
    )
