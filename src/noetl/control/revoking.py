"""Jobs that a commit took from their workers: each worker is told at once, by whatever way leads there.

It may be lost: whoever does not hear it learns it by heartbeat (protocol §7, rule 3).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from noetl.engine.commands import Key
from noetl.stores.shared import Revoked

Tell = Callable[[str, list[tuple[Key, int]]], Awaitable[None]]


def revoking(tell: Tell) -> Callable[[list[Revoked]], None]:
    """What to call with those that were taken; `tell` is called for each worker, and nobody waits for it."""
    under_way: set[asyncio.Task[None]] = set()

    def revoke(revoked: list[Revoked]) -> None:
        by_worker: dict[str, list[tuple[Key, int]]] = {}
        for one in revoked:
            by_worker.setdefault(one.worker, []).append((one.key, one.lease))
        for worker, held in by_worker.items():
            task = asyncio.ensure_future(tell(worker, held))
            under_way.add(task)
            task.add_done_callback(under_way.discard)

    return revoke
