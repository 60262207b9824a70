"""How large a row of the log may be (RS-01): what an author writes has to fit, and a payload that does not is stored.

The limit is the playbook's `limits.max_payload_bytes`, envelope included. The worker stores the payload of a row that
would be too large; whatever else stands in a row is checked here before there is an event.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.dsl.model import Place, Playbook
from noetl.engine.values import fault

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
