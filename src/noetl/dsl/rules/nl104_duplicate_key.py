"""A mapping has the same key twice.

YAML readers disagree about which of the two counts, and one of them is lost without a word. So both are refused: one
of them has to go or get another name.

Wrong:

    kind: http
    method: GET
    url: https://example.com/items
    method: POST

Right:

    kind: http
    method: POST
    url: https://example.com/items

Spec: PB-02.
"""

from collections.abc import Iterator

from noetl.dsl.findings import Finding
from noetl.dsl.nodes import shorten
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL104", name="duplicate-key", spec=("PB-02",), is_of_text=True)


def check(reading: Reading) -> Iterator[Finding]:
    for fault in reading.faults:
        if fault.fault == "duplicate-key":
            key, line = shorten(fault.facts.get("key", "")), fault.facts.get("line", "")
            yield RULE.at(
                fault.place,
                f'the key "{key}" stands here a second time; the first is on line {line}',
                why="a mapping has each key once, and only one of the two values could count",
                fix="write one << with a list: <<: [*first, *second]"
                if key == "<<"
                else "delete one of them, or join their values",
            )
