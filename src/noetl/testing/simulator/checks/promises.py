"""I13: what somebody was told stands in the log, then and ever after.

Acknowledgements come in as users and workers receive them. One of a history that was lost with an asynchronous failover
may still arrive: nothing is promised for executions that the failover took anything from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from noetl.engine.commands import Key
from noetl.testing.simulator.case import Violation
from noetl.testing.simulator.checks.log_book import LogBook


class Promises:
    """See above. `books` are the checker's, `requests` the request keys of the executions there are."""

    def __init__(self, books: Mapping[int, LogBook], requests: Mapping[str, int]) -> None:
        self.books = books
        self.requests = requests
        self.shortened: set[int] = set()  # executions that a failover took something from
        self._starts: dict[str, int] = {}
        self._cancelled: dict[int, None] = {}  # in the order they came, as all of these
        self._signals: dict[tuple[int, str], None] = {}
        self._reports: defaultdict[tuple[Key, int], dict[int, int]] = defaultdict(dict)  # events by report

    def started(self, request_key: str, execution_id: int) -> None:
        if execution_id not in self.shortened:
            self._starts[request_key] = execution_id
            self._check_start(request_key, execution_id)

    def cancelled(self, execution_id: int) -> None:
        if execution_id not in self.shortened:
            self._cancelled[execution_id] = None
            self._check_cancel(execution_id)

    def signalled(self, execution_id: int, name: str) -> None:
        if execution_id not in self.shortened:
            self._signals[execution_id, name] = None
            self._check_signal(execution_id, name)

    def reported(self, key: Key, lease: int, n: int, events: int) -> None:
        if key[0] not in self.shortened:
            self._reports[key, lease][n] = events
            self._check_report(key, lease)

    def check(self) -> None:
        """All of them again."""
        for request_key, execution_id in self._starts.items():
            self._check_start(request_key, execution_id)
        for execution_id in self._cancelled:
            self._check_cancel(execution_id)
        for execution_id, name in self._signals:
            self._check_signal(execution_id, name)
        for key, lease in self._reports:
            self._check_report(key, lease)

    def rewound(self, shortened: Iterable[int]) -> None:
        """Of these something is lost, so nothing that was said of them binds any more."""
        self.shortened.update(shortened)
        lost = self.shortened
        self._starts = {key: one for key, one in self._starts.items() if one not in lost}
        self._cancelled = {one: None for one in self._cancelled if one not in lost}
        self._signals = {one: None for one in self._signals if one[0] not in lost}
        for place in [place for place in self._reports if place[0][0] in lost]:
            del self._reports[place]

    # --- one by one --------------------------------------------------------------------------------------------------

    def _book(self, execution_id: int, what: str) -> LogBook:
        book = self.books.get(execution_id)
        if book is None:
            raise Violation("I13", f"{what} was acknowledged, but there is no execution {execution_id}", execution_id)
        return book

    def _check_start(self, request_key: str, execution_id: int) -> None:
        self._book(execution_id, f"the start {request_key!r}")
        if self.requests.get(request_key) != execution_id:
            found = self.requests.get(request_key)
            message = f"the start {request_key!r} was acknowledged as {execution_id}, but is {found}"
            raise Violation("I13", message, execution_id)

    def _check_cancel(self, execution_id: int) -> None:
        book = self._book(execution_id, "a cancel")
        if book.cancelled_at is None and not book.is_ended:
            book.fail("I13", "a cancel was acknowledged that the log has not")

    def _check_signal(self, execution_id: int, name: str) -> None:
        book = self._book(execution_id, f"the signal {name}")
        if f"ctx.{name}" not in book.signalled:
            book.fail("I13", f"the signal {name} was acknowledged, but the log has it not")

    def _check_report(self, key: Key, lease: int) -> None:
        book = self._book(key[0], f"a report of job {key}")
        said, found = sum(self._reports[key, lease].values()), book.events_under[key[1], key[2], lease]
        if found < said:
            book.fail("I13", f"{said} events of job {key} under lease {lease} were acknowledged, the log has {found}")
