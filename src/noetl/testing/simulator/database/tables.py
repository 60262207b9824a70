"""The tables of a simulated database, as they are committed, and how to take the last transactions back.

Rows are values: a change puts another row in its place, and the journal keeps the one that was there. So a transaction
that fails half-way leaves nothing, and one that stood can be unmade (`rewind`), whatever it wrote. Everything outside
reads the tables as they are; whoever writes does it within `transact`, in one go: nothing here ever waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import msgspec

from noetl.engine.commands import Key
from noetl.stores.contract import Entry, Execution, Record, Snapshot

TRANSACTIONS_KEPT = 8  # that can be taken back
ABSENT = object()  # what a row was before it was put in
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")
# (dictionary, key, the value that was there), or (list, how long it was, ABSENT)
Step = tuple[dict[Any, Any] | list[Any], Any, object]


class ExecutionRow(msgspec.Struct, frozen=True, kw_only=True):
    """An execution, and what only the servers know of it."""

    execution: Execution
    tag: int
    deadline_at: float | None = None
    follow_until: float | None = None
    exported: int = 0


class Job(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    pool: str
    priority: int
    state: int
    group: int
    lease: int  # the last one; below 0: it was given back, and no report counts under it
    deliveries: int
    last_report: int
    worker: str
    lease_until: float
    ready_at: float
    child_key: str  # "": it waits for none


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """Who has a local loop."""

    worker: str
    until: float


class Tables:
    """See above. The checker reads these attributes; a world may spoil `snapshots`, which are only a cache."""

    def __init__(self) -> None:
        self.executions: dict[int, ExecutionRow] = {}
        self.logs: dict[int, list[tuple[bytes, int]]] = {}  # body and tag; seq is the place, from 1
        self.jobs: dict[Key, Job] = {}
        self.holdings: dict[tuple[int, int], Holding] = {}  # by execution and group
        self.records: dict[tuple[str, str], Record] = {}  # by room and name
        self.entries: dict[str, list[Entry]] = {}  # a path's versions, oldest first
        self.snapshots: dict[int, Snapshot] = {}
        self.meta: dict[str, int] = {"execution_id": 0}  # the last id that was given
        # Indexes.
        self.ids: dict[tuple[str, str], int] = {}  # by what only one execution may have: ("request" or "parent", key)
        self.iterations: dict[tuple[int, int], list[tuple[int, int]]] = {}  # (execution, run): those done, by seq
        self.endings: dict[tuple[int, int, int, int], int] = {}  # (execution, run, iter, lease): the seq of its last
        self.number = 0  # of the last transaction that wrote something; a number is never given twice
        self._steps: list[Step] = []
        self._journal: deque[tuple[int, list[Step]]] = deque(maxlen=TRANSACTIONS_KEPT)

    # --- writing -----------------------------------------------------------------------------------------------------

    def transact(self, work: Callable[[], T]) -> T:
        """Do all of it, or nothing."""
        try:
            done = work()
        except BaseException:
            steps, self._steps = self._steps, []
            _unmake(steps)
            raise
        if self._steps:
            self.number += 1
            self._journal.append((self.number, self._steps))
            self._steps = []
        return done

    def put(self, table: dict[K, V], key: K, value: V) -> None:
        self._steps.append((table, key, table.get(key, ABSENT)))
        table[key] = value

    def remove(self, table: dict[K, V], key: K) -> None:
        self._steps.append((table, key, table.pop(key)))

    def extend(self, table: dict[K, list[V]], key: K, more: Iterable[V]) -> None:
        """Put more at the end of a list."""
        there = table.get(key)
        if there is None:
            there = []
            self.put(table, key, there)
        self._steps.append((there, len(there), ABSENT))
        there.extend(more)

    # --- taking back -------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """What stands now is not taken back any more: every replica has it."""
        self._journal.clear()

    def rewind(self, transactions: int) -> int:
        """Take the last ones back, as far as they are kept. What has a higher number than this gives stands no more."""
        last_standing = self.number
        for _ in range(min(transactions, len(self._journal))):
            number, steps = self._journal.pop()
            _unmake(steps)
            last_standing = number - 1
        return last_standing


def _unmake(steps: list[Step]) -> None:
    for place, key, before in reversed(steps):
        if isinstance(place, list):
            del place[key:]
        elif before is ABSENT:
            place.pop(key, None)  # a snapshot may have been lost since
        else:
            place[key] = before
