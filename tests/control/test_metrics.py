"""What a server measures, as a scraper sees it; and that the page of the manual names exactly that."""

import json
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from noetl.clock import SystemClock
from noetl.control.collectors import POOLS_MAX
from noetl.control.metrics import FIRED, Meters
from noetl.control.outlook import Outlook, PoolWorkers, workers_by_pool
from noetl.control.prometheus import Prometheus
from noetl.engine.events import TaskDone, TaskStarted
from noetl.errors import Unreachable
from noetl.identity.roster import SILENT_SECONDS, Roster
from noetl.queues.contract import Profile
from noetl.stores.memory import MemoryStore
from noetl.stores.shared import PoolRow
from noetl.testing.clocks import ClockByHand

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
DASHBOARD = ROOT / "deploy" / "grafana" / "noetl.json"
TASK = {"ts": 1.0, "run": 1, "iter": -1, "task": "fetch", "visit": 1, "attempt": 1}
SERIES = ("_bucket", "_sum", "_count")


def pool(name="default", ready=1, wait=2.5):
    return PoolRow(pool=name, ready=ready, leased=2, parked=3, oldest_wait_seconds=wait)


def told(meters):
    """Every word of Meters, once."""
    meters.committed(operations=3, events=20, seconds=0.004, wait_seconds=0.001)
    meters.refused(operations=2)
    meters.judged("stale", 4)
    meters.started(1)
    meters.ended("failed", 2)
    output = {"status": "ok", "data": 1, "ref": None, "error": None, "meta": {"duration_ms": 5.0}}
    meters.recorded(7, [TaskStarted(**TASK, kind="http"), TaskDone(**TASK, do="continue", output=output)])
    meters.claimed(count=5, seconds=0.002)
    meters.claimed(count=0, seconds=0.001)
    meters.handed_out(6)
    meters.expired(1)
    meters.lost(1)
    meters.answered(method="GET", route="/api/v1/executions/{execution_id}", status=200, seconds=0.01)
    meters.scheduled(FIRED)
    meters.triggered(FIRED)
    meters.exported(events=9, lag_seconds=0.5)
    meters.traced(sent=3, dropped=1)


@pytest.fixture
def meters():
    found = Prometheus(SystemClock())

    async def pools():
        return [pool()]

    async def workers():
        return [PoolWorkers(pool="default", workers=3, slots=12, oldest_heartbeat_seconds=1.0)]

    found.outlook = Outlook(live_executions=lambda: 4, waiting_polls=lambda: 5, pools=pools, workers=workers)
    return found


async def scraped(meters):
    """Each sample by its name and labels."""
    families = text_string_to_metric_families((await meters.page()).decode())
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples
    }


async def families(meters):
    """The names of the metrics, as people write them: counters with _total, histograms without _bucket."""
    found = {}
    for family in text_string_to_metric_families((await meters.page()).decode()):
        name = family.name + ("_total" if family.type == "counter" else "")
        if name.startswith("noetl_"):
            found[name] = (family.type, {key for sample in family.samples for key in sample.labels if key != "le"})
    return found


async def test_what_the_parts_tell_is_what_a_scrape_shows(meters):
    told(meters)

    found = await scraped(meters)

    assert found["noetl_events_total",] == 20
    assert found["noetl_commit_operations_sum",] == 3
    assert found["noetl_commit_seconds_bucket", ("le", "0.005")] == 1
    assert found["noetl_commit_seconds_bucket", ("le", "0.0025")] == 0
    assert found["noetl_reports_total", ("answer", "stale")] == 4
    assert found["noetl_executions_ended_total", ("status", "failed")] == 2
    assert found["noetl_jobs_handed_out_total", ("way", "claim")] == 5
    assert found["noetl_jobs_handed_out_total", ("way", "hand_off")] == 6
    assert found["noetl_claims_empty_total",] == 1
    assert found["noetl_tasks_total", ("kind", "http"), ("outcome", "ok")] == 1
    assert found["noetl_task_seconds_sum", ("kind", "http")] == 0.005
    assert found["noetl_pool_jobs", ("pool", "default"), ("state", "parked")] == 3
    assert found["noetl_pool_oldest_wait_seconds", ("pool", "default")] == 2.5
    assert found["noetl_pool_slots", ("pool", "default")] == 12
    assert found["noetl_executions_live",] == 4
    assert found["noetl_polls_waiting",] == 5


