"""A cron expression cannot be read, or names a time that never comes.

Five fields: minute (0-59), hour (0-23), day of month (1-31, L for the last), month (1-12 or JAN-DEC), day of week (0-7
or SUN-SAT, where 0 and 7 are Sunday). In each: `*`, a number, a range `1-5`, a step `*/15`, or a list `0,30`. Where
both days are restricted, either is enough, as cron has always had it. There are no seconds: `every: 30s` is for that.

Wrong:

    cron: "0 30 2 * * *"

Right:

    cron: "30 2 * * *"

Spec: PB-01.
"""

from collections.abc import Iterator

from noetl.dsl.cron import FIELDS, cron_fault
from noetl.dsl.findings import Finding
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract
from noetl.dsl.rules.start_faults import text_entry
from noetl.dsl.schedule_documents import documents_of_kind
from noetl.dsl.start_shapes import SCHEDULE

RULE = contract.Rule(code="NL134", name="unreadable-cron", spec=("PB-01",), is_of_text=True)


def check(reading: Reading) -> Iterator[Finding]:
    for root in documents_of_kind(reading, SCHEDULE):
        node = text_entry(root.mapping("spec"), "cron")
        fault = cron_fault(node.text) if node is not None else None
        if node is not None and fault is not None:
            place = node.place_at(fault.start, fault.length) if fault.length else node.place
            yield RULE.at(place, fault.message, why=f"cron is: {', '.join(FIELDS)}", fix=fault.fix)
