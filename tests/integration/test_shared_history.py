"""An execution over time, from servers of a cluster: what another server wrote is seen, and a lost end is noticed."""

import json
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest

from noetl.clock import SystemClock
from noetl.control.exported import exported
from noetl.control.projected import Projected
from noetl.projections.pages import timeline_page
from noetl.stores.contract import Append, Batch, Execution
from noetl.stores.postgres import PostgresStore
from noetl.stores.shared import QueueChanges
from noetl.testing.waiting import until
from tests.integration.servers import serving
from tests.integration.test_shared_pages import WAITING, Site, site
from tests.projections.histories import History

pytestmark = pytest.mark.slow


async def lines_of(api: Site, execution_id: int, told: list[str], after: int = 0) -> None:
    """The texts of a stream of lines, until it ends."""
    url = f"{api.url}/api/v1/executions/{execution_id}/logs/stream?after={after}"
    async with api.session.get(url, headers=await api._headers(), timeout=aiohttp.ClientTimeout(60)) as answer:
        async for line in answer.content:
            if line.startswith(b"data: "):
                told.append(json.loads(line.removeprefix(b"data: "))["text"])


async def test_what_one_server_commits_is_shown_and_told_by_another(database_url: str, tmp_path: Path) -> None:
    async with (
        serving(database_url, tmp_path, "one") as one,
        serving(database_url, tmp_path, "two", is_working=False) as two,
        site(two) as api,
    ):
        execution_id = await one.start(WAITING)

        async def waits() -> Any:
            return (await api.get(f"executions/{execution_id}"))["waiting"]

        await until(waits)
        before = await api.get(f"executions/{execution_id}/timeline")
        told: list[str] = []
        await one.desk.signal(execution_id, {"ctx.go": True})
        await lines_of(api, execution_id, told)
        after = await api.get(f"executions/{execution_id}/timeline")

        assert before["runs"] == []
        assert [row["status"] for row in after["runs"]] == ["success"]
        assert told[0] == "trial@1 was asked for"
        assert told[-1] == "ended: success"


async def test_a_log_whose_end_was_lost_and_written_anew_is_not_taken_for_the_one_there_was(database_url: str) -> None:
    store = await PostgresStore.open(database_url)
    kept = Projected(store, SystemClock(), store)
    first, second = History().begin(), History().begin()
    for history, step in ((first, "load"), (second, "other")):
        run = history.schedule(step)
        history.task(run).done(run, step)
    execution_id = await store.reserve_ids(1)
    row = Execution(id=execution_id, sha="0" * 64, path="orders", version=1)

    async def committed(seq: int, events: list[Any], tag: int, **new: Any) -> Execution:
        transaction = await store.transaction()
        await transaction.begin([execution_id], [])
        append = Append(execution_id=execution_id, first_seq=seq, events=events, status="running")
        await transaction.commit(Batch(appends=[append], **new), tag, QueueChanges())
        await transaction.close()
        found = await store.execution(execution_id)
        assert found is not None
        return found

    before = await kept.ledger(await committed(1, list(first), 7, executions=[row]))
    assert timeline_page(before, 0, 10)["runs"][0]["step"] == "load"

    with psycopg.connect(database_url, autocommit=True) as connection:  # as a failover that lost the end leaves it
        connection.execute("DELETE FROM event WHERE execution_id = %s AND seq > 3", (execution_id,))
        connection.execute("UPDATE execution SET head = 3 WHERE id = %s", (execution_id,))
    after = await kept.ledger(await committed(4, list(second)[3:], 8))

    assert timeline_page(after, 0, 10)["runs"][0]["step"] == "other"
    await store.close()


async def test_an_exported_execution_is_looked_at_on_a_server_of_a_cluster(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path, "one") as one, site(one) as api:
        execution_id = await one.start("workflow: [{step: only, tool: {kind: noop}}]", "quick")
        await one.ended(execution_id)
        body = b"".join([piece async for piece in exported(one.store, execution_id, 1.0)])
        headers = await api._headers()

        sent = headers | {"Content-Type": "application/x-ndjson"}
        async with api.session.post(f"{api.url}/api/v1/viewings", data=body, headers=sent) as answer:
            assert answer.status == 201, await answer.text()
            viewing = (await answer.json())["execution_id"]
        for part in ("", "/timeline", "/logs", "/graph", "/events?after=3", "/verify"):
            async with api.session.get(f"{api.url}/api/v1/executions/{viewing}{part}", headers=headers) as answer:
                assert answer.status == 200, await answer.text()
