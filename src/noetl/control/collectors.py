"""Metrics that are made when somebody asks: of what was seen at the last look, and of what was counted from the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from noetl.control.outlook import PoolWorkers
from noetl.projections.tallies import OTHER, SECONDS, Spread, Tallies
from noetl.stores.shared import PoolRow

POOLS_MAX = 100


def bounded(rows: Sequence[PoolRow]) -> list[PoolRow]:
    """Playbooks name pools, so anybody may think of a new one: beyond a bound they are one."""
    first, rest = list(rows[:POOLS_MAX]), rows[POOLS_MAX:]
    if rest:
        first.append(
            PoolRow(
                pool=OTHER,
                ready=sum(row.ready for row in rest),
                leased=sum(row.leased for row in rest),
                parked=sum(row.parked for row in rest),
                oldest_wait_seconds=max(row.oldest_wait_seconds for row in rest),
            )
        )
    return first


class Sampled(Collector):
    """What was seen at the last look."""

    def __init__(self) -> None:
        self.live_executions = 0
        self.waiting_polls = 0
        self.is_store_reachable = True
        self.pools: list[PoolRow] = []
        self.workers: list[PoolWorkers] = []

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("noetl_executions_live", "executions in memory", self.live_executions)
        yield GaugeMetricFamily("noetl_polls_waiting", "workers that wait for jobs", self.waiting_polls)
        yield GaugeMetricFamily("noetl_store_reachable", "whether the store answered", float(self.is_store_reachable))
        jobs = GaugeMetricFamily("noetl_pool_jobs", "jobs of a pool, by state", labels=("pool", "state"))
        wait = GaugeMetricFamily("noetl_pool_oldest_wait_seconds", "of the jobs that are ready", labels=("pool",))
        for row in self.pools:
            for state, count in (("ready", row.ready), ("leased", row.leased), ("parked", row.parked)):
                jobs.add_metric((row.pool, state), count)
            wait.add_metric((row.pool,), row.oldest_wait_seconds)
        yield jobs
        yield wait
        yield from self._of_workers()

    def _of_workers(self) -> Iterator[Metric]:
        count = GaugeMetricFamily("noetl_pool_workers", "workers seen lately", labels=("pool",))
        slots = GaugeMetricFamily("noetl_pool_slots", "slots of those workers", labels=("pool",))
        age = GaugeMetricFamily("noetl_pool_heartbeat_age_seconds", "of the one seen longest ago", labels=("pool",))
        for row in self.workers:
            count.add_metric((row.pool,), row.workers)
            slots.add_metric((row.pool,), row.slots)
            age.add_metric((row.pool,), row.oldest_heartbeat_seconds)
        yield count
        yield slots
        yield age


class TaskCollector(Collector):
    """What was counted from the log."""

    def __init__(self, tallies: Tallies) -> None:
        self.tallies = tallies

    def collect(self) -> Iterator[Metric]:
        ended = CounterMetricFamily("noetl_tasks", "task attempts that ended", labels=("kind", "outcome"))
        for labels, count in self.tallies.ended.items():
            ended.add_metric(labels, count)
        yield ended
        took = HistogramMetricFamily("noetl_task_seconds", "what task attempts took", labels=("kind",))
        for kind, spread in self.tallies.seconds.items():
            took.add_metric((kind,), cumulated(spread), spread.total)
        yield took
        yield CounterMetricFamily("noetl_result_bytes", "bytes of results that were stored", self.tallies.result_bytes)


def cumulated(spread: Spread) -> list[tuple[str, float]]:
    """Buckets as Prometheus has them: each counts what is below its bound."""
    so_far = 0
    found = []
    for bound, count in zip((*SECONDS, float("inf")), spread.counts, strict=True):
        so_far += count
        found.append(("+Inf" if bound == float("inf") else str(bound), float(so_far)))
    return found
