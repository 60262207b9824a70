"""The SQL of docs/postgres.md does what the page says, as the roles that it makes."""

import asyncio
import re
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from noetl.stores.contract import Batch, Snapshot
from noetl.stores.postgres import PostgresStore
from noetl.stores.postgres_schema import TABLES
from noetl.stores.shared import QueueChanges
from noetl.testing.logs import append, playbook, started
from noetl.testing.queued import claim, committed, start
from noetl.testing.records_suite import token

PAGE = (Path(__file__).parent.parent.parent / "docs" / "postgres.md").read_text("utf-8")
MAKE_DATABASE, GRANT_SERVER, GRANT_READER, LOOK = re.findall(r"^```sql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
ROLES = ("noetl_server", "noetl_reader", "noetl")


def statements_of(block):
    return [one.strip() for one in block.split(";\n") if one.strip()]


def as_role(url, role):
    return url.replace("postgres@/postgres?", f"{role}@/noetl?")


async def make_tables(url):
    store = await PostgresStore.open(url)
    await store.close()


@pytest.fixture(scope="module")
def url(postgres_url):
    """The database of the page, its tables made by their owner, and the roles that it grants."""
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        for statement in statements_of(MAKE_DATABASE):
            admin.execute(statement)
        asyncio.run(make_tables(as_role(postgres_url, "noetl")))
        with psycopg.connect(as_role(postgres_url, "postgres"), autocommit=True) as owner:
            for statement in statements_of(GRANT_SERVER) + statements_of(GRANT_READER):
                owner.execute(statement)
        yield postgres_url
        admin.execute("DROP DATABASE noetl WITH (FORCE)")
        for role in ROLES:
            admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


async def test_the_role_of_a_server_is_enough_for_all_that_a_server_does(url):
    store = await PostgresStore.open(as_role(url, "noetl_server"))
    execution_id, (key,) = await start(store, (1, {"group": 1}))
    (claimed,) = await claim(store, "worker-1", 5)
    await store.extend("worker-1", [(key, 5)], 30.0)
    await store.release("worker-1", [(key, 5)])
    await store.expire(10, 5)
    await store.register(playbook("a1"))
    await store.put_record(token("ci"))
    await store.remove_record("token", "ci")
    end = append(execution_id, 2, [started(2)], status="success")
    snapshot = Snapshot(execution_id=execution_id, seq=2, engine=1, body=b"state")
    await committed(store, Batch(appends=[end], snapshots=[snapshot]), changes=QueueChanges(gone=[key]))
    row = await store.execution(execution_id)
    await store.close()

    assert (claimed.key, row.head, row.status) == (key, 2, "success")


@pytest.mark.parametrize("change", ["UPDATE event SET name = 'x'", "DELETE FROM event", "DELETE FROM catalog"])
def test_the_role_of_a_server_may_not_change_what_is_written_for_good(url, change):
    with (
        psycopg.connect(as_role(url, "noetl_server")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(change)


@pytest.mark.parametrize("query", statements_of(LOOK), ids=lambda query: query.partition("\n")[0].lstrip("- "))
def test_whoever_looks_may_look_as_the_page_says(url, query):
    with psycopg.connect(as_role(url, "noetl_reader")) as connection:
        connection.execute(query).fetchall()


def test_whoever_looks_sees_no_tokens(url):
    with (
        psycopg.connect(as_role(url, "noetl_reader")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("SELECT * FROM record")


def test_the_page_names_every_table():
    assert [table for table in TABLES if f"| `{table}` |" not in PAGE] == []
