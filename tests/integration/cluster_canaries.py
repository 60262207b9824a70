"""A cluster for test_cluster_canaries.py: a server and a worker as processes, somebody who hears all of NATS, and all
places where a secret could have been written."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import nats
import psycopg
from psycopg import sql

from noetl.testing.services import Restartable, running_nats
from tests.cluster.cluster import Cluster, start_all, until
from tests.integration.canaries import files_below
from tests.stores.unpacked import unpacked

LEASE_SECONDS = 15.0
LOOKS = ("", "/summary", "/events?limit=1000", "/state", "/verify")
LISTS = ("executions", "catalog", "keychain", "workers", "pools", "tokens", "schedules", "triggers", "health")


class Ear:
    """Another client of NATS, which may hear everything; in a thread, since the test blocks."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.heard: list[bytes] = []
        self._is_there = threading.Event()
        self._is_over = threading.Event()

    @contextmanager
    def listening(self) -> Iterator["Ear"]:
        thread = threading.Thread(target=lambda: asyncio.run(self._listen()))
        thread.start()
        assert self._is_there.wait(30)
        try:
            yield self
        finally:
            self._is_over.set()
            thread.join()

    async def _listen(self) -> None:
        client = await nats.connect(self.url)
        await client.subscribe(">", cb=self._keep, pending_bytes_limit=-1, pending_msgs_limit=-1)
        await client.flush()
        self._is_there.set()
        await asyncio.to_thread(self._is_over.wait)
        await client.drain()

    async def _keep(self, message: Any) -> None:
        self.heard.append(message.subject.encode() + b" " + message.data)


@contextmanager
def listened_to(folder: Path, database_url: str, *, nats_password: str, keys: str) -> Iterator[tuple[Cluster, Ear]]:
    """One server, one worker, and the ear. The worker has neither the database nor the keys of the keychain."""
    users = f'authorization {{ users = [{{ user: noetl, password: "{nats_password}" }}] }}'
    with ExitStack() as stack:
        at = stack.enter_context(running_nats(users, data=folder / "jetstream")).removeprefix("nats://")
        url = f"nats://noetl:{nats_password}@{at}"
        bus = Restartable(url=url, stop=lambda: None, start=lambda: None)
        store = Restartable(url=database_url, stop=lambda: None, start=lambda: None)
        cluster = Cluster(folder, store, bus, LEASE_SECONDS)
        cluster.environ |= {"NOETL_EXPORT_EVENTS": "true", "NOETL_MASTER_KEY": keys, "NOETL_LOG_LEVEL": "debug"}
        ear = stack.enter_context(Ear(url).listening())
        try:
            start_all(cluster, servers=1, workers=0)
            del cluster.environ["NOETL_MASTER_KEY"]
            cluster.add_worker()
            cluster.await_ready()
            yield cluster, ear
        finally:
            for program in (*cluster.workers, *cluster.servers):
                program.discard()


# --- running ---------------------------------------------------------------------------------------------------------


def run_all(cluster: Cluster, playbooks: list[dict[str, Any]]) -> dict[str, str]:
    """Run playbooks side by side to their ends: the status of each, by the execution's id."""
    started = [cluster.ask_any("POST", "/api/v1/executions", {"text": json.dumps(one)}) for one in playbooks]
    assert {answer.status for answer in started} == {201}, started
    ids = [answer.body["execution_id"] for answer in started]
    until(lambda: not any(is_live(cluster, one) for one in ids), "all have ended", 120)
    return {one: shown(cluster, one)["status"] for one in ids}


def is_live(cluster: Cluster, execution_id: str) -> bool:
    return shown(cluster, execution_id)["status"] in ("running", "waiting")


def shown(cluster: Cluster, execution_id: str) -> dict[str, Any]:
    return dict(cluster.ask_any("GET", f"/api/v1/executions/{execution_id}").body)


# --- all that was said and written -----------------------------------------------------------------------------------


def answers(cluster: Cluster, ids: list[str]) -> Iterator[tuple[str, bytes]]:
    """What the API says of everything."""
    paths = [f"/api/v1/{one}" for one in LISTS] + ["/metrics"]
    paths += [f"/api/v1/executions/{one}{look}" for one in ids for look in LOOKS]
    paths += [f"/api/executions/{one}/{look}" for one in ids for look in ("status", "events")]
    for path in paths:
        answer = cluster.ask_any("GET", path)
        assert answer.status == 200, (path, answer)
        yield path, json.dumps(answer.body).encode() + json.dumps(answer.body, ensure_ascii=False).encode()
    for one in ids:
        page = cluster.ask_any("GET", f"/api/v1/executions/{one}/events?limit=1000").body
        for seq, event in enumerate(page["events"], 1):
            for sha in set(re.findall(r'"sha256": "([0-9a-f]{64})"', json.dumps(event))):
                path = f"/api/v1/executions/{one}/results?seq={seq}&sha256={sha}"
                yield path, json.dumps(cluster.ask_any("GET", path).body, ensure_ascii=False).encode()


def tables(database_url: str) -> Iterator[tuple[str, bytes]]:
    """Every row of every table of the database, as it is kept."""
    with psycopg.connect(database_url) as connection:
        names = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for schema, name in names:
            rows = connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(schema, name)))
            yield f"table {name}", b"\n".join(as_bytes(value) for row in rows for value in row)


def as_bytes(value: Any) -> bytes:
    if isinstance(value, bytes | memoryview):
        return bytes(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.encode()


def written(cluster: Cluster, *but: str) -> Iterator[tuple[str, bytes]]:
    """Every file of the cluster: logs, homes, what JetStream keeps; but those of these names."""
    for path in files_below(cluster.folder):
        if path.name not in but:
            yield str(path.relative_to(cluster.folder)), unpacked(path)


def processes(cluster: Cluster) -> Iterator[tuple[str, bytes]]:
    """The arguments of our processes, which anybody on the machine can read, and the variables of what tools run."""
    roots = [program.process.pid for program in (*cluster.servers, *cluster.workers) if program.process]
    for root in roots:
        yield f"arguments of {root}", Path(f"/proc/{root}/cmdline").read_bytes()
        for child in descendants(root):
            yield f"arguments of {child}", Path(f"/proc/{child}/cmdline").read_bytes()
            yield f"variables of {child}", Path(f"/proc/{child}/environ").read_bytes()


def descendants(process_id: int) -> list[int]:
    tasks = Path(f"/proc/{process_id}/task")
    children = [int(word) for task in tasks.iterdir() for word in (task / "children").read_text().split()]
    return children + [one for child in children if Path(f"/proc/{child}").exists() for one in descendants(child)]
