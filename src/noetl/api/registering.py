"""A text that somebody wants kept or run: it must be one that their token may put there."""

from __future__ import annotations

import asyncio

from noetl.api.operations import Call
from noetl.api.sight import demand_sight
from noetl.control.catalog import Text, playbook_of
from noetl.control.requests import RunRequest


async def check_sight_of_text(call: Call, request: RunRequest) -> None:
    """Raises Forbidden where a text, or one that comes along with it, is outside the path of the token."""
    if not call.identity.path_prefix or request.data is None:
        return
    flags = {"is_legacy": request.is_legacy, "is_upstream": request.is_upstream}
    texts = [Text(data=request.data, name=request.name, **flags)]
    texts += [Text(data=data.encode(), name=name) for name, data in request.beside.items()]
    for text in texts:
        playbook = await asyncio.to_thread(playbook_of, text, call.parts.catalog.kinds)
        demand_sight(call, playbook.path)
