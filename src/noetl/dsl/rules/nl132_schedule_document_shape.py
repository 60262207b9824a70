"""A Schedule document is not written as one.

It has `apiVersion: noetl.io/v2`, `kind: Schedule`, `metadata.name`, and a `spec` that names a playbook of the catalog
and when it is started: by `cron`, or `every` so often. Everything else has a usual value: `timezone: UTC`,
`overlap: skip`, `catch_up: last`. The payload is data and holds no templates.

Wrong:

    apiVersion: noetl.io/v2
    kind: Schedule
    metadata: { name: nightly }
    spec:
      playbook: reports/daily
      cron: "30 2 * * *"
      overlaps: skip

Right:

    apiVersion: noetl.io/v2
    kind: Schedule
    metadata: { name: nightly }
    spec:
      playbook: { path: reports/daily }
      cron: "30 2 * * *"
      overlap: skip

Spec: PB-01.
"""

from collections.abc import Iterator
from datetime import UTC

from noetl.dsl.findings import Finding
from noetl.dsl.nodes import Mapping, describe
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract
from noetl.dsl.rules.start_faults import Fault, both, start_findings, text_entry
from noetl.dsl.schedule_documents import every_seconds, moment_of
from noetl.dsl.start_shapes import ALL, SCHEDULE

RULE = contract.Rule(code="NL132", name="schedule-document-shape", spec=("PB-01",), is_of_text=True)

TIMES = "a schedule is due by cron, at times of the clock, or every so often"


def check(reading: Reading) -> Iterator[Finding]:
    return start_findings(RULE, reading, SCHEDULE, of_spec)


def of_spec(spec: Mapping) -> Iterator[Fault]:
    yield from of_times(spec)
    yield from of_period(spec)
    entry = spec.entries.get("catch_up_max")
    if entry and spec.text("catch_up") != ALL:
        why = "it bounds how many of the times that were missed are made up for"
        yield Fault(
            entry.key, "catch_up_max is read with catch_up: all only", why, f"add catch_up: {ALL}, or delete it"
        )


def of_times(spec: Mapping) -> Iterator[Fault]:
    given = both(spec, "cron", "every")
    if not given:
        yield Fault(spec, "the schedule does not say when it is due", TIMES, 'add cron: "30 2 * * *", or every: 5m')
    elif len(given) > 1:
        yield Fault(given[1].key, "the schedule has both cron and every", TIMES, "delete one of them")
    every = text_entry(spec, "every")
    if every is not None and every_seconds(every.value) is None:
        message = f"every cannot be read: found {describe(every)}"
        yield Fault(
            every, message, "it is whole seconds, minutes, hours or days, up to 366 days", "write 30s, 5m, 2h or 1d"
        )


def of_period(spec: Mapping) -> Iterator[Fault]:
    """start_at and end_at: times, and in this order."""
    found = {}
    for key in ("start_at", "end_at"):
        node = text_entry(spec, key)
        moment = moment_of(node.text) if node is not None else None
        if node is not None and moment is None:
            why = "it is a date and a time, in the schedule's time zone or with an offset"
            yield Fault(node, f"{key} is no time: found {describe(node)}", why, "write 2026-03-01T08:00:00")
        elif node is not None and moment is not None:
            # Without an offset both are in one zone, so they compare as they stand; mixed ones as if in UTC.
            found[key] = (node, moment.replace(tzinfo=moment.tzinfo or UTC))
    if len(found) == 2 and found["end_at"][1] <= found["start_at"][1]:
        node = found["end_at"][0]
        yield Fault(node, "end_at is not after start_at", "the schedule would never be due", "write a later time")