async def test_what_may_never_happen_is_shown_as_nothing_from_the_start(meters):
    found = await scraped(meters)

    assert [found["noetl_reports_total", ("answer", word)] for word in ("ok", "dup", "stale")] == [0, 0, 0]
    assert found["noetl_executions_ended_total", ("status", "failed")] == 0
    assert found["noetl_schedule_firings_total", ("outcome", "failed")] == 0


def documented():
    """name: (type, labels), from the table of the page."""
    rows = re.findall(r"^\| `(noetl_\w+)` \| (\w+)[^|]*\|([^|]*)\|", PAGE, re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


async def test_the_page_of_the_manual_names_every_metric_and_no_other(meters):
    told(meters)

    assert await families(meters) == documented()


def test_the_dashboard_asks_only_for_metrics_that_there_are():
    text = DASHBOARD.read_text(encoding="utf-8")
    asked = set(re.findall(r"noetl_\w+", "\n".join(expressions(json.loads(text)))))

    assert len(asked) > 15
    assert {without_suffix(name) for name in asked} <= set(documented())


def expressions(node):
    """Every query in a dashboard."""
    if isinstance(node, dict):
        yield from (value for key, value in node.items() if key in ("expr", "query") and isinstance(value, str))
        node = list(node.values())
    for below in node if isinstance(node, list) else ():
        yield from expressions(below)


def without_suffix(name):
    for suffix in SERIES:
        if name.endswith(suffix) and name.removesuffix(suffix) in documented():
            return name.removesuffix(suffix)
    return name


def test_somebody_who_does_not_measure_hears_the_same_words():
    assert told(Meters()) is None


async def test_a_method_that_nobody_knows_is_not_a_label_of_its_own(meters):
    for number in range(50):
        meters.answered(method=f"X{number}", route="/metrics", status=405, seconds=0.0)

    found = await scraped(meters)

    methods = {dict(key[1:])["method"] for key in found if key[0] == "noetl_http_requests_total"}
    assert methods == {"other"}


async def test_pools_beyond_the_bound_are_one(meters):
    async def pools():
        return [pool(f"p{number}", wait=float(number)) for number in range(POOLS_MAX + 20)]

    meters.outlook = Outlook(pools=pools)

    found = await scraped(meters)

    waits = {dict(key[1:])["pool"]: value for key, value in found.items() if key[0] == "noetl_pool_oldest_wait_seconds"}
    assert len(waits) == POOLS_MAX + 1
    assert waits["other"] == POOLS_MAX + 19
    assert found["noetl_pool_jobs", ("pool", "other"), ("state", "ready")] == 20


async def test_a_store_that_is_away_costs_the_pools_and_not_the_page(meters):
    async def pools():
        raise Unreachable("the store is away")

    told(meters)
    meters.outlook = Outlook(pools=pools)

    found = await scraped(meters)

    assert found["noetl_store_reachable",] == 0
    assert found["noetl_events_total",] == 20
    assert not [key for key in found if key[0] == "noetl_pool_jobs"]


async def test_a_store_is_not_asked_more_than_once_a_second():
    clock, asked = ClockByHand(1000.0), []

    async def pools():
        asked.append(clock.monotonic())
        return [pool()]

    meters = Prometheus(clock)
    meters.outlook = Outlook(pools=pools)

    for _ in range(10):
        await meters.page()
        clock.seconds += 0.25

    assert asked == [1000.0, 1001.0, 1002.0]


async def test_two_servers_in_one_process_count_apart():
    one, other = Prometheus(SystemClock()), Prometheus(SystemClock())

    one.started(3)

    assert (await scraped(one))["noetl_executions_started_total",] == 3
    assert (await scraped(other))["noetl_executions_started_total",] == 0


async def test_workers_that_fell_silent_are_not_counted():
    clock = ClockByHand()
    roster = Roster(MemoryStore(), clock)

    async def is_standing(_parent):
        return True

    for worker, seconds in (("gone", 0.0), ("slow", SILENT_SECONDS - 1.0), ("here", 10.0)):
        clock.seconds += seconds
        profile = Profile(worker=worker, pool="gpu", slots=4, host="h", pid=1, version="1")
        await roster.join(profile, "5ha", is_standing)

    assert await workers_by_pool(roster) == [
        PoolWorkers(pool="gpu", workers=2, slots=8, oldest_heartbeat_seconds=10.0),
    ]
