"""A PostgreSQL store in a rough world: restarted, cut off, too slow, cancelled. Nothing is half written or hangs."""

import asyncio
import time

import psycopg
import pytest

from noetl.errors import RequestError, StoreUnusable, Unreachable
from noetl.stores import postgres_line
from noetl.stores.contract import Batch
from noetl.stores.postgres import PostgresStore
from noetl.stores.shared import ACCEPTED, DUPLICATE, FINAL, QueueChanges
from noetl.testing.clocks import PutClock
from noetl.testing.logs import append, log_of, started
from noetl.testing.queued import WORKER, done, fence, start, word
from noetl.testing.services import restarting_postgres
from tests.integration.test_postgres_tls import HOST, make_certificates, tls_door

CUT = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'noetl'"


@pytest.fixture
async def store(database_url):
    opened = await PostgresStore.open(database_url)
    yield opened
    await opened.close()


@pytest.fixture
async def transaction(store):
    made = await store.transaction()
    yield made
    await made.close()


def cut_all(url):
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(CUT)


async def test_connections_that_were_cut_while_idle_are_not_noticed(store, transaction, database_url):
    execution_id, _ = await start(store)
    await transaction.begin([execution_id], [])
    await transaction.rollback()

    cut_all(database_url)
    row = await store.execution(execution_id)
    heads, _ = await transaction.begin([execution_id], [])

    assert (row.head, heads[execution_id].head) == (1, 1)


async def test_a_transaction_that_was_cut_wrote_nothing_and_can_be_done_again(store, transaction, database_url):
    execution_id, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))
    ending = Batch(appends=[append(execution_id, 2, [done(key, 5)])])
    await transaction.begin([execution_id], [fence(key, 5, 1, FINAL)])

    cut_all(database_url)
    with pytest.raises(Unreachable):
        await transaction.commit(ending, 1, QueueChanges())
    _, words = await transaction.begin([execution_id], [fence(key, 5, 1, FINAL)])
    await transaction.commit(ending, 2, QueueChanges())

    assert words == {(key, 5): ACCEPTED}
    assert [seq for seq, _ in await log_of(store, execution_id)] == [1, 2]
    assert await word(store, fence(key, 5, 1, FINAL)) == DUPLICATE


async def test_whoever_is_cancelled_while_it_waits_for_a_lock_leaves_no_lock(store, transaction):
    execution_id, _ = await start(store)
    other = await store.transaction()
    await transaction.begin([execution_id], [])
    waiting = asyncio.ensure_future(other.begin([execution_id], []))
    await asyncio.wait({waiting}, timeout=0.2)

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await transaction.commit(Batch(appends=[append(execution_id, 2, [started(2)])]), 1, QueueChanges())
    heads, _ = await transaction.begin([execution_id], [])
    await other.close()

    assert heads[execution_id].head == 2


async def test_a_server_that_does_not_answer_is_given_up(store, transaction, monkeypatch):
    execution_id, _ = await start(store)
    await transaction.begin([execution_id], [])
    monkeypatch.setattr(postgres_line, "ANSWER_SECONDS_MAX", 0.2)

    with pytest.raises(Unreachable, match="does not answer"):
        await store.following([execution_id], 5.0)
    await transaction.rollback()
    await store.following([execution_id], 5.0)

    assert execution_id in [row.id for row in await store.abandoned(100)]


async def test_a_batch_that_cannot_be_encoded_leaves_no_lock(store, transaction):
    execution_id, _ = await start(store)
    await transaction.begin([execution_id], [])

    with pytest.raises(TypeError):
        await transaction.commit(
            Batch(appends=[append(execution_id, 2, [done((execution_id, 1, -1), object())])]), 1, QueueChanges()
        )
    heads, _ = await transaction.begin([execution_id], [])

    assert heads[execution_id].head == 1


