"""How large a row of the log may be (RS-01): what an author writes has to fit, and a payload that does not is stored.

The limit is the playbook's `limits.max_payload_bytes`, envelope included. The worker stores the payload of a row that
would be too large; whatever else stands in a row is checked here before there is an event.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.dsl.model import Place, Playbook
from noetl.engine.events import Patch
from noetl.engine.state import State
from noetl.engine.values import Fault, check_ctx, fault
from noetl.errors import RequestError

ROW_RESERVE_BYTES = 8 * 1024  # of a row, for all but its payload
ENVELOPE_BYTES = 1024  # of a row, for names and ids that readers see besides the event itself

encode = msgspec.json.Encoder().encode


def row_bytes_max(playbook: Playbook) -> int:
    """How large an event may be."""
    limit = playbook.settings.max_payload_bytes
    return max(limit - ENVELOPE_BYTES, limit // 2)


def payload_bytes_max(playbook: Playbook) -> int:
    """How large a payload may be in an event."""
    limit = playbook.settings.max_payload_bytes
    return max(limit - ROW_RESERVE_BYTES, limit // 2)


def check_written(playbook: Playbook, written: list[Any], place: Place | None = None) -> None:
    """Refuse writes, args or a child's payload that no event can hold."""
    if not any(written):
        return
    size, size_max = len(encode(written)), payload_bytes_max(playbook)
    if size > size_max:
        advice = "store the large value and hand on its reference: set a target named …_ref to output.ref"
        raise fault("limit", f"an event may hold {size_max} bytes of written values, but has {size}; {advice}", place)


def check_fan_out(playbook: Playbook, evaluated: list[Any], place: Place | None = None) -> None:
    """Refuse a fan-out that no event can hold: it names every arc, with what the arc hands on."""
    size = len(encode(evaluated))
    size_max = max(row_bytes_max(playbook), ROW_RESERVE_BYTES)  # a few arcs fit under any limit
    if size > size_max:
        raise fault(
            "limit",
            f"the arcs of one step may take {size_max} bytes of an event, but take {size}; hand on references instead "
            "of values, or loop over one step instead of firing so many arcs",
            place,
        )


def check_signal(state: State, patches: list[Patch], playbook: Playbook) -> None:
    """Refuse a signal that no event can hold, or that would make ctx too large."""
    try:
        check_ctx(state.ctx, patches)
        check_written(playbook, [patches])
    except Fault as problem:
        raise RequestError(f"the signal was refused and nothing was written: {problem}") from None
