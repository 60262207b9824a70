"""The stores of results that need a service pass the suite of results, each over a real one."""

import asyncio
import math
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats
import psycopg
import pytest
from nats.js.object_store import ObjectStore
from obstore.store import S3Store
from psycopg import sql

from noetl.errors import ResultStoreRefused, ResultStoreUnreachable
from noetl.references import Reference
from noetl.results.blobs import Place
from noetl.results.choices import Spot
from noetl.results.contract import Results
from noetl.results.nats import NatsResults
from noetl.results.postgres import PostgresResults
from noetl.results.s3 import BucketResults
from noetl.testing.results_suite import LARGE, ResultsSuite
from noetl.testing.services import Bucket


class TestPostgres(ResultsSuite):
    @pytest.fixture(autouse=True)
    def _server(self, postgres_url: str) -> None:
        self.url = postgres_url

    async def make(self, folder: Path) -> Results:
        self.table = f"results_{os.urandom(6).hex()}"
        return await self.reopen(None, folder)

    async def reopen(self, results: Results | None, folder: Path) -> Results:
        place = Place(type="relational", prefix=f"postgres:{self.table}/sha256:")
        return PostgresResults({"dsn": self.url}, self.table, place)

    async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
        piece_bytes = 700_000
        chunks = sql.Identifier(f"{self.table}_chunk")
        with psycopg.connect(self.url) as database:
            database.execute(sql.SQL("DELETE FROM {} WHERE sha256 = %s").format(chunks), (reference.sha256,))
            for number, start in enumerate(range(0, len(data), piece_bytes)):
                row = (reference.sha256, number, data[start : start + piece_bytes])
                database.execute(sql.SQL("INSERT INTO {} VALUES (%s, %s, %s)").format(chunks), row)

    async def lose(self, results: Results, folder: Path, reference: Reference) -> None:
        query = sql.SQL("DELETE FROM {} WHERE sha256 = %s").format(sql.Identifier(self.table))
        with psycopg.connect(self.url) as database:
            database.execute(query, (reference.sha256,))

    async def test_it_goes_on_when_its_connections_were_cut(self, results: Results) -> None:
        reference = await results.store(LARGE)
        with psycopg.connect(self.url, autocommit=True) as database:
            query = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s"
            cut = database.execute(query, ("noetl results",)).fetchall()

        assert cut == [(True,)]
        assert await results.fetch(reference) == LARGE

    async def test_a_refused_credential_is_told_and_not_retried(self, tmp_path: Path) -> None:
        place = Place(type="relational", prefix="postgres:any/sha256:")
        results = PostgresResults({"dsn": self.url, "user": "nobody_at_all"}, "any", place)

        with pytest.raises(ResultStoreRefused, match="refused its credential"):
            await results.store(LARGE)

    async def test_who_may_not_create_tables_uses_those_there_are(self, results: Results) -> None:
        await results.store(LARGE)
        role = f"reader_{os.urandom(4).hex()}"
        tables = sql.SQL(", ").join([sql.Identifier(self.table), sql.Identifier(f"{self.table}_chunk")])
        with psycopg.connect(self.url) as database:
            database.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
            database.execute(sql.SQL("GRANT ALL ON {} TO {}").format(tables, sql.Identifier(role)))
        others = PostgresResults({"dsn": self.url, "user": role}, self.table, results.place)

        reference = await others.store(b"small")

        assert await results.fetch(reference) == b"small"
        await others.close()


