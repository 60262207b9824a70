"""A start under a key that stands for an occasion: a due time, a message. It happens once, whoever asks and how often.

The desk refuses a key whose execution runs another playbook than the one asked for now: for a caller who chose the key
that is a mistake. Here it only says that the playbook was registered anew between the first time and this one, and the
execution that is there is the one that counts.
"""

from __future__ import annotations

from typing import NamedTuple

from noetl.control.desk import Desk
from noetl.control.requests import RunRequest
from noetl.errors import RequestError


class Begun(NamedTuple):
    execution_id: int
    is_new: bool


async def start_once(desk: Desk, request: RunRequest) -> Begun:
    """Start, or find what was started under the request's key. Raises as `Desk.start`."""
    existing = await _existing(desk, request)
    if existing is not None:
        return existing
    try:
        started = await desk.start(request)
    except RequestError:
        existing = await _existing(desk, request)  # another server was faster
        if existing is None:
            raise
        return existing
    return Begun(started.execution_id, started.is_new)


async def _existing(desk: Desk, request: RunRequest) -> Begun | None:
    found = await desk.store.execution_by_request(request.request_key) if request.request_key else None
    return Begun(found.id, False) if found else None
