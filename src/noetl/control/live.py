"""Executions in memory: the state of each one that is under way, rebuilt from its log when it is not there.

A state in memory never runs ahead of its log for others to see: the pump changes it within a batch, and forgets it
(`forget`) whenever a batch fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from noetl.buggify import buggify
from noetl.control.catalog import Catalog, Loaded
from noetl.control.reading import EVENTS_PER_READ
from noetl.engine.apply import apply
from noetl.engine.events import Event
from noetl.engine.state import ENGINE_VERSION, State, read
from noetl.errors import UnknownExecution
from noetl.references import reference_of
from noetl.results.contract import Results
from noetl.stores.contract import Store

if TYPE_CHECKING:
    from noetl.stores.shared import Head  # of several servers: one process by itself starts without it


class Live(msgspec.Struct, kw_only=True):
    """An execution under way."""

    state: State
    loaded: Loaded
    folder: str = ""
    tag: int = 0  # of the append that this state ends with, where several servers write


@runtime_checkable
class SharedReading(Protocol):
    """What a store has that several servers write to."""

    async def tag_at(self, execution_id: int, seq: int) -> int | None: ...


class Executions:
    """The executions of this process."""

    def __init__(self, store: Store, catalog: Catalog, results: Results, kept_max: int = 0) -> None:
        self.store = store
        self.catalog = catalog
        self.results = results
        self.kept_max = kept_max  # 0: all; else those that were used last, and the log has the others
        self._live: dict[int, Live] = {}
        self._dropped: set[int] = set()  # not ended, but only their logs know how far they are

    def add(self, live: Live) -> None:
        self._live[live.state.execution_id] = live
        self._dropped.discard(live.state.execution_id)

    def trim(self) -> None:
        """Forget those that were not used for longest. Not within a batch: what it holds must stay."""
        kept_max = 1 if buggify("executions.forget") else self.kept_max
        while kept_max and len(self._live) > kept_max:
            del self._live[next(iter(self._live))]

    def known(self, execution_id: int) -> Live | None:
        """An execution, if it is in memory."""
        return self._live.get(execution_id)

    def use(self, live: Live) -> None:
        """It was used last, and is forgotten after all others."""
        self._live[live.state.execution_id] = self._live.pop(live.state.execution_id, live)

    def is_going_on(self, execution_id: int) -> bool:
        """Whether it is in memory, or would be if no batch had failed."""
        return execution_id in self._live or execution_id in self._dropped

    def forget(self, execution_id: int) -> None:
        """It has ended, or others have gone on with it."""
        self._live.pop(execution_id, None)
        self._dropped.discard(execution_id)

    def drop(self, execution_id: int) -> None:
        """Memory may be ahead of its log: whoever asks for it next has it from there."""
        is_ours_alone = not self.kept_max  # else every batch reads what it is about
        if self._live.pop(execution_id, None) is not None and is_ours_alone:
            self._dropped.add(execution_id)

    async def get(self, execution_id: int) -> Live:
        """An execution, from memory or from its log."""
        found = self._live.get(execution_id)
        if found is None:
            rebuilt = await self.rebuilt(execution_id, [])
            found = self._live.setdefault(execution_id, rebuilt)  # a pump may have brought it up meanwhile
            self._dropped.discard(execution_id)
        return found

    async def rebuilt(self, execution_id: int, further: list[Event]) -> Live:
        """An execution from its log, and from events that are decided but not committed yet."""
        row = await self.store.execution(execution_id)
        if row is None and not further:
            raise UnknownExecution(execution_id, self.store.name)
        state = await folded(self.store, execution_id)
        for event in further:
            apply(state, event)
        await self._fetch_workload(state)
        loaded = await self.catalog.loaded(row.sha if row else state.sha, state.planned)
        return Live(state=state, loaded=loaded, folder=row.folder if row else "")

    async def catch_up(self, head: Head) -> Live:
        """An execution as its log is now, when other servers may have written to it (protocol §5, step 3)."""
        found = self._live.pop(head.id, None)
        if found is None or (found.state.seq, found.tag) != (head.head, head.tag):
            found = await self._brought_up(found, head) or await self.rebuilt(head.id, [])
            found.tag = head.tag
        self._live[head.id] = found  # at the end: it was used last
        return found

    async def _brought_up(self, found: Live | None, head: Head) -> Live | None:
        """What is in memory and the events since; None: that is of a history which is no more."""
        store = self.store
        if found is None or not 0 < found.state.seq <= head.head or not isinstance(store, SharedReading):
            return None
        if await store.tag_at(head.id, found.state.seq) != found.tag:
            return None
        plans = len(found.state.planned)
        while (missing := head.head - found.state.seq) > 0:
            rows = await store.events(head.id, found.state.seq, min(missing, events_per_read()))
            if not rows:
                return None
            for _, event in rows:
                apply(found.state, event)
        if len(found.state.planned) != plans:
            found.loaded = await self.catalog.loaded(found.state.sha, found.state.planned)
        return found

    async def _fetch_workload(self, state: State) -> None:
        """A large workload is kept outside the log, and every template may read it."""
        known = self._live.get(state.execution_id)
        reference = reference_of(state.workload_ref)
        if known is not None and known.state.workload:
            state.workload = known.state.workload
        elif reference is not None:
            state.workload = msgspec.json.decode(await self.results.fetch(reference))

    async def complete(self, live: Live) -> None:
        """Fetch what a state that was folded from events needs besides."""
        await self._fetch_workload(live.state)
        if live.state.planned:
            live.loaded = await self.catalog.loaded(live.loaded.text.sha, live.state.planned)

    async def extend(self, live: Live, steps: list[Any]) -> None:
        """Add planned steps to an execution's graph."""
        live.loaded = await self.catalog.loaded(live.state.sha, [*live.state.planned, steps])

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Any:
        return iter(list(self._live.values()))


def events_per_read() -> int:
    return 3 if buggify("log.read_in_threes") else EVENTS_PER_READ


async def newest_snapshot(store: Store, execution_id: int) -> State:
    """Where folding may begin: the newest snapshot of this engine, or nothing. It is a cache, and may be missing."""
    snapshot = await store.snapshot(execution_id)
    if snapshot is None or snapshot.engine != ENGINE_VERSION:
        return State(execution_id=execution_id)
    return read(snapshot.body)


async def folded(store: Store, execution_id: int, until: int | None = None) -> State:
    """The state after a log, or after its first `until` events (EV-05)."""
    state = State(execution_id=execution_id) if until is not None else await newest_snapshot(store, execution_id)
    while until is None or state.seq < until:
        limit = events_per_read()
        if until is not None:
            limit = min(limit, until - state.seq)
        rows = await store.events(execution_id, state.seq, limit)
        for _, event in rows:
            apply(state, event)
        if len(rows) < limit:
            break
    return state
