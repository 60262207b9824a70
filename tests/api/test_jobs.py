"""Jobs over the API: what waits, who holds what, for how long yet; seen by who sees the playbook."""

import pytest

from noetl.testing.waiting import until
from tests.api.site import HELLO, WAITING
from tests.control.parts import text_of

JOBS = "/api/v1/jobs"
SLOW = "workflow: [{step: crawl, tool: {kind: python, code: 'import time; time.sleep(60)'}}]"
LATER = """
workflow:
  - step: again
    tool: {kind: python, code: "raise ValueError(1)", spec: {policy: {rules: [
      {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3, delay: 3600}}]}}}
"""
CALLING = "workflow: [{step: call, tool: {kind: playbook, path: team/w}}]"
LOOP = """
workflow:
  - step: each
    loop: {in: "{{ range(3) }}", iterator: n, spec: {mode: parallel, max_in_flight: 3}}
    tool: {kind: python, code: "import time; time.sleep(60)"}
"""


async def listed(api, query="", role="viewer"):
    _, found = await api.ask("GET", f"{JOBS}?{query}", role=role)
    return found["jobs"]


async def cancel(api, *ids):
    for execution_id in ids:
        await api.ask("POST", f"/api/v1/executions/{execution_id}/cancel", {})


async def test_a_job_at_work_tells_its_step_its_worker_and_how_long_its_lease_lasts(api):
    execution_id = await api.start(SLOW, "team/a")

    async def at_work():
        return await listed(api, "state=leased")

    (job,) = await until(at_work)
    await cancel(api, execution_id)

    assert (job["execution_id"], job["path"], job["step"]) == (execution_id, "team/a", "crawl")
    assert (job["iteration"], job["state"], job["pool"], job["deliveries"]) == (None, "leased", "default", 1)
    assert job["worker"] == (await api.ask("GET", "/api/v1/workers"))[1]["workers"][0]["worker"]
    assert 0.0 < job["lease_left_seconds"] <= 30.0
    assert job["lease_age_seconds"] + job["lease_left_seconds"] == pytest.approx(30.0, abs=1.0)
    assert job["due_in_seconds"] is None


async def test_a_job_that_waits_is_parked_until_its_time_or_for_its_child(api):
    await api.ask("POST", "/api/v1/catalog", {"text": text_of(WAITING, "team/w").decode()})
    later, calling = await api.start(LATER, "later"), await api.start(CALLING, "team/calling")

    async def both_wait():
        jobs = await listed(api, "state=parked")
        return jobs if len(jobs) == 2 else None

    for_a_time, for_a_child = await until(both_wait)
    await cancel(api, later, calling)

    assert (for_a_time["step"], for_a_child["step"]) == ("again", "call")
    assert 3000 < for_a_time["due_in_seconds"] <= 3600
    assert (for_a_child["due_in_seconds"], for_a_child["lease_left_seconds"]) == (None, None)


async def test_jobs_are_listed_by_pool_worker_state_and_path_and_cut(api):
    inside, outside = await api.start(LOOP, "team/a"), await api.start(LOOP, "teams")
    api.tokens["team"] = await api.token(role="viewer", path_prefix="team")

    async def all_there():
        jobs = await listed(api)
        return jobs if len(jobs) == 6 else None

    jobs = await until(all_there)
    team = await listed(api, role="team")
    _, cut = await api.ask("GET", f"{JOBS}?limit=2")
    leased = await listed(api, f"worker={jobs[0]['worker']}")
    none = [await listed(api, query) for query in ("pool=gpu", "worker=nobody", "state=parked")]
    await cancel(api, inside, outside)

    assert sorted(job["iteration"] for job in team) == [0, 1, 2]
    assert {job["execution_id"] for job in team} == {inside}
    assert (len(cut["jobs"]), cut["is_cut"]) == (2, True)
    assert {job["state"] for job in leased} == {"leased"}
    assert none == [[], [], []]


async def test_a_server_at_rest_has_no_jobs(api):
    await api.run(HELLO)

    assert await api.ask("GET", JOBS, role="viewer") == (200, {"jobs": [], "is_cut": False})


@pytest.mark.parametrize("query", ["state=lost", "limit=0", "limit=501", "pool=", "pool=%00", "step=a"])
async def test_a_filter_of_jobs_that_means_nothing_is_refused(api, query):
    assert (await api.ask("GET", f"{JOBS}?{query}"))[0] == 400
