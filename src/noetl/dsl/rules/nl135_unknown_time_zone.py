"""There is no time zone of that name.

A time zone is named as the IANA table does, by continent and city: `Europe/Berlin`, `America/New_York`; or `UTC`. An
abbreviation such as CEST is no time zone: it is only half of one.

Wrong:

    timezone: Berlin

Right:

    timezone: Europe/Berlin

Spec: PB-01.
"""

from collections.abc import Iterator

from noetl.dsl.findings import Finding
from noetl.dsl.nodes import shorten
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract
from noetl.dsl.rules.start_faults import text_entry
from noetl.dsl.schedule_documents import documents_of_kind
from noetl.dsl.start_shapes import SCHEDULE
from noetl.dsl.time_zones import advice, is_time_zone

RULE = contract.Rule(code="NL135", name="unknown-time-zone", spec=("PB-01",), is_of_text=True)


def check(reading: Reading) -> Iterator[Finding]:
    for root in documents_of_kind(reading, SCHEDULE):
        node = text_entry(root.mapping("spec"), "timezone")
        if node is not None and not is_time_zone(node.text):
            message = f'there is no time zone "{shorten(node.text)}"'
            yield RULE.at(node.place, message, why="time zones are named as in the IANA table", fix=advice(node.text))
