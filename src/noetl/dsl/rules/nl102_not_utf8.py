"""The file holds bytes that are not UTF-8 text.

A playbook is text in UTF-8. A byte that does not belong to any UTF-8 character mostly means that the file was saved in
another encoding (Windows-1252, UTF-16), or is no text at all.

Wrong:

    metadata:
      description: caf<0xe9>

Right:

    metadata:
      description: café

Spec: PB-02.
"""

from collections.abc import Iterator

from noetl.dsl.findings import Finding
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL102", name="not-utf8", spec=("PB-02",), is_of_text=True)


def check(reading: Reading) -> Iterator[Finding]:
    for fault in reading.faults:
        if fault.fault == "not-utf8":
            yield RULE.at(
                fault.place,
                f"the byte {fault.facts.get('byte', '')} is not UTF-8",
                why="a playbook is read as UTF-8, and no character of it begins or goes on with this byte",
                fix="save the file as UTF-8",
            )
