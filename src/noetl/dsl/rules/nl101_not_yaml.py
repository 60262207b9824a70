"""The text is not YAML, so nothing of it can be read.

A playbook is YAML. Where the text breaks its grammar, reading stops, and everything after that place is unknown: this
finding comes alone and the rest follow when it is repaired. The most frequent causes are a value that begins with
`{{` and has no quotes, a colon inside an unquoted value, a tab, and a quote or bracket that is not closed.

Wrong:

    url: {{ workload.api_url }}/items
    desc: first step: fetch

Right:

    url: "{{ workload.api_url }}/items"
    desc: "first step: fetch"

Spec: PB-02, TP-01.
"""

from collections.abc import Iterator

from noetl.dsl.findings import Finding
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract
from noetl.dsl.rules.yaml_mistakes import mistake, unquoted_template

RULE = contract.Rule(code="NL101", name="not-yaml", spec=("PB-02", "TP-01"), is_of_text=True)


def check(reading: Reading) -> Iterator[Finding]:
    for fault in reading.faults:
        if fault.fault == "not-yaml":
            found = mistake(reading.source, fault)
        elif fault.fault == "unquoted-template":
            found = unquoted_template(reading.source, fault.place)
        else:
            continue
        place = reading.source.place(found.start, max(found.end, found.start + 1))
        yield RULE.at(place, found.message, why=found.why, fix=found.fix, edits=found.edits)
