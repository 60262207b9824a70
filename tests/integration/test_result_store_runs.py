"""Whole runs over each store of results: what one step stores, a later step, a loop and another execution read."""

import asyncio
import json
import sqlite3
import textwrap
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import nats
import psycopg
import pytest
from obstore.store import S3Store

from noetl import server
from noetl.config import Settings, url_of
from noetl.control.requests import Nobody, RunRequest
from noetl.control.retention import Rule, sweep
from noetl.results.stores import NoCredentials, Stores
from noetl.stores.memory import MemoryStore
from noetl.testing.services import Bucket
from tests.stores.unpacked import unpacked

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\n"
ROWS = 900
CANARY = "C4NARY-S3CRET-0f9a"

WRITER = """
    workflow:
      - step: make
        tool: {kind: python, code: "result = [{'n': n, 'text': 'x' * 90} for n in range(900)]"}
        set: {ctx.rows_ref: "{{ output.ref }}"}
        next: {arcs: [{step: read}]}
      - step: read
        tool: {kind: resolve, ref: "{{ ctx.rows_ref }}"}
        set: {ctx.last: "{{ output.data[-1].n }}"}
        next: {arcs: [{step: each}]}
      - step: each
        loop: {in: "{{ ctx.rows_ref }}", iterator: row, spec: {mode: parallel, max_in_flight: 50}}
        tool: {kind: noop, input: {n: "{{ iter.row.n }}"}}
    """
FAILING = """
    workflow:
      - step: make
        tool: {kind: python, code: "result = 'x' * 100000"}
        next: {arcs: [{step: told, when: "{{ event.name == 'step.failed' }}", set: {ctx.why: "{{ output.error }}"}}]}
      - step: told
        tool: {kind: noop}
    """
READER = """
    workflow:
      - step: read
        tool: {kind: resolve, ref: "{{ workload.rows_ref }}", slice: "0:2"}
    """


class Kind(NamedTuple):
    """One kind of store, as an operator and as a playbook name it."""

    url: str
    store: str
    credential: str
    fields: dict[str, str]
    type: str
    spoil: Callable[[dict[str, Any], bytes | None], None]  # other bytes in its place, or none at all


@pytest.fixture(params=["sqlite", "postgres", "s3", "nats_object"])
def kind(request: pytest.FixtureRequest) -> Kind:
    ways = {"sqlite": in_sqlite, "postgres": in_postgres, "s3": in_bucket, "nats_object": in_nats}
    return ways[request.param](request)


def in_sqlite(request: pytest.FixtureRequest) -> Kind:
    file = request.getfixturevalue("tmp_path") / "noetl.results.db"

    def spoil(ref: dict[str, Any], data: bytes | None) -> None:
        with closing(sqlite3.connect(file)) as database, database:
            if data is None:
                database.execute("DELETE FROM result WHERE sha256 = ?", (ref["meta"]["sha256"],))
            else:
                database.execute("UPDATE result_chunk SET data = ?", (data,))

    return Kind("sqlite", "sqlite", "", {}, "relational", spoil)


def in_postgres(request: pytest.FixtureRequest) -> Kind:
    url = request.getfixturevalue("database_url")

    def spoil(ref: dict[str, Any], data: bytes | None) -> None:
        with psycopg.connect(url) as database:
            if data is None:
                database.execute("DELETE FROM noetl_result WHERE sha256 = %s", (ref["meta"]["sha256"],))
            else:
                database.execute("UPDATE noetl_result_chunk SET data = %s", (data,))

    return Kind(url, "{kind: postgres, auth: own}", "postgres_credential", {"dsn": url}, "relational", spoil)


def in_bucket(request: pytest.FixtureRequest) -> Kind:
    bucket: Bucket = request.getfixturevalue("bucket")
    keys = {"access_key_id": "AKIA", "secret_access_key": CANARY}
    request.getfixturevalue("monkeypatch").setenv("AWS_ACCESS_KEY_ID", "AKIA")
    request.getfixturevalue("monkeypatch").setenv("AWS_SECRET_ACCESS_KEY", "any")

    def spoil(ref: dict[str, Any], data: bytes | None) -> None:
        store = S3Store(bucket.name, endpoint=bucket.endpoint, client_options={"allow_http": True}, **keys)
        key = ref["locator"].removeprefix(f"s3://{bucket.name}/")
        if data is None:
            store.delete(key)
        else:
            store.put(key, data)

    store = f"{{kind: s3, bucket: {bucket.name}, prefix: etl, auth: own}}"
    return Kind(bucket.url, store, "s3", {**keys, "endpoint": bucket.endpoint}, "object_store", spoil)


def in_nats(request: pytest.FixtureRequest) -> Kind:
    url = request.getfixturevalue("nats_url")

    def spoil(ref: dict[str, Any], data: bytes | None) -> None:
        async def spoiled() -> None:
            client = await nats.connect(url)
            objects = await client.jetstream().object_store("noetl-results")
            await (objects.delete(ref["meta"]["sha256"]) if data is None else objects.put(ref["meta"]["sha256"], data))
            await client.close()

        asyncio.run(spoiled())

    store = "{kind: nats_object, bucket: noetl-results, auth: own}"
    return Kind(url, store, "nats", {"url": url}, "nats", spoil)


