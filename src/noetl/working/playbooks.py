"""Playbooks on a worker: a sha comes in, the playbook that a job runs goes out, fetched from a server and parsed once.

It was checked when it was registered, so it is not checked again; that it is the text that was meant is. Steps that a
planner added to one execution are added here as the server added them.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from noetl.control.catalog import Loaded, Text, known_playbook
from noetl.control.planning import extended
from noetl.dsl.kinds import Kinds
from noetl.dsl.model import Playbook
from noetl.engine.net import Net
from noetl.errors import InternalError
from noetl.queues.contract import PlaybookText

PLAYBOOKS_MAX = 256  # kept parsed at once
ROW_BYTES_MAX = 512 * 1024  # of one event, whatever a playbook allows: it must fit into a message

Fetch = Callable[[str], Awaitable[PlaybookText]]


class FetchedPlaybooks:
    """See above. Called with a sha and the planned steps. Raises Unreachable, LookupError, InternalError."""

    def __init__(self, fetch: Fetch, kinds: Kinds) -> None:
        self._fetch = fetch
        self._kinds = kinds
        self._loaded: OrderedDict[str, Loaded] = OrderedDict()
        self._turn = asyncio.Lock()  # a hundred jobs of one playbook fetch it once

    async def __call__(self, sha: str, planned: list[list[Any]]) -> Playbook:
        key = hashlib.sha256(sha.encode() + msgspec.json.encode(planned)).hexdigest() if planned else sha
        found = self._loaded.get(key)
        if found is None:
            async with self._turn:
                found = self._loaded.get(key) or await self._made(key, sha, planned)
        self._loaded.move_to_end(key)
        return found.playbook

    async def _made(self, key: str, sha: str, planned: list[list[Any]]) -> Loaded:
        loaded = self._loaded.get(sha) or self._keep(sha, await self._parsed(sha))
        return self._keep(key, extended(loaded, planned, self._kinds)) if planned else loaded

    async def _parsed(self, sha: str) -> Loaded:
        given = await self._fetch(sha)
        text = Text(data=given.data, name=given.name, is_legacy=given.is_legacy, is_upstream=given.is_upstream)
        if text.sha != sha:
            raise InternalError(f"a server gave another playbook than the one with sha {sha[:12]}…")
        playbook = bounded(known_playbook(text, self._kinds))
        return Loaded(playbook, Net(playbook), text)

    def _keep(self, key: str, loaded: Loaded) -> Loaded:
        self._loaded[key] = loaded
        while len(self._loaded) > PLAYBOOKS_MAX:
            self._loaded.popitem(last=False)
        return loaded


def bounded(playbook: Playbook) -> Playbook:
    """The playbook with rows that can be sent: what does not fit goes to the result store, as any large value does."""
    settings = playbook.settings
    rows = min(settings.max_payload_bytes, ROW_BYTES_MAX)
    return msgspec.structs.replace(playbook, settings=msgspec.structs.replace(settings, max_payload_bytes=rows))
