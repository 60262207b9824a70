"""An execution of 100,000 events with a loop of 10,000: the first answer comes soon, the next ones at once.

Bounds are those that hold on a busy machine with two cores; what is promised for an idle one is a fifth of them. What
must not depend on the machine is a ratio: an answer that is kept takes a small share of one that is read.
"""

import asyncio
import json
import time
from contextlib import asynccontextmanager

import pytest

from noetl.control.requests import RunRequest
from tests.api.site import site
from tests.control.parts import opened, text_of

ITERATIONS = 10_000
EVENTS_MIN = 100_000
FIRST_SECONDS_MAX, LATER_SECONDS_MAX = 2.5, 0.25
EXECUTIONS = "/api/v1/executions"
LOOP = f"""
workflow:
  - step: start
    tool: {{kind: noop}}
    next: {{arcs: [{{step: load}}]}}
  - step: load
    loop: {{in: "{{{{ range({ITERATIONS}) }}}}", iterator: n, spec: {{mode: parallel, max_in_flight: 100}}}}
    tool:
      - {{name: fetch, kind: noop}}
      - {{name: parse, kind: noop}}
      - {{name: check, kind: noop}}
      - {{name: save, kind: noop}}
    next: {{arcs: [{{step: end}}]}}
  - step: end
    tool: {{kind: noop}}
"""
PARTS = (
    "",
    "/summary",
    "/timeline",
    "/iterations?run=2&limit=1000",
    "/iterations?run=2&after=9000",
    "/iterations?run=2&status=failed",
    "/attempts?run=2&limit=1000",
    "/attempts?run=2&iteration=9999",
    "/attempts?after=90000&limit=1000",
    "/logs?limit=1000",
    "/logs?step=load&level=warning",
    "/logs?q=nothing+of+the+kind",
    "/events?limit=500",
    "/events?after=50000&limit=500",
    "/events?after=99900&limit=500",
)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store with such an execution, run by the real engine once."""
    found = tmp_path_factory.mktemp("large")

    async def made():
        async with opened(found) as parts:
            started = await parts.desk.start(RunRequest(data=text_of(LOOP, "large"), name="large.yaml"))
            await parts.until_quiet(started.execution_id)
            row = await parts.store.execution(started.execution_id)
            assert (row.id, row.status) == (1, "success")
            assert row.head >= EVENTS_MIN

    asyncio.run(made())
    return found


@asynccontextmanager
async def opened_site(folder):
    async with site(folder) as api:
        await api.ask("GET", EXECUTIONS)  # the connection is there, and what a first request of any kind needs
        yield api


async def seconds_for(api, part):
    began = time.perf_counter()
    status, _, body = await api.raw("GET", f"{EXECUTIONS}/1{part}")
    assert status == 200, body[:500]
    return time.perf_counter() - began


@pytest.mark.parametrize("part", ["", "/timeline", "/iterations?run=2", "/logs", "/events?after=99900"])
async def test_the_first_answer_comes_soon_whatever_is_asked_first(folder, part):
    async with opened_site(folder) as api:
        assert await seconds_for(api, part) < FIRST_SECONDS_MAX


async def test_answers_come_at_once_when_the_log_was_read_before(folder):
    async with opened_site(folder) as api:
        first = await seconds_for(api, "/timeline")

        later = {part: min([await seconds_for(api, part) for _ in range(3)]) for part in PARTS}

    assert {part: took for part, took in later.items() if took > LATER_SECONDS_MAX} == {}
    assert sorted(later.values())[len(later) // 2] < first / 5


async def test_its_rows_are_all_there_page_by_page(folder):
    async with opened_site(folder) as api:
        found, after = 0, 0
        while after is not None:
            _, page = await api.ask("GET", f"{EXECUTIONS}/1/iterations?run=2&limit=1000&after={after}")
            assert [row["iteration"] for row in page["iterations"]] == list(range(found, found + 1000))
            assert {(row["status"], row["attempts"]) for row in page["iterations"]} == {("done", 4)}
            found, after = found + len(page["iterations"]), page["next"]
        _, timeline = await api.ask("GET", f"{EXECUTIONS}/1/timeline")

    assert found == ITERATIONS
    assert [row["attempts"] for row in timeline["runs"]] == [1, 4 * ITERATIONS, 1]


async def test_a_stream_from_near_the_end_begins_at_once(folder):
    async with opened_site(folder) as api:
        await seconds_for(api, "/timeline")
        began = time.perf_counter()

        stream = await api.stream(f"{EXECUTIONS}/1/events/stream?after=99990")
        told = await stream.all()

        assert time.perf_counter() - began < LATER_SECONDS_MAX
    assert told[0]["id"] == "99991"
    assert told[0]["data"]["step"] == "load"


async def test_what_is_kept_of_it_is_small(folder):
    async with opened_site(folder) as api:
        await seconds_for(api, "/timeline")

        assert api.parts.projected.size_bytes < 8 * 1024 * 1024


async def test_it_can_be_exported_and_looked_at_elsewhere(folder, tmp_path):
    async with opened_site(folder) as api:
        _, _, body = await api.raw("GET", f"{EXECUTIONS}/1/export")
    async with opened_site(tmp_path) as api:
        status, _, answer = await api.raw(
            "POST", "/api/v1/viewings", headers={"Content-Type": "application/x-ndjson"}, data=body
        )
        assert status == 201, answer
        viewing = json.loads(answer)["execution_id"]
        took = []
        for part in ("/timeline", "/iterations?run=2", "/attempts?run=2", "/logs", "/events?after=99900"):
            began = time.perf_counter()
            status, _, _ = await api.raw("GET", f"{EXECUTIONS}/{viewing}{part}")
            took.append(time.perf_counter() - began)
            assert status == 200

    assert max(took) < LATER_SECONDS_MAX