class TestBucket(ResultsSuite):
    removes_atomically = False

    @pytest.fixture(autouse=True)
    def _server(self, bucket: Bucket) -> None:
        self.bucket = bucket

    async def make(self, folder: Path) -> Results:
        self.spot = Spot(kind="s3", name=f"{self.bucket.name}/{os.urandom(6).hex()}")
        return await self.reopen(None, folder)

    async def reopen(self, results: Results | None, folder: Path) -> Results:
        fields = {"endpoint": self.bucket.endpoint, "access_key_id": "any", "secret_access_key": "any"}
        place = Place(type="object_store", prefix=self.spot.locator_prefix)
        return BucketResults(self.spot, fields, place, is_operators=False)

    async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
        self._store().put(self._key(reference), data)

    async def lose(self, results: Results, folder: Path, reference: Reference) -> None:
        self._store().delete(self._key(reference))

    def _key(self, reference: Reference) -> str:
        return reference.locator.removeprefix(f"s3://{self.bucket.name}/")

    def _store(self) -> S3Store:
        keys = {"access_key_id": "any", "secret_access_key": "any"}
        options = {"allow_http": True}
        return S3Store(self.bucket.name, endpoint=self.bucket.endpoint, **keys, client_options=options)


@pytest.mark.slow
@pytest.mark.spec("RS-01")
async def test_a_postgres_that_has_gone_silent_is_not_waited_for_without_end(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = f"silent_{os.urandom(6).hex()}"
    results = PostgresResults(
        {"dsn": postgres_url}, table, Place(type="relational", prefix=f"postgres:{table}/sha256:")
    )
    reference = await results.store(LARGE)
    monkeypatch.setattr("noetl.results.postgres.SILENCE_SECONDS_MAX", 0.5)
    frozen = results._idle[0].info.backend_pid
    os.kill(frozen, signal.SIGSTOP)

    try:
        with pytest.raises(ResultStoreUnreachable, match="silent"):
            await results.fetch(reference)
    finally:
        os.kill(frozen, signal.SIGCONT)

    assert await results.fetch(reference) == LARGE
    await results.close()


class TestNats(ResultsSuite):
    @pytest.fixture(autouse=True)
    def _server(self, nats_url: str) -> None:
        self.url = nats_url

    async def make(self, folder: Path) -> Results:
        self.bucket = f"results-{os.urandom(6).hex()}"
        return await self.reopen(None, folder)

    async def reopen(self, results: Results | None, folder: Path) -> Results:
        return NatsResults({"url": self.url}, self.bucket, Place(type="nats", prefix=f"nats:{self.bucket}/sha256:"))

    async def damage(self, results: Results, folder: Path, reference: Reference, data: bytes) -> None:
        async with self._object_store() as objects:
            await objects.put(reference.sha256, data)

    async def lose(self, results: Results, folder: Path, reference: Reference) -> None:
        async with self._object_store() as objects:
            await objects.delete(reference.sha256)

    async def test_other_programs_can_read_it(self, results: Results) -> None:
        reference = await results.store(LARGE)

        async with self._object_store() as objects:
            found = await objects.get(reference.sha256)

        assert found.data == LARGE

    async def test_nothing_is_left_of_what_is_replaced_or_removed(self, results: Results) -> None:
        reference = await results.store(LARGE)
        await asyncio.gather(*(results.store(LARGE) for _ in range(4)))
        await results.remove(reference.locator, stored_before=math.inf)

        async with self._object_store() as objects:
            assert (await objects.status()).stream_info.state.messages == 0

    async def test_it_goes_on_when_its_connection_was_cut(self, results: Results) -> None:
        reference = await results.store(LARGE)
        await results._connection.client.close()

        assert await results.fetch(reference) == LARGE

    async def test_a_credential_that_cannot_be_one_is_refused_without_showing_it(self) -> None:
        with pytest.raises(ResultStoreRefused, match="creds must be") as refused:
            NatsResults({"url": self.url, "creds": "hunter2"}, "b", Place(type="nats", prefix="nats:b/sha256:"))

        assert "hunter2" not in str(refused.value)

    @asynccontextmanager
    async def _object_store(self) -> AsyncIterator[ObjectStore]:
        client = await nats.connect(self.url)
        yield await client.jetstream().object_store(self.bucket)
        await client.close()
