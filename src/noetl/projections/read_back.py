"""Envelopes read back: whoever gets a log over the API folds it with the same code as whoever has the log.

Comes in: an envelope as `projections.envelopes` makes it. Goes out: its event, as far as readers see it: to the
millisecond, and without its lease.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from noetl.engine.events import NAMES, Emitted, Event

KINDS: dict[str, type[Event]] = {name: kind for kind, name in NAMES.items()}


def event_of(envelope: Mapping[str, Any]) -> Event:
    """The event of an envelope; a name that is none of the engine's is an author's own. Raises ValueError."""
    kind = KINDS.get(envelope["name"], Emitted)
    try:
        return msgspec.convert({**envelope["payload"], **numbers_of(envelope), "name": NAMES[kind]}, kind)
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise ValueError(f"this is no event: {error}") from None


def numbers_of(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """When it was, and the numbers that its ids were made of (`noetl.ids`)."""
    numbers: dict[str, Any] = {"ts": datetime.fromisoformat(envelope["timestamp"]).timestamp()}
    if "step_run_id" in envelope:
        numbers["run"] = last_number(envelope["step_run_id"])
    if "iteration_id" in envelope:
        numbers["iter"] = last_number(envelope["iteration_id"])
    if "task_run_id" in envelope:
        numbers |= {"task": envelope["task_label"], "visit": last_number(envelope["task_run_id"])}
        numbers["attempt"] = envelope.get("attempt", 0)
    return numbers


def last_number(name: str) -> int:
    return int(name.rpartition(":")[2])


def seq_of(envelope: Mapping[str, Any]) -> int:
    """Its place in the log."""
    return int(str(envelope["event_id"]).rpartition("-")[2])
