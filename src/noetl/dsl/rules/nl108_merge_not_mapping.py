"""`<<` merges something that is not a mapping.

`<<: *anchor` takes over the keys of the mapping that the anchor marks, or of each mapping in a list. A text, a number
or a list has no keys to take over.

Wrong:

    workload:
      hosts: &hosts [a.example.com, b.example.com]
      retry:
        <<: *hosts

Right:

    workload:
      defaults: &defaults { timeout: 30 }
      retry:
        <<: *defaults

Spec: PB-02.
"""

from collections.abc import Iterator

from noetl.dsl.findings import Finding
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL108", name="merge-not-mapping", spec=("PB-02",), is_of_text=True)


def check(reading: Reading) -> Iterator[Finding]:
    for fault in reading.faults:
        if fault.fault == "merge-not-mapping":
            yield RULE.at(
                fault.place,
                "<< merges a mapping, and this is none",
                why="<< takes over the keys of a mapping, or of each mapping in a list",
                fix="let it name a mapping, or use another key if the value itself is wanted",
            )