async def test_a_text_that_postgresql_cannot_keep_is_the_askers_fault(store):
    with pytest.raises(RequestError, match=r"U\+0000"):
        await store.execution_by_request("a\0b")
    with pytest.raises(RequestError, match=r"U\+0000"):
        await start(store, request_key="a\0b")

    assert await store.execution_by_request("ab") is None


async def test_a_closed_store_says_so(database_url):
    store = await PostgresStore.open(database_url)
    await store.close()

    with pytest.raises(StoreUnusable, match="closed"):
        await store.execution(1)


async def test_a_database_that_is_not_there_is_the_operators_to_mend(postgres_url):
    with pytest.raises(StoreUnusable, match="nowhere"):
        await PostgresStore.open(postgres_url.replace("/postgres?", "/nowhere?"))


async def test_a_server_that_is_not_there_is_unreachable_and_no_password_is_shown(unused_tcp_port):
    url = f"postgresql://noetl:s3cret@127.0.0.1:{unused_tcp_port}/orders"

    with pytest.raises(Unreachable) as refused:
        await PostgresStore.open(url)

    assert f"postgresql://noetl@127.0.0.1:{unused_tcp_port}/orders" in str(refused.value)
    assert "s3cret" not in str(refused.value)


async def test_a_clock_that_is_put_while_it_is_compared_with_the_stores_changes_nothing(postgres_url):
    store = await PostgresStore.open(postgres_url, clock=PutClock())
    ahead = await store.clock_ahead_seconds()
    await store.close()

    assert abs(ahead - (time.time() - time.monotonic())) < 1.0


def tls_url(port, authority):
    return f"postgresql://postgres@{HOST}:{port}/postgres?sslmode=verify-full&sslrootcert={authority}"


async def test_a_server_that_proves_who_it_is_is_spoken_to_over_tls(postgres_url, tmp_path):
    make_certificates(tmp_path)

    async with tls_door(postgres_url, tmp_path) as port:
        store = await PostgresStore.open(tls_url(port, tmp_path / "ours.pem"))
        ahead = await store.clock_ahead_seconds()
        await store.close()

    assert abs(ahead - (time.time() - time.monotonic())) < 1.0


@pytest.mark.parametrize("authority", ["others.pem", "none.pem"])
async def test_a_server_that_no_trusted_authority_vouches_for_is_refused(postgres_url, tmp_path, authority):
    make_certificates(tmp_path)

    async with tls_door(postgres_url, tmp_path) as port:
        with pytest.raises(StoreUnusable, match="sslrootcert"):
            await PostgresStore.open(tls_url(port, tmp_path / authority))


@pytest.mark.slow
@pytest.mark.parametrize("stop_signal", ["SIGINT", "SIGQUIT"], ids=["restarted", "crashed"])
async def test_what_was_committed_is_there_after_postgresql_came_back(stop_signal):
    with restarting_postgres(stop_signal=stop_signal) as server:
        store = await PostgresStore.open(server.url)
        transaction, idle = await store.transaction(), await store.transaction()
        execution_id, (key,) = await start(store, (1, {"lease": 5, "worker": WORKER}))
        ending = Batch(appends=[append(execution_id, 2, [done(key, 5)])])
        await idle.begin([], [])
        await idle.rollback()
        await transaction.begin([execution_id], [fence(key, 5, 1, FINAL)])

        await asyncio.to_thread(server.stop)
        with pytest.raises(Unreachable):
            await transaction.commit(ending, 1, QueueChanges())
        for asked in (transaction.begin([execution_id], []), idle.begin([], []), store.execution(execution_id)):
            with pytest.raises(Unreachable):
                await asked
        await asyncio.to_thread(server.start)
        _, words = await transaction.begin([execution_id], [fence(key, 5, 1, FINAL)])
        await transaction.commit(ending, 2, QueueChanges())
        await idle.begin([execution_id], [])
        row = await store.execution(execution_id)
        for one in (transaction, idle, store):
            await one.close()

    assert words == {(key, 5): ACCEPTED}
    assert row.head == 2
