"""The pumps of one server: each has a connection of its own, and an execution always goes to the same one.

From outside they are one pump. Which of them has an execution matters to nobody: lock, tag and lease make it right,
and that one pump has it keeps its state in one memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from noetl.control.intake import Intake
from noetl.control.live import Executions, Live
from noetl.control.turn import Follower
from noetl.engine.commands import Operation
from noetl.errors import STORE_AWAY
from noetl.stores.contract import LIVE
from noetl.stores.shared import Head, SharedStore

# One is decided while the other is written. More would cut what comes together into more transactions, each of which
# costs the server and the store as much as a hundred reports in it.
PUMPS = 2


class Pumps:
    """See above."""

    def __init__(self, store: SharedStore, executions: Executions, pumps: Sequence[Intake]) -> None:
        self.store = store
        self.executions = executions
        self.pumps = pumps

    def of(self, execution_id: int) -> Intake:
        return self.pumps[execution_id % len(self.pumps)]

    def submit(self, operation: Operation) -> asyncio.Future[str]:
        return self.of(operation.execution_id).submit(operation)

    async def submit_all(self, operations: Sequence[Operation]) -> list[str]:
        """Ask for several things at once; the answers in the same order, or one error for all of them."""
        places: dict[int, list[int]] = {}
        for place, operation in enumerate(operations):
            places.setdefault(operation.execution_id % len(self.pumps), []).append(place)
        asked = [self.pumps[pump].submit_all([operations[one] for one in ours]) for pump, ours in places.items()]
        found = [await asked[0]] if len(asked) == 1 else await asyncio.gather(*asked)
        words = [""] * len(operations)
        for ours, theirs in zip(places.values(), found, strict=True):
            for place, word in zip(ours, theirs, strict=True):
                words[place] = word
        return words

    def post(self, operation: Operation, answer: asyncio.Future[str] | None = None) -> None:
        self.of(operation.execution_id).post(operation, answer)

    def follow_with(self, follower: Follower) -> None:
        for pump in self.pumps:
            pump.follower = follower

    @property
    def is_idle(self) -> bool:
        return all(pump.is_idle for pump in self.pumps)

    async def settled(self, execution_ids: Sequence[int], use: Callable[[Live], None]) -> None:
        """Call a function with each of these executions, as its log is now; those that have ended are left out.

        One that cannot be loaded keeps no other from its turn; that it could not is raised afterwards.
        """
        heads = await self.store.heads(execution_ids)
        faults: list[Exception] = []
        for execution_id in execution_ids:
            async with self.of(execution_id).turn:
                try:
                    live = await self._current(heads.get(execution_id))
                except STORE_AWAY:
                    raise
                except Exception as error:
                    faults.append(error)
                    continue
                if live is not None:
                    use(live)
        if faults:
            raise faults[0]

    async def _current(self, head: Head | None) -> Live | None:
        if head is None or head.status not in LIVE:
            return None
        known = self.executions.known(head.id)
        if known is not None and (known.state.seq, known.tag) == (head.head, head.tag):
            return known
        newest = (await self.store.heads([head.id])).get(head.id)  # the log may have grown while we waited our turn
        return await self.executions.catch_up(newest) if newest is not None and newest.status in LIVE else None
