"""The metrics of a server, as Prometheus reads them: what its parts told it, and what it looks at when it is asked.

Comes in: the words of `Meters`, and an `Outlook` on what can only be sampled (pools, workers, what is in memory). Goes
out: one page of text, for each scrape. Every label has a small, bounded set of values: never an id, never a path that
somebody asked for, never more than so many pools. A scrape never waits long for the store: without it the page comes
all the same, and says so. Each metric has its line in docs/observability.md.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from noetl import __version__
from noetl.clock import Clock
from noetl.control.collectors import POOLS_MAX, Sampled, TaskCollector, bounded
from noetl.control.metrics import FAILED, FIRED, SKIPPED, Meters
from noetl.control.outlook import Outlook
from noetl.engine.events import Event
from noetl.errors import NoetlError
from noetl.projections.tallies import OTHER, Tallies
from noetl.queues.contract import ACCEPTED, DUPLICATE, STALE
from noetl.stores.contract import CANCELLED, SUCCESS
from noetl.stores.contract import FAILED as ENDED_IN_FAILURE

SAMPLE_SECONDS = 1.0  # what was looked at is good for so long: several scrapers cost the store one look
SAMPLE_SECONDS_MAX = 2.0
METHODS = frozenset("GET HEAD POST PUT PATCH DELETE OPTIONS".split())
CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
COMMIT_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
ANSWER_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
log = logging.getLogger("noetl.control.prometheus")


def _show_zeros(counter: Counter, *values: str) -> None:
    """Show a label's values before there is anything to count: a rate does not see the first of what was not there."""
    for value in values:
        counter.labels(value)


