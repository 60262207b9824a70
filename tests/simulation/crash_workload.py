"""What is recorded for crash images: executions of every kind, in a process that is ended midway and one after it.

Checkpoints come after a few KiB instead of 16 MiB, and batches of a few events go to a thread, so that a short
recording has what a long one would have. All else is as it always is.
"""

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from noetl.control.live import folded
from noetl.control.requests import Nobody, RunRequest
from noetl.embedded import Embedded
from noetl.engine.events import Event, encode
from noetl.stores import sqlite, sqlite_database
from noetl.stores.contract import Record
from noetl.testing.crash_images import Trace, recording
from noetl.testing.waiting import WAIT_SECONDS_MAX
from tests.control.parts import text_of
from tests.simulation.crash_parts import all_ended, at_work, started

CHECKPOINT_BYTES = 200_000
EVENTS_ON_LOOP_MAX = 12
COMMITS_BEFORE_THE_STOP = 20  # of some 25 that the first process would make
COMMITTED, REGISTERED, RECORDED, CANCELLED = "committed", "registered", "recorded", "cancelled"

ORDERS = """
    executor: {spec: {policy: {limits: {max_payload_bytes: 4096}}}}
    workflow:
      - step: each
        loop: {in: "{{ range(12) }}", iterator: n, spec: {mode: parallel, max_in_flight: 4}}
        tool: {kind: noop, input: {n: "{{ iter.n }}", text: "{{ 'order ' * (100 * iter.n) }}"}}
        next: {arcs: [{step: large}]}
      - step: large
        tool: {kind: noop, input: {text: "{{ 'large ' * 3000 }}", of: "{{ execution_id }}"}}
        next: {arcs: [{step: again}]}
      - step: again
        tool:
          - name: often
            kind: noop
            spec: {policy: {rules: [{when: "{{ _attempt < 3 }}", then: {do: retry, attempts: 3, delay: 0}}]}}
        set: {ctx.seen: "{{ each.loop.done }}"}
"""
CHAIN = """
    workflow:
      - {step: a, tool: {kind: noop, input: {n: 1}}, set: {ctx.a: 1}, next: {arcs: [{step: b}]}}
      - {step: b, tool: {kind: noop, input: {n: 2}}, set: {ctx.b: 2}, next: {arcs: [{step: c}]}}
      - {step: c, tool: {kind: noop, input: {n: 3}}, set: {ctx.c: 3}, next: {arcs: [{step: d}]}}
      - {step: d, tool: {kind: noop, input: {n: 4}}, set: {ctx.d: 4}}
"""
CALLER = """
    workflow:
      - step: call
        tool: {kind: playbook, path: crash/child}
        set: {ctx.got: "{{ output.status }}"}
"""
GATED = """
    workflow:
      - step: gate
        spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ ctx.go }}", then: {allow: true}},
                                                       {else: {then: {allow: false}}}]}}}
        tool: {kind: noop, input: {through: true}}
"""
PATIENT = """
    workflow: [{step: only, tool: [{name: long, kind: noop,
      spec: {policy: {rules: [{else: {then: {do: retry, attempts: 1000, delay: 1000}}}]}}}]}]
"""
GATED_KEY, PATIENT_KEY = "gated", "patient"
OPENING = {"ctx.go": True}


HOME = "home"  # a folder that is not there at first, as on the first day
FULL, OFF = "synchronous=FULL", "synchronous=OFF"


class Recording(NamedTuple):
    """What was done, and what came of it when nothing failed."""

    trace: Trace
    logs: dict[int, list[bytes]]
    ends: dict[int, tuple[str, dict[str, Any]]]  # status and ctx


class Noting(Nobody):
    """Notes what is told to whoever watches: it stands."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.commits = 0
        self.is_enough = asyncio.Event()

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None:
        self.commits += 1
        if self.commits == COMMITS_BEFORE_THE_STOP:
            self.is_enough.set()
        self.trace.acknowledge(COMMITTED, execution_id, first_seq + len(events) - 1)


async def recorded(folder: Path, synchronous: str = FULL) -> Recording:
    """Do the work once, in an empty folder. `synchronous`: OFF, to see that images can tell."""
    writer_settings = tuple(synchronous if one == FULL else one for one in sqlite_database.WRITER_SETTINGS)
    with pytest.MonkeyPatch.context() as patch, recording(folder) as trace:
        patch.setattr(sqlite_database, "WRITER_SETTINGS", writer_settings)
        patch.setattr(sqlite, "CHECKPOINT_BYTES", CHECKPOINT_BYTES)
        noting, home = Noting(trace), folder / HOME
        async with at_work(home, [], noting) as parts:
            await _begin(parts, noting)
        patch.setattr(sqlite, "EVENTS_ON_LOOP_MAX", EVENTS_ON_LOOP_MAX)
        async with at_work(home, [], noting) as parts:
            await _go_on(parts, trace)
            logs, ends = await _outcome(parts)
    return Recording(trace, logs, ends)


async def _begin(parts: Embedded, noting: Noting) -> None:
    """The first process: it ends while its executions are under way."""
    entry = await parts.desk.register(RunRequest(data=text_of(CHAIN, "crash/child"), name="child.yaml"))
    noting.trace.acknowledge(REGISTERED, entry.path, entry.sha)
    await _record(parts, noting.trace, version=0)
    await started(parts, GATED, "crash/gated", GATED_KEY)
    await started(parts, PATIENT, "crash/patient", PATIENT_KEY)
    await started(parts, ORDERS, "crash/orders", "orders-1")
    await started(parts, CALLER, "crash/caller", "caller-1")
    await started(parts, ORDERS, "crash/orders", "orders-2")
    await asyncio.wait_for(noting.is_enough.wait(), WAIT_SECONDS_MAX)


async def _go_on(parts: Embedded, trace: Trace) -> None:
    """The second one: it takes up what the first left, and comes to the end of everything."""
    await parts.take_up_all()
    await _record(parts, trace, version=1)
    await started(parts, CALLER, "crash/caller", "caller-2")
    await started(parts, CHAIN, "crash/chain", "chain-1")
    await parts.desk.signal((await under(parts, GATED_KEY)), OPENING)
    patient = await under(parts, PATIENT_KEY)
    await parts.desk.cancel(patient, "enough")
    trace.acknowledge(CANCELLED, patient)
    await all_ended(parts)


async def _record(parts: Embedded, trace: Trace, version: int) -> None:
    record = Record(room="crash", name="one", version=version, body=b"{}" * (version + 1))
    assert await parts.store.put_record(record)
    trace.acknowledge(RECORDED, record.name, version + 1)


async def under(parts: Embedded, request_key: str) -> int:
    """The execution of a request key."""
    row = await parts.store.execution_by_request(request_key)
    assert row is not None
    return row.id


async def _outcome(parts: Embedded) -> tuple[dict[int, list[bytes]], dict[int, tuple[str, dict[str, Any]]]]:
    rows = await parts.store.executions(limit=1000)
    logs = {row.id: [encode(event) for _, event in await parts.store.events(row.id, limit=100_000)] for row in rows}
    return logs, {row.id: (row.status, (await folded(parts.store, row.id)).ctx) for row in rows}
