"""The text is larger, deeper or wider than a playbook may be.

A file holds 1 MiB at most, 64 levels, and 100,000 values, with what an alias repeats counted each time. The bounds are
far above what people write; they keep a small file from growing to gigabytes in the server's memory. An alias that
repeats the value it stands in has no end at all.

Wrong:

    workload:
      again: &again
        inside: *again

Right:

    workload:
      again: &again
        inside: 1
      once_more: *again

Spec: TP-05.
"""

from collections.abc import Iterator

from noetl.dsl.findings import Finding
from noetl.dsl.read import BYTES_MAX, DEPTH_MAX, NODES_MAX, Fault, Reading
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL103", name="document-too-large", spec=("TP-05",), is_of_text=True)

WORDS = {
    "bytes": (
        f"the file has {{found}} bytes, {BYTES_MAX:,} are allowed",
        "a playbook is read whole, and its size bounds the memory that takes",
        "move data out of the playbook: into the request's payload, a table or a file that a task reads",
    ),
    "depth": (
        f"values are nested deeper than {DEPTH_MAX} levels here",
        "the depth of a document is bounded",
        "flatten what stands here",
    ),
    "nodes": (
        f"the document has more than {NODES_MAX:,} values, what aliases repeat counted each time",
        "an alias costs as much as writing its value again",
        "use fewer aliases of large values, or move data out of the playbook",
    ),
    "cycle": (
        "an alias below this value repeats the value itself, without end",
        "* repeats the whole value that & marks, so it cannot stand inside that value",
        "take the alias out of the value it repeats",
    ),
}


def check(reading: Reading) -> Iterator[Finding]:
    for fault in reading.faults:
        if fault.fault == "too-large":
            yield finding(fault)


def finding(fault: Fault) -> Finding:
    message, why, fix = WORDS[fault.facts.get("bound", "nodes")]
    return RULE.at(fault.place, message.format(found=fault.facts.get("found", "")), why=why, fix=fix)