def run(folder: Path, body: str, stores: tuple[str, ...] = ("files",), **payload: Any) -> dict[str, Any]:
    settings = Settings(home=folder, store_url=url_of(folder / "noetl.db"), results_stores=stores)
    data = (HEAD + textwrap.dedent(body)).encode()
    request = RunRequest(data=data, name="t.yaml", folder=str(folder), payload=payload)
    return server.run(settings, request, Nobody()).summary


def owning(kind: Kind, body: str) -> str:
    """A playbook that keeps its results in a place of its own."""
    return f"""
    keychain: [{{name: own, kind: {kind.credential}}}]
    executor: {{spec: {{result: {{store: {kind.store}}}}}}}
    {body.lstrip()}"""


def declaring(kind: Kind, body: str) -> str:
    return f"""
    keychain: [{{name: own, kind: {kind.credential}}}]
    {body.lstrip()}"""


@pytest.mark.spec("RS-01", "RS-06")
def test_the_operators_store_is_written_and_read_by_steps_loops_and_other_executions(
    tmp_path: Path, kind: Kind
) -> None:
    found = run(tmp_path, WRITER, (kind.url,))

    assert (found["status"], found["ctx"]["last"]) == ("success", ROWS - 1)
    reference = found["ctx"]["rows_ref"]
    assert (reference["type"], reference["auth_reference"]) == (kind.type, None)
    assert not (tmp_path / "noetl.results").exists()
    again = run(tmp_path, READER, (kind.url,), rows_ref=reference)
    assert [row["n"] for row in again["output"]["data"]] == [0, 1]


@pytest.mark.spec("RS-01", "RS-05", "RS-06", "KC-07")
@pytest.mark.parametrize("kind", ["postgres", "s3", "nats_object"], indirect=True)
def test_a_playbooks_own_store_is_read_by_those_who_declare_its_credential(
    tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_SECRET_OWN", json.dumps(kind.fields))

    found = run(tmp_path, owning(kind, WRITER))

    assert (found["status"], found["ctx"]["last"]) == ("success", ROWS - 1)
    reference = found["ctx"]["rows_ref"]
    assert (reference["type"], reference["auth_reference"]) == (kind.type, "own")
    again = run(tmp_path, declaring(kind, READER), rows_ref=reference)
    assert [row["n"] for row in again["output"]["data"]] == [0, 1]
    stranger = run(tmp_path, READER, rows_ref=reference)
    assert (stranger["status"], stranger["error"]["kind"]) == ("failed", "auth")
    assert '"own"' in stranger["error"]["message"]
    assert [file for file in tmp_path.rglob("*") if file.is_file() and CANARY.encode() in unpacked(file)] == []


@pytest.mark.spec("TL-05")
@pytest.mark.parametrize(("data", "expected"), [(b"[]", "ref_corrupt"), (None, "ref_missing")])
def test_a_result_that_is_damaged_or_gone_is_told(
    tmp_path: Path, kind: Kind, data: bytes | None, expected: str
) -> None:
    reference = run(tmp_path, WRITER, (kind.url,))["ctx"]["rows_ref"]
    kind.spoil(reference, data)

    found = run(tmp_path, READER, (kind.url,), rows_ref=reference)

    assert (found["status"], found["error"]["kind"]) == ("failed", expected)


@pytest.mark.slow
@pytest.mark.spec("RS-01", "RS-06")
@pytest.mark.parametrize(
    "url",
    ["postgresql://u:hunter2@127.0.0.1:1/db", "s3://acme?endpoint=http://127.0.0.1:1&region=x", "nats://127.0.0.1:1"],
)
def test_a_store_that_cannot_be_reached_fails_the_task_and_asking_again_may_help(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")

    found = run(tmp_path, FAILING, (url,))

    assert found["ctx"]["why"]["kind"] == "connection"
    assert found["ctx"]["why"]["retryable"] is True
    assert "cannot be reached" in found["ctx"]["why"]["message"]
    assert "hunter2" not in json.dumps(found)


@pytest.mark.spec("RS-08")
@pytest.mark.parametrize("is_alone", [False, True])
async def test_a_sweep_takes_nothing_from_a_place_that_others_may_share(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, is_alone: bool
) -> None:
    """Another installation's result in the same bucket: no log of this one names it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    shared = bucket.url.replace("?", f"/shared-{is_alone}?".lower())
    theirs = Stores(tmp_path / "theirs", [shared])
    ours = Stores(tmp_path / "ours", [shared, "files"], is_alone=is_alone)
    await theirs.store(b'"needed by another"')
    await (await ours.for_writing("files", NoCredentials())).store(b'"orphan"')

    swept = await sweep(MemoryStore(), ours, Rule(), time.time() + 2 * 24 * 3600)

    assert (swept.removed, swept.kept) == ((2, 0) if is_alone else (1, 1))
    assert len([kept async for kept in theirs.walk()]) == (0 if is_alone else 1)


@pytest.mark.spec("RS-06")
def test_a_store_that_nobody_set_up_fails_the_task_with_what_to_do(tmp_path: Path) -> None:
    found = run(tmp_path, "executor: {spec: {policy: {results: {store: postgres}}}}" + textwrap.dedent(WRITER))

    assert (found["status"], found["error"]["kind"]) == ("failed", "not_found")
    assert "results.stores" in found["error"]["message"]
