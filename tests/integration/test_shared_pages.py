"""What pages ask of a server of a cluster: jobs, changes and health, also of what another server did."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import aiohttp
import msgspec
import psycopg
import pytest
from psycopg import sql

from noetl.api.app import make_app
from noetl.api_parts import HomeVault, Telling, cluster_parts
from noetl.control import changes
from noetl.identity.tokens import Grant
from noetl.serving import serve
from noetl.starts import Starts, with_starts
from noetl.testing.logs import begin
from noetl.testing.waiting import until
from tests.integration.servers import Server, serving

pytestmark = pytest.mark.slow

ENDLESS = "workflow: [{step: crawl, tool: {kind: shell, command: sleep 600}}]"
QUICK = "workflow: [{step: only, tool: {kind: noop}}]"
NOBODY = "workflow: [{step: far, spec: {pool: gpu}, tool: {kind: noop}}]"
WAITING = """
workflow:
  - step: start
    spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ ctx.go }}", then: {allow: true}},
                                                   {else: {then: {allow: false}}}]}}}
    tool: {kind: noop}
"""


@pytest.fixture
def url(database_url: str) -> str:
    """A schema of the test's own: workers of another one are seen for a while after they have gone."""
    name = f"t{uuid4().hex}"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    return f"{database_url}&options={quote(f'-csearch_path={name}')}"


class Site:
    """The API of one server, on a real socket."""

    def __init__(self, url: str, server: Server) -> None:
        self.url = url
        self.server = server
        self.session = aiohttp.ClientSession()

    async def get(self, path: str, **grant: Any) -> Any:
        async with self.session.get(f"{self.url}/api/v1/{path}", headers=await self._headers(**grant)) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def _headers(self, role: str = "viewer", **grant: Any) -> dict[str, str]:
        issued = await self.server.cluster.tokens.create(Grant(role=role, **grant), "a test")
        return {"Authorization": f"Bearer {issued.token}"}

    async def listen(self, told: list[tuple[str, str]], **grant: Any) -> None:
        """Put each change into a list, as it comes."""
        limit = aiohttp.ClientTimeout(60)
        async with self.session.get(
            f"{self.url}/api/v1/changes", headers=await self._headers(**grant), timeout=limit
        ) as answer:
            name = ""
            async for line in answer.content:
                word, _, value = line.decode().rstrip("\n").partition(": ")
                if word == "event":
                    name = value
                elif word == "data":
                    told.append((name, value))


@asynccontextmanager
async def site(server: Server) -> AsyncIterator[Site]:
    cluster, settings = server.cluster, server.settings
    parts = cluster_parts(settings, cluster, Telling(), HomeVault(settings, cluster.clock), None)
    parts = with_starts(parts, Starts(settings, cluster.desk, cluster.store, cluster.clock))
    ready, stopping, urls = asyncio.Event(), asyncio.Event(), list[str]()

    def told(url: str) -> None:
        urls.append(url)
        ready.set()

    chosen = msgspec.structs.replace(settings, server_port=0)
    running = asyncio.create_task(serve(make_app(parts), chosen, told, stopping))
    await asyncio.wait({running, asyncio.ensure_future(ready.wait())}, return_when="FIRST_COMPLETED")
    found = Site(urls[0], server)
    try:
        yield found
    finally:
        await found.session.close()
        stopping.set()
        await running


