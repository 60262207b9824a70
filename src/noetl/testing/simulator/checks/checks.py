"""Whether everything that must hold does hold (protocol §11), seen by somebody who shares no rule with the product.

    commit ─→ committed   I1 I2 I3 I4 I5 I6 I7 I11 I12
    now and then ─→ periodic   I8 I9 I10 I12 I13 I14
    at the end ─→ ended   I15, and what the effects ledger says

Commits, hand-outs and acknowledgements come in as the world sees them; the first thing that is not so goes out as a
`Violation`. It is kept in `found` too, because whoever raised it may stand inside the product, which catches much.
After each commit the cost is what is new; `periodic` looks at the whole world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from noetl.dsl.model import Playbook
from noetl.engine import events as facts
from noetl.engine.commands import Key
from noetl.engine.events import decode
from noetl.stores.contract import LIVE, Append, Batch, Execution
from noetl.stores.shared import Expiry, Fence, QueueChanges
from noetl.testing.simulator.case import Violation
from noetl.testing.simulator.checks import log_reading
from noetl.testing.simulator.checks import queue as queue_checks
from noetl.testing.simulator.checks.canaries import Canaries, Listener
from noetl.testing.simulator.checks.effects import Effects, Ordeal
from noetl.testing.simulator.checks.leases import Leases
from noetl.testing.simulator.checks.limits import Limits
from noetl.testing.simulator.checks.log_book import LogBook
from noetl.testing.simulator.checks.promises import Promises
from noetl.testing.simulator.checks.states import Cached, Replays
from noetl.testing.simulator.checks.view import View
from noetl.testing.simulator.coverage import Coverage
from noetl.testing.simulator.ledger import Ledger

UNMOVED_SECONDS_MAX = 150.0  # by then a sweep has found what nobody moves


class Commit(Protocol):
    """A batch that stands (database.Committed). Of a process that has its store to itself only the batch counts."""

    @property
    def batch(self) -> Batch: ...
    @property
    def words(self) -> dict[tuple[Key, int], str]: ...
    @property
    def changes(self) -> QueueChanges: ...
    @property
    def fences(self) -> Sequence[Fence]: ...
    @property
    def expiries(self) -> Sequence[Expiry]: ...


class Checks:
    """See above. `view` gives the store as it is now; `is_shared`: several servers use it, and the world tells of
    every lease that is handed out (`leased`)."""

    def __init__(
        self,
        *,
        coverage: Coverage,
        view: Callable[[], View],
        now: Callable[[], float],
        ledger: Ledger | None = None,
        secrets: Sequence[str] = (),
        is_shared: bool = True,
        lease_seconds: float = 0.0,
    ) -> None:
        self.coverage = coverage
        self.view = view
        self.now = now
        self.is_shared = is_shared
        self.found: Violation | None = None
        self._unmoved: dict[tuple[int, int], float] = {}  # executions, as long as their logs are, that nobody moves
        self.books: dict[int, LogBook] = {}
        self.limits = Limits()
        self.leases = Leases(lease_seconds)
        self.canaries = Canaries(secrets)
        self.listener = Listener(self.canaries)
        self.replays = Replays(self._look)
        self._requests: dict[str, int] = {}
        self._children: dict[str, int] = {}
        self._marked: dict[int, bool] = {}  # executions of which a server said that it follows them up
        self.promises = Promises(self.books, self._requests)
        self.effects = Effects(ledger, self.books, self.leases) if ledger is not None else None

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        try:
            yield
        except Violation as found:
            self.found = self.found or found
            raise

    def known(self, sha: str, playbook: Playbook) -> None:
        """What a playbook allows: the windows of its loops, and how large its events may be."""
        self.limits.add(sha, playbook)

    # --- after every commit ------------------------------------------------------------------------------------------

    def committed(self, commit: Commit) -> None:
        with self._keeping():
            if self.is_shared:
                self.leases.judged(commit.fences, commit.expiries, commit.words)
            for row in commit.batch.executions:
                self._begin(row)
            for append in commit.batch.appends:
                self._read(append)
            for append in commit.batch.appends:
                self._check_moving(append)
            if self.is_shared:
                for job in commit.changes.added:
                    if job.lease:
                        self.leases.leased(job.key, job.lease, job.worker, self.now())

    def _begin(self, row: Execution) -> None:
        """One execution per request, and one child per call, ever."""
        if row.id in self.books:
            raise Violation("I1", f"execution {row.id} began twice", row.id)
        for kind, key, known in (("start", row.request_key, self._requests), ("call", row.parent_key, self._children)):
            if key is None:
                continue
            if key in known:
                raise Violation("I3", f"the {kind} {key!r} made execution {row.id}, but {known[key]} before", row.id)
            known[key] = row.id
        self.books[row.id] = self._new_book(row.id, self.coverage.edges, self.coverage.events)

    def _new_book(self, execution_id: int, edges: Counter[str], events: Counter[str]) -> LogBook:
        return LogBook(execution_id, self.limits.windows, edges, events)

    def _read(self, append: Append) -> None:
        book = self.books.get(append.execution_id)
        if book is None:
            raise Violation("I1", f"events of execution {append.execution_id}, which never began", append.execution_id)
        log_reading.read_appended(book, append.first_seq, append.events, self.now())
        first = _own_from(append)
        for seq, event in enumerate(append.events[first:], append.first_seq + first):
            if self.is_shared:
                self.leases.read(append.execution_id, seq, event)
            if self.effects is not None:
                self.effects.recorded(append.execution_id, seq, event)
        if append.status != book.status:
            book.fail("I10", f"its row says {append.status}, its log {book.status}")

    def _check_moving(self, append: Append) -> None:
        book = self.books[append.execution_id]
        if append.follow_until is not None:
            self._marked[book.execution_id] = append.follow_until > 0
        is_followed = self._marked.get(book.execution_id, False) if self.is_shared else None
        queue_checks.check_moving(book, is_followed)
        queue_checks.check_children(book, append.events, self._children)

    # --- what the world tells besides --------------------------------------------------------------------------------

    def leased(self, key: Key, lease: int, worker: str) -> None:
        """A job was claimed. What a commit hands out is read from the commit."""
        with self._keeping():
            self.leases.leased(key, lease, worker, self.now())

    def extended(self, key: Key, lease: int) -> None:
        """A heartbeat counted."""
        self.leases.extended(key, lease, self.now())

    def released(self, key: Key) -> None:
        """A job was given back."""
        self.leases.released(key)

    def came(self, key: Key, lease: int) -> None:
        """A worker has got a job; until then it works under the lease that it had before."""
        self.leases.came(key, lease, self.now())

    def firm(self, worker: str, key: Key, lease: int, until: float) -> None:
        """A worker knows since now that a job is its own until then, by what it was answered."""
        if self.effects is not None:
            self.effects.firm(worker, key, lease, until, self.now())

    def acknowledged_start(self, request_key: str, execution_id: int) -> None:
        with self._keeping():
            self.promises.started(request_key, execution_id)

    def acknowledged_cancel(self, execution_id: int) -> None:
        with self._keeping():
            self.promises.cancelled(execution_id)

    def acknowledged_signal(self, execution_id: int, name: str) -> None:
        """A signal that wrote to `ctx.<name>`."""
        with self._keeping():
            self.promises.signalled(execution_id, name)

    def acknowledged_report(self, key: Key, lease: int, n: int, events: int) -> None:
        """A worker was told that its n-th report counts, or counted before; it had so many events."""
        with self._keeping():
            self.promises.reported(key, lease, n, events)

    def told(self, worker: str, key: Key, lease: int) -> None:
        """A worker learnt that a job is no longer its: stale, gone, or its last report was answered."""
        if self.effects is not None:
            self.effects.told(worker, key, lease, self.now())

    def rewound(self) -> None:
        """The store went back to an earlier state: whatever was noted beyond it is forgotten."""
        view, shortened = self.view(), []
        for execution_id, book in list(self.books.items()):
            bodies = view.bodies(execution_id)
            if len(bodies) < book.head or view.row(execution_id) is None:
                shortened.append(execution_id)
                del self.books[execution_id]
                if bodies:
                    self._reread(book, bodies)
        rows = [row.execution for row in view.rows()]
        for known, keys in (
            (self._requests, {row.request_key: row.id for row in rows}),
            (self._children, {row.parent_key: row.id for row in rows}),
        ):
            known.clear()
            known.update({key: found for key, found in keys.items() if key is not None})
        self._marked = {row.execution.id: bool(row.is_followed) for row in view.rows()}
        self.leases.rewound(view.jobs() or {})
        self.replays.rewound()
        self.promises.rewound(shortened)

    def _reread(self, book: LogBook, bodies: list[bytes]) -> None:
        """A shorter log. It was counted before."""
        shorter = self.books[book.execution_id] = self._new_book(book.execution_id, Counter(), Counter())
        for body, at in zip(bodies, book.times, strict=False):
            shorter.now = at
            log_reading.read(shorter, decode(body))

    # --- now and then ------------------------------------------------------------------------------------------------

    def periodic(self, caches: Iterable[tuple[str, Iterable[Cached]]] = ()) -> None:
        """Look at everything. `caches`: the executions that each server has in memory, with the server's name."""
        with self._keeping():
            view = self.view()
            self.replays.check(view, self.books, caches)
            jobs = view.jobs()
            if jobs is not None:
                queue_checks.check_queue(self.books, jobs)
            self._check_followed(view)
            self.promises.check()
            for where, text in view.texts():
                self.canaries.look(where, text)
            if self.listener.found is not None:
                raise self.listener.found

    def _check_followed(self, view: View) -> None:
        """I12, at any time: what has no job is marked as somebody's. A mark may be lost with the server it was of, by
        another's word or a failover: then the sweep finds it within a while."""
        seen: dict[tuple[int, int], float] = {}
        for book, problem in queue_checks.unfollowed(self.books, view):
            place = book.execution_id, book.head
            seen[place] = self._unmoved.get(place, self.now())
            if self.now() - seen[place] > UNMOVED_SECONDS_MAX:
                raise problem
        self._unmoved = seen

    def answered(self, where: str, answer: bytes) -> None:
        """I14: what somebody was told."""
        with self._keeping():
            self.canaries.look(where, answer)

    # --- at the end --------------------------------------------------------------------------------------------------

    def ended(self, ordeal: Ordeal) -> None:
        """I15: everything has ended, but for incidents that were planted; and tools ran as often as they had to."""
        with self._keeping():
            for row in self.view().rows():
                execution = row.execution
                if execution.status in LIVE and not self.is_excused(execution.id, ordeal.incidents):
                    message = f"execution {execution.id} ({execution.path}) is {execution.status} for ever"
                    raise Violation("I15", message, execution.id, execution.head)
            if self.effects is not None:
                self.effects.check(ordeal, self.promises.shortened)

    def is_excused(self, execution_id: int, incidents: Collection[int]) -> bool:
        """Whether it is an incident that was planted, or waits for a child that is."""
        book = self.books[execution_id]
        if book.incident == "open":
            return execution_id in incidents
        children = [self._children.get(job.child_key, 0) for job in book.jobs.values() if job.child_key]
        return any(child and self.is_excused(child, incidents) for child in children)

    def _look(self, execution_id: int, body: bytes) -> None:
        """At each event as it is kept, once."""
        self.canaries.look(f"the log of execution {execution_id}", body, execution_id)
        book = self.books[execution_id]
        self.limits.check(book, body)


def _own_from(append: Append) -> int:
    """Where an execution's own events begin: what comes before a fork is of another log, and under its leases."""
    if append.first_seq != 1:
        return 0
    forks = (place for place, event in enumerate(append.events) if isinstance(event, facts.ExecutionForked))
    return max(forks, default=0)
