"""Where a log ends, and whether it is still the log that somebody read: for those who keep what they folded of one.

Events are never changed and never removed; but a failover may lose the last of them, and others are appended in their
place (protocol §5). A log is the one that was read if its head is not before what was read, and the event there is of
the same append. One process alone with its store needs no tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from noetl.ids import is_viewing
from noetl.stores.contract import Execution
from noetl.stores.shared import Head


class Tags(Protocol):
    """What a store has that several servers write to (`stores.shared.SharedStore`)."""

    async def heads(self, ids: Sequence[int]) -> dict[int, Head]: ...

    async def tag_at(self, execution_id: int, seq: int) -> int | None: ...


class LogHeads:
    """Asks a store; `tags`: of one that several servers write to."""

    def __init__(self, tags: Tags | None = None) -> None:
        self._tags = tags

    async def head_of(self, row: Execution) -> Head:
        """Where the log ends; asked for before it is read, so a tag is never newer than what was read."""
        heads = {} if self._tags is None or is_viewing(row.id) else await self._tags.heads([row.id])
        return heads.get(row.id) or Head(id=row.id, head=row.head, tag=0, status=row.status)

    async def follows(self, seq: int, tag: int, head: Head) -> bool:
        """Whether the log is the one that was read up to an event of a tag, and perhaps more."""
        if not seq or self._tags is None or is_viewing(head.id):
            return seq <= head.head
        if seq == head.head:
            return tag == head.tag
        return seq < head.head and await self._tags.tag_at(head.id, seq) == tag