async def test_jobs_of_all_servers_are_listed_with_their_steps_and_holders(url: str, tmp_path: Path) -> None:
    async with (
        serving(url, tmp_path, "one") as one,
        serving(url, tmp_path, "two", is_working=False) as two,
        site(two) as api,
    ):
        inside, outside = await one.start(ENDLESS, "team/a"), await one.start(ENDLESS, "teams")
        unserved = await two.start(NOBODY, "team/far")

        async def all_there() -> Any:
            jobs = (await api.get("jobs"))["jobs"]
            return jobs if [job["state"] for job in jobs] == ["leased", "leased", "ready"] else None

        jobs = await until(all_there)
        team = (await api.get("jobs", path_prefix="team"))["jobs"]
        gpu = (await api.get("jobs?pool=gpu"))["jobs"]
        workers = (await api.get("health"))["checks"][2]
        held = (await api.get(f"jobs?worker={one.worker.name}&limit=1")) if one.worker else {}
        for execution_id in (inside, outside, unserved):
            await one.desk.cancel(execution_id, "")
        for execution_id in (inside, outside, unserved):
            await one.ended(execution_id)

        assert [job["step"] for job in jobs] == ["crawl", "crawl", "far"]
        assert {job["worker"] for job in jobs} == {one.worker.name if one.worker else "", None}
        assert all(0 < job["lease_left_seconds"] <= 30 for job in jobs[:2])
        assert [job["execution_id"] for job in team] == [str(inside), str(unserved)]
        assert [job["execution_id"] for job in gpu] == [str(unserved)]
        assert (workers["is_ok"], "noetl worker start --pool gpu" in workers["detail"]) == (False, True)
        assert (len(held["jobs"]), held["is_cut"]) == (1, True)


async def test_a_listener_hears_what_another_server_did_and_nothing_outside_its_path(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "LOOK_SECONDS", 0.1)
    async with (
        serving(url, tmp_path, "one") as one,
        serving(url, tmp_path, "two", is_working=False) as two,
        site(two) as api,
    ):
        old = await one.start(WAITING, "team/old")
        await until(lambda: is_waiting(one, old))
        for _ in range(210):  # newer ones, so that it is not among those that are looked at
            await begin(one.store, [], status="success", path="many", created_at=one.cluster.clock.now())
        told: list[tuple[str, str]] = []
        team: list[tuple[str, str]] = []
        ears = [asyncio.create_task(api.listen(told)), asyncio.create_task(api.listen(team, path_prefix="team"))]
        try:
            await until(lambda: ("listening", "{}") in told and ("listening", "{}") in team)

            outside = await one.start(QUICK, "teams")
            await one.ended(outside)
            await until(lambda: {"executions", "catalog", "overview"} <= {name for name, _ in told})
            await one.desk.signal(old, {"ctx.go": True})
            await one.ended(old)
            await until(lambda: {"executions", "overview"} <= {name for name, _ in team})
        finally:
            for ear in ears:
                ear.cancel()
            await asyncio.gather(*ears, return_exceptions=True)

        rows = [data for name, data in team if name == "executions"]
        assert all(f'"{old}"' in data for data in rows)
        assert '"success"' in rows[-1]
        assert "catalog" not in {name for name, _ in team}
        assert any(f'"{outside}"' in data for name, data in told if name == "executions")


async def is_waiting(server: Server, execution_id: int) -> bool:
    row = await server.store.execution(execution_id)
    return row is not None and row.status == "waiting"


async def test_the_pages_see_one_cluster_whichever_server_they_ask(url: str, tmp_path: Path) -> None:
    async with serving(url, tmp_path, "one", is_working=False) as one, site(one) as api:
        identity = await api.get("identity", path_prefix="here", label="ci")
        before = await api.get("health")
        execution_id = await one.start(QUICK, "here/a")
        idle = await api.get("overview", path_prefix="here")
        await one.work()
        await one.ended(execution_id)

        async def is_well() -> bool:
            return bool((await api.get("health"))["is_ok"])

        await until(is_well)
        busy = await api.get("overview", path_prefix="here")
        recent = await api.get("catalog/recent?q=HERE")

        assert (identity["store"], identity["is_embedded"], identity["name"]) == ("postgresql", False, "ci")
        assert [check["name"] for check in before["checks"]] == ["store", "queue", "workers"]
        assert "noetl worker start" in before["checks"][2]["detail"]
        assert (idle["running"], idle["success_day"]) == (1, 0)
        assert (busy["running"], busy["success_day"]) == (0, 1)
        assert [row["path"] for row in recent["playbooks"]] == ["here/a"]
        assert [run["execution_id"] for run in recent["playbooks"][0]["runs"]] == [str(execution_id)]
