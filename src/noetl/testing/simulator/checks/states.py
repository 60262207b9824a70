"""I8 and I10: what a log folds to, compared with ctx as its patches give it and with every state that there is.

Logs are read as bytes and folded on from where the last look ended, so that a look costs what is new. A server's cache
is compared when it claims to be current; a snapshot with the events after it must give the same; an ended execution
the digest in its row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from noetl.engine.apply import apply
from noetl.engine.events import decode
from noetl.engine.state import ENGINE_VERSION, State, canonical, read
from noetl.errors import NoetlError
from noetl.stores.contract import LIVE, Snapshot
from noetl.testing.simulator.case import Violation
from noetl.testing.simulator.checks.log_book import LogBook
from noetl.testing.simulator.checks.view import Row, View

UNFOLDABLE = (NoetlError, LookupError, AttributeError, TypeError, ValueError, AssertionError)
Look = Callable[[int, bytes], None]  # at the body of one event


class Cached(Protocol):
    """An execution in a server's memory (control.live.Live)."""

    state: State
    tag: int


class Replays:
    """States as the logs give them. `look` sees every body once."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._states: dict[int, State] = {}
        self._canonical: dict[int, tuple[int, bytes]] = {}  # at which seq, and what
        self._snapshots: dict[int, int] = {}  # which was compared last
        self._ended: set[int] = set()

    def check(self, view: View, books: Mapping[int, LogBook], caches: Iterable[tuple[str, Iterable[Cached]]]) -> None:
        """Every log, then every cache and every snapshot."""
        for row in view.rows():
            book = books.get(row.execution.id)
            if book is None:
                raise Violation("I1", f"execution {row.execution.id} is listed, but was never committed")
            self._check_log(view, row, book)
        for name, cache in caches:
            for live in cache:
                self._check_cached(name, live, view.row(live.state.execution_id))
        for snapshot in view.snapshots():
            self._check_snapshot(view, snapshot)

    def rewound(self) -> None:
        """History is shorter: fold it anew."""
        self._states.clear()
        self._canonical.clear()
        self._snapshots.clear()
        self._ended.clear()

    # --- logs --------------------------------------------------------------------------------------------------------

    def _check_log(self, view: View, row: Row, book: LogBook) -> None:
        execution = row.execution
        if execution.id in self._ended:
            return
        state = self._folded(view, execution.id)
        if not state.seq == execution.head == book.head:
            message = f"{book.head} events were committed, its row says {execution.head}, and its log has {state.seq}"
            raise Violation("I13", f"execution {execution.id}: {message}", execution.id, state.seq)
        if execution.status != book.status:
            book.fail("I10", f"its row says {execution.status}, its log {book.status}")
        if state.ctx != book.ctx:
            book.fail("I8", f"ctx is {state.ctx}, but its patches give {book.ctx}")
        _check_size(state, book)
        if execution.status not in LIVE:
            self._ended.add(execution.id)
            if hashlib.sha256(self._written(state)).hexdigest() != execution.digest:
                book.fail("I10", "the state that was recorded at its end is not the one that its log gives")

    def _folded(self, view: View, execution_id: int) -> State:
        state = self._states.get(execution_id)
        if state is None:
            state = self._states[execution_id] = State(execution_id=execution_id)
        self._fold(state, view.bodies(execution_id, state.seq), self._look)
        return state

    def _fold(self, state: State, bodies: list[bytes], look: Look | None) -> None:
        for body in bodies:
            if look is not None:
                look(state.execution_id, body)
            try:
                apply(state, decode(body))
            except UNFOLDABLE as error:
                message = f"execution {state.execution_id}, event {state.seq}: it cannot be folded: {error!r}"
                raise Violation("I10", message, state.execution_id, state.seq) from error

    def _written(self, state: State) -> bytes:
        seq, written = self._canonical.get(state.execution_id, (-1, b""))
        if seq != state.seq:
            written = canonical(state)
            self._canonical[state.execution_id] = (state.seq, written)
        return written

    # --- caches and snapshots ----------------------------------------------------------------------------------------

    def _check_cached(self, name: str, live: Cached, row: Row | None) -> None:
        """One that is current must be equal; another one will be brought up before it is used."""
        execution_id = live.state.execution_id
        if row is None or row.execution.status not in LIVE:
            return
        if (live.state.seq, live.tag) != (row.execution.head, row.tag):
            return
        if canonical(live.state) != self._written(self._states[execution_id]):
            message = f"what {name} has in memory of execution {execution_id} is not what its log gives"
            raise Violation("I10", message, execution_id, live.state.seq)

    def _check_snapshot(self, view: View, snapshot: Snapshot) -> None:
        execution_id = snapshot.execution_id
        if snapshot.engine != ENGINE_VERSION or self._snapshots.get(execution_id) == snapshot.seq:
            return
        self._snapshots[execution_id] = snapshot.seq
        self._look(execution_id, snapshot.body)
        state, whole = read(snapshot.body), self._states[execution_id]
        is_there = state.seq == snapshot.seq <= whole.seq
        if is_there:
            self._fold(state, view.bodies(execution_id, snapshot.seq), None)
        if not is_there or canonical(state) != self._written(whole):
            message = (
                f"the snapshot of execution {execution_id} at event {snapshot.seq} and what follows is not its log"
            )
            raise Violation("I10", message, execution_id, snapshot.seq)


def _check_size(state: State, book: LogBook) -> None:
    """A state holds what is in flight and nothing else: the same tokens, runs and jobs that the log has open."""
    jobs = {(run.id, index) for run in state.runs.values() for index in run.jobs}
    for what, held, open_now in (
        ("tokens", state.tokens.keys(), book.tokens.keys()),
        ("runs", state.runs.keys(), book.runs.keys()),
        ("jobs", jobs, book.jobs.keys()),
    ):
        if held != open_now:
            book.fail("I10", f"the state has {what} {sorted(held)}, but {sorted(open_now)} are in flight")
