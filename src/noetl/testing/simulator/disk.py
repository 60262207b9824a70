"""The store of a simulated process that has it to itself: what a disk would hold, and what goes wrong around it.

The contents outlive the processes that use them (`Disk`). Each process opens the disk anew; of a process that was
killed nothing more is written, not even what it had asked for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from noetl.stores.contract import Batch, Entry, Execution, Snapshot
from noetl.stores.memory import MemoryStore
from noetl.testing.simulator.nodes import Node

Line = Callable[[str, str, str], Awaitable[None]]


class Disk(MemoryStore):
    """What is durable. `on_commit` is told of every batch that stands, with the node that wrote it."""

    def __init__(self) -> None:
        super().__init__()
        self.on_commit: Callable[[str, Batch], None] = lambda _node, _batch: None

    @property
    def rows(self) -> list[Execution]:
        return list(self._executions.values())

    def bodies(self, execution_id: int) -> list[bytes]:
        """The log as it is kept, event by event."""
        return self._logs.get(execution_id, [])

    def snapshots(self) -> list[Snapshot]:
        return list(self._snapshots.values())

    def texts(self) -> list[Entry]:
        return [entry for versions in self._entries.values() for entry in versions]

    def lose_snapshot(self, hard: float) -> None:
        if self._snapshots:
            keys = list(self._snapshots)
            del self._snapshots[keys[int(hard * len(keys)) % len(keys)]]


class OpenDisk:
    """A disk, as one process has it open. Every call may be slow, fail, or be done without anybody being told."""

    def __init__(self, disk: Disk, node: Node, line: Line) -> None:
        self.name = "disk"
        self._disk = disk
        self._node = node
        self._line = line

    def __getattr__(self, call: str) -> Any:
        deed = getattr(self._disk, call)

        async def done(*given: Any, **named: Any) -> Any:
            await self._line(self._node.name, call, "before")
            answer = await deed(*given, **named)
            await self._line(self._node.name, call, "after")
            return answer

        setattr(self, call, done)
        return done

    async def commit(self, batch: Batch) -> None:
        await self._line(self._node.name, "commit", "before")
        await self._disk.commit(batch)
        self._disk.on_commit(self._node.name, batch)
        await self._line(self._node.name, "commit", "after")

    def iteration_outputs(self, execution_id: int, run: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
        return self._disk.iteration_outputs(execution_id, run)

    async def close(self) -> None:
        """The disk stays."""
