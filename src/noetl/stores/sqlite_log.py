"""Logs of a SQLite store, read: events by their numbers, and the outputs of a loop's iterations by index.

The store that inherits this brings the connection. A log is read in pages, each a statement of its own that is over
when its page is there (`sqlite.py` says why); of a page only as many blocks are read as it takes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import AbstractContextManager, closing
from typing import Any

from noetl.engine.events import Envelope, Event, LoopIterationDone
from noetl.errors import StoreUnusable
from noetl.stores.sqlite_blocks import BLOCKS, ITERATION_TEXTS, ITERATIONS, events_in

ITERATIONS_PER_PAGE = 500
Block = tuple[int, list[Event]]  # the number of its first event, and its events


class SqliteLog(ABC):
    """See `noetl.stores.contract.Store`."""

    name: str

    async def events(self, execution_id: int, after: int = 0, limit: int = 1000) -> list[tuple[int, Event]]:
        found: list[tuple[int, Event]] = []
        with closing(self._blocks(execution_id, after)) as blocks:
            for first_seq, events in blocks:
                start = max(0, after + 1 - first_seq)  # only the first block can begin before the page
                found.extend(enumerate(events[start:] if start else events, first_seq + start))
                if len(found) >= limit:
                    break
        del found[limit:]
        return found

    async def iteration_outputs(self, execution_id: int, run: int) -> AsyncIterator[tuple[int, Envelope]]:
        index, seq = -1, 0
        while page := self._read(ITERATIONS, execution_id, run, index, seq, ITERATIONS_PER_PAGE):
            outputs = self._outputs_at(execution_id, sorted(seq for _, seq in page))
            for index, seq in page:
                yield index, outputs[seq]

    async def iteration_pages(self, execution_id: int, run: int) -> AsyncIterator[list[tuple[int, bytes | Envelope]]]:
        """The same, some at a time, each as its output or, where that is known without the log, its data as JSON."""
        index, seq = -1, 0
        while page := self._read(ITERATION_TEXTS, execution_id, run, index, seq, ITERATIONS_PER_PAGE):
            outputs = self._outputs_at(execution_id, sorted(seq for _, seq, text in page if text is None))
            yield [(index, outputs[seq] if text is None else text) for index, seq, text in page]
            index, seq, _ = page[-1]

    def _outputs_at(self, execution_id: int, seqs: list[int]) -> dict[int, Envelope]:
        """The outputs of iterations that ended with these events, lowest first: so a block is read once for all."""
        found: dict[int, Envelope] = {}
        first_seq, events = 0, list[Event]()
        for seq in seqs:
            if seq - first_seq >= len(events):
                first_seq, events = self._block_with(execution_id, seq)
            event = events[seq - first_seq]
            if not isinstance(event, LoopIterationDone):
                raise self._lost(execution_id, seq)
            found[seq] = event.output
        return found

    def _block_with(self, execution_id: int, seq: int) -> Block:
        with closing(self._blocks(execution_id, seq - 1)) as blocks:
            found = next(blocks, None)
        if found is None or found[0] > seq:
            raise self._lost(execution_id, seq)
        return found

    def _lost(self, execution_id: int, seq: int) -> StoreUnusable:
        return StoreUnusable(
            f"the store {self.name} has lost event {execution_id}-{seq}, the end of an iteration: "
            "bring it back from a backup"
        )

    def _blocks(self, execution_id: int, after: int) -> Generator[Block, None, None]:
        """Blocks with events after that one, in order; the first may have earlier ones too."""
        with self._rows(BLOCKS, execution_id, after) as rows:
            for last_seq, body in rows:
                events = events_in(body, execution_id, last_seq)
                yield last_seq - len(events) + 1, events

    @abstractmethod
    def _read(self, statement: str, *values: object) -> list[Any]: ...

    @abstractmethod
    def _rows(self, statement: str, *values: object) -> AbstractContextManager[Iterator[Any]]:
        """The same, one row after the other as they are asked for; nothing is read any more when it is left."""
