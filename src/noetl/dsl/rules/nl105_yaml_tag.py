"""A value carries a YAML tag, and a playbook has none.

Tags (`!include`, `!!python/object`, `!vault`) ask the reader to make something special of a value. A playbook is plain
data, so that every reader sees the same and none runs anything. A text that looks like a number is quoted instead of
tagged with `!!str`.

Wrong:

    workload:
      zip_code: !!str 01234

Right:

    workload:
      zip_code: "01234"

Spec: PB-02, TP-05.
"""

import re
from collections.abc import Iterator

from noetl.dsl.findings import Edit, Finding
from noetl.dsl.read import Fault, Reading
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import quoted
from noetl.dsl.source import Source

RULE = contract.Rule(code="NL105", name="yaml-tag", spec=("PB-02", "TP-05"), is_of_text=True)

STANDARD = "tag:yaml.org,2002:"
WRITTEN = re.compile(r"!\S*")
TAGGED_TEXT = re.compile(r"!!str[ \t]+([^'\"|>&*!\[{#\s][^#\n]*)\Z")


def check(reading: Reading) -> Iterator[Finding]:
    for fault in reading.faults:
        if fault.fault == "yaml-tag":
            yield finding(reading.source, fault)


def finding(source: Source, fault: Fault) -> Finding:
    start = source.index(fault.place.line, fault.place.column)
    end = source.index(fault.place.end_line, fault.place.end_column)
    tag = fault.facts.get("tag", "")
    name = "!!" + tag.removeprefix(STANDARD) if tag.startswith(STANDARD) else tag
    written = WRITTEN.match(source.text, start, end)
    text = TAGGED_TEXT.match(source.text, start, end)
    value = quoted(text.group(1).rstrip()) if text else ""
    return RULE.at(
        source.place(start, written.end()) if written else fault.place,
        f"the tag {name} has no meaning in a playbook",
        why="a playbook is plain data: text, numbers, true, false, null, lists and mappings",
        fix=f"write {value}" if text and len(value) <= 60 else "delete the tag; quote the value if it is meant as text",
        edits=(Edit(start, end, value),) if text else (),
    )
