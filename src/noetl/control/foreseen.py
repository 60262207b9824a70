"""Which batches can be decided before anything is locked: those of which memory knows what the store would say.

Operations and their fences in; the heads that memory has, or None. It is a guess, and only its speed depends on its
being right: the transaction that writes what was decided proves head, tag and lease of all of it under its locks, and
stands only then. A guess that was wrong costs reading a log again. So an execution that others write to, too, is left
alone for a while.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from noetl.buggify import buggify
from noetl.control.handing_out import HandingOut
from noetl.control.live import Executions, Live
from noetl.engine.commands import Operation, Report, Start
from noetl.stores.contract import RUNNING
from noetl.stores.shared import Fence, Head

DOUBTED_BATCHES = 1_000
DOUBTED_MAX = 10_000  # executions


class Foreseen(msgspec.Struct, frozen=True):
    """What a batch is about, as memory has it."""

    lives: list[Live]
    seen: list[Head]
    fences: list[Fence]


class Foresight:
    """See above; of one pump."""

    def __init__(self, executions: Executions, handing: HandingOut) -> None:
        self._executions = executions
        self._handing = handing
        self._doubted: dict[int, int] = {}  # for so many batches

    def of(self, operations: Sequence[Operation], fences: list[Fence]) -> Foreseen | None:
        """None: it must be asked. Each report of another lease: of two under one, the store says which counts."""
        reports = [one for one in operations if isinstance(one, Report)]
        starts = sum(isinstance(one, Start) for one in operations)
        if not fences or len(fences) != len(reports) or len(reports) + starts != len(operations):
            return None
        if buggify("pump.careful") or not all(self._handing.has_given(one.lease) for one in fences):
            return None
        lives = [self._live(execution_id) for execution_id in {one.execution_id: None for one in reports}]
        found = [live for live in lives if live is not None]
        if len(found) != len(lives):
            return None
        for live in found:
            self._executions.use(live)
        heads = [Head(id=live.state.execution_id, head=live.state.seq, tag=live.tag, status=RUNNING) for live in found]
        return Foreseen(found, heads, fences)

    def _live(self, execution_id: int) -> Live | None:
        if self._doubted and (batches := self._doubted.get(execution_id, 0)):
            if batches > 1:
                self._doubted[execution_id] = batches - 1
            else:
                del self._doubted[execution_id]
            return None
        live = self._executions.known(execution_id)
        return live if live is not None and live.tag and not live.state.is_ended else None

    def compare(self, head: Head) -> None:
        """The store says where a log ends: if somebody else has written to it, that may happen again."""
        known = self._executions.known(head.id)
        if known is not None and (known.state.seq, known.tag) != (head.head, head.tag):
            self.doubt([head.id])

    def doubt(self, execution_ids: Iterable[int]) -> None:
        if len(self._doubted) > DOUBTED_MAX:
            self._doubted.clear()
        self._doubted.update(dict.fromkeys(execution_ids, DOUBTED_BATCHES))