class Prometheus(Meters):
    """See above; one for each server."""

    def __init__(self, clock: Clock) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # half as many lines; nothing reads them
        self.clock = clock
        self.outlook = Outlook()
        self.registry = CollectorRegistry()
        self.tallies = Tallies()
        self.sampled = Sampled()
        self._sampled_at: float | None = None
        self._make_of_pumps()
        self._make_of_handing_out()
        self._make_of_edges()
        Gauge("noetl_build_info", "the version that runs", ("version",), registry=self.registry).labels(
            __version__
        ).set(1)
        ProcessCollector(registry=self.registry)
        self.registry.register(self.sampled)
        self.registry.register(TaskCollector(self.tallies))

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, bounds: Sequence[float], *labels: str) -> Histogram:
        return Histogram(name, meaning, labels, buckets=bounds, registry=self.registry)

    def _make_of_pumps(self) -> None:
        self._commit_seconds = self._histogram(
            "noetl_commit_seconds", "one batch, from begin to commit", COMMIT_SECONDS
        )
        self._commit_wait = self._histogram(
            "noetl_commit_wait_seconds", "how long a batch's oldest operation had waited", COMMIT_SECONDS
        )
        self._commit_operations = self._histogram("noetl_commit_operations", "operations of one batch", SIZES)
        self._commit_events = self._histogram("noetl_commit_events", "events of one batch", SIZES)
        self._events = self._counter("noetl_events_total", "events that were committed")
        self._refused = self._counter("noetl_operations_refused_total", "operations whose batch did not stand")
        self._reports = self._counter("noetl_reports_total", "reports of workers, by what they were told", "answer")
        _show_zeros(self._reports, ACCEPTED, DUPLICATE, STALE)
        self._started = self._counter("noetl_executions_started_total", "executions begun")
        self._ended = self._counter("noetl_executions_ended_total", "executions ended", "status")
        _show_zeros(self._ended, SUCCESS, ENDED_IN_FAILURE, CANCELLED)

    def _make_of_handing_out(self) -> None:
        self._claim_seconds = self._histogram("noetl_claim_seconds", "one claim, at the store", COMMIT_SECONDS)
        self._claims_empty = self._counter("noetl_claims_empty_total", "claims that found no job")
        handed = self._counter("noetl_jobs_handed_out_total", "jobs given to workers, by the way they went", "way")
        self._by_claim, self._by_hand_off = handed.labels("claim"), handed.labels("hand_off")
        self._expired = self._counter("noetl_leases_expired_total", "leases that ran out: workers gone or too slow")
        self._lost = self._counter(
            "noetl_jobs_lost_total", "jobs that failed because their workers were lost too often"
        )

    def _make_of_edges(self) -> None:
        self._requests = self._counter("noetl_http_requests_total", "requests answered", "method", "route", "status")
        self._answers = self._histogram(
            "noetl_http_request_seconds",
            "from a request's head to its answer's head",
            ANSWER_SECONDS,
            "method",
            "route",
        )
        self._schedules = self._counter("noetl_schedule_firings_total", "due times of schedules", "outcome")
        self._triggers = self._counter("noetl_trigger_firings_total", "webhooks and messages of triggers", "outcome")
        _show_zeros(self._schedules, FIRED, SKIPPED, FAILED)
        _show_zeros(self._triggers, FIRED, SKIPPED, FAILED)
        self._exported = self._counter("noetl_export_events_total", "events handed to the stream")
        self._export_lag = Gauge(
            "noetl_export_lag_seconds", "age of the newest event in the stream", registry=self.registry
        )
        spans = self._counter("noetl_trace_spans_total", "spans of traces, by what became of them", "outcome")
        self._spans_sent, self._spans_dropped = spans.labels("sent"), spans.labels("dropped")

    # --- the words of Meters -----------------------------------------------------------------------------------------

    def committed(self, *, operations: int, events: int, seconds: float, wait_seconds: float = 0.0) -> None:
        self._commit_seconds.observe(seconds)
        self._commit_wait.observe(wait_seconds)
        self._commit_operations.observe(operations)
        self._commit_events.observe(events)
        self._events.inc(events)

    def refused(self, *, operations: int) -> None:
        self._refused.inc(operations)

    def judged(self, word: str, count: int = 1) -> None:
        self._reports.labels(word).inc(count)

    def started(self, count: int) -> None:
        self._started.inc(count)

    def ended(self, status: str, count: int = 1) -> None:
        self._ended.labels(status).inc(count)

    def recorded(self, execution_id: int, events: Sequence[Event]) -> None:
        self.tallies.apply(execution_id, events)

    def claimed(self, *, count: int, seconds: float) -> None:
        self._claim_seconds.observe(seconds)
        if count:
            self._by_claim.inc(count)
        else:
            self._claims_empty.inc()

    def handed_out(self, count: int) -> None:
        self._by_hand_off.inc(count)

    def expired(self, count: int) -> None:
        self._expired.inc(count)

    def lost(self, count: int) -> None:
        self._lost.inc(count)

    def answered(self, *, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in METHODS else OTHER
        route = route or OTHER
        self._requests.labels(method, route, str(status)).inc()
        self._answers.labels(method, route).observe(seconds)

    def scheduled(self, outcome: str, count: int = 1) -> None:
        self._schedules.labels(outcome).inc(count)

    def triggered(self, outcome: str) -> None:
        self._triggers.labels(outcome).inc()

    def exported(self, *, events: int, lag_seconds: float) -> None:
        self._exported.inc(events)
        self._export_lag.set(lag_seconds)

    def traced(self, *, sent: int = 0, dropped: int = 0) -> None:
        self._spans_sent.inc(sent)
        self._spans_dropped.inc(dropped)

    # --- the page ----------------------------------------------------------------------------------------------------

    async def page(self) -> bytes:
        """The metrics as they are now; of CONTENT_TYPE."""
        await self._look()
        return generate_latest(self.registry)

    async def _look(self) -> None:
        self.sampled.live_executions = self.outlook.live_executions()
        self.sampled.waiting_polls = self.outlook.waiting_polls()
        now = self.clock.monotonic()
        if self._sampled_at is not None and now - self._sampled_at < SAMPLE_SECONDS:
            return
        self._sampled_at = now
        try:
            async with asyncio.timeout(SAMPLE_SECONDS_MAX):
                self.sampled.pools = bounded(await self.outlook.pools())
                self.sampled.workers = list(await self.outlook.workers())[:POOLS_MAX]
            self.sampled.is_store_reachable = True
        except (NoetlError, TimeoutError) as error:
            log.warning("pools not sampled", extra={"action": "pools_not_sampled", "why": type(error).__name__})
            self.sampled.is_store_reachable, self.sampled.pools, self.sampled.workers = False, [], []
