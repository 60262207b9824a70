"""One log's share of a batch: the events that were decided for it, as the store gets them.

A share in; the append, now and then a snapshot, and the fingerprint of a whole state out. Decides nothing.
"""

from __future__ import annotations

import hashlib

import msgspec

from noetl.buggify import buggify
from noetl.control.live import Live
from noetl.engine.decide import row_status
from noetl.engine.events import Event
from noetl.engine.state import ENGINE_VERSION, State, canonical, written
from noetl.stores.contract import Append, Execution, Snapshot

SNAPSHOT_EVENTS = 10_000
SNAPSHOT_EVENTS_FEW = 20  # of a simulator
SNAPSHOT_BYTES_MAX = 4 * 1024 * 1024
encode = msgspec.json.Encoder().encode


class Share(msgspec.Struct):
    """What a batch adds to one log."""

    live: Live
    first_seq: int
    events: list[Event]
    row: Execution | None = None  # of a new execution


def append_of(execution_id: int, share: Share) -> Append:
    state = share.live.state
    return Append(
        execution_id=execution_id,
        first_seq=share.first_seq,
        events=share.events,
        status=row_status(state),
        ended_at=state.ended_at or None,
        digest=digest(state) if state.is_ended else "",
    )


def snapshot_of(share: Share) -> Snapshot | None:
    """A cache of a long log's state, now and then; not of one in which much is in flight over a large ctx."""
    state = share.live.state
    each = SNAPSHOT_EVENTS_FEW if buggify("snapshot.often") else SNAPSHOT_EVENTS
    if state.is_ended or state.seq // each == (share.first_seq - 1) // each:
        return None
    jobs = sum(len(run.jobs) for run in state.runs.values())
    if jobs * len(encode(state.ctx)) > SNAPSHOT_BYTES_MAX:
        return None
    return Snapshot(execution_id=state.execution_id, seq=state.seq, engine=ENGINE_VERSION, body=written(state))


def digest(state: State) -> str:
    """A fingerprint of a whole state: two that fold the same log have the same."""
    return hashlib.sha256(canonical(state)).hexdigest()
