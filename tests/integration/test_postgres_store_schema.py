"""The tables of a PostgreSQL store: made once by many, refused when they are another's or newer, never half made."""

import asyncio
from itertools import count
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from psycopg import sql

from noetl.errors import StoreTooNew, StoreUnusable
from noetl.stores import postgres_schema
from noetl.stores.postgres import PostgresStore
from noetl.stores.postgres_schema import MIGRATIONS, SCHEMA
from noetl.testing.logs import begin, started

SERVERS = 6
NUMBERS = count(1)


@pytest.fixture
def owner(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def schema(owner):
    name = f"store_{next(NUMBERS)}"
    owner.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    owner.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(name)))
    return name


@pytest.fixture
def url(database_url, schema):
    return in_schema(database_url, schema)


def in_schema(database_url, schema):
    return f"{database_url}&options={quote(f'-csearch_path={schema}')}"


def tables_in(owner, schema):
    query = "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r' ORDER BY 1"
    return [name for (name,) in owner.execute(query, (schema,)).fetchall()]


async def test_servers_that_start_at_once_make_the_tables_once(owner, schema, url):
    stores = await asyncio.gather(*(PostgresStore.open(url) for _ in range(SERVERS)))
    ids = [await begin(store, [started(1)]) for store in stores]
    for store in stores:
        await store.close()

    assert ids == list(range(1, SERVERS + 1))
    assert tables_in(owner, schema) == sorted(postgres_schema.TABLES)
    assert owner.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone() == (SCHEMA,)


def test_every_schema_has_its_migration():
    files = sorted(file.name for file in MIGRATIONS.glob("postgres_*.sql"))

    assert files == [f"postgres_{number:03}.sql" for number in range(1, SCHEMA + 1)]


async def test_a_store_of_a_newer_version_is_refused(owner, url):
    await (await PostgresStore.open(url)).close()
    owner.execute("UPDATE meta SET value = 99 WHERE key = 'schema'")

    with pytest.raises(StoreTooNew, match="schema 99"):
        await PostgresStore.open(url)


@pytest.mark.parametrize("table", ["CREATE TABLE event (name text)", "CREATE TABLE meta (id int, key text)"])
async def test_tables_of_another_program_are_refused_and_not_touched(owner, schema, url, table):
    owner.execute(table)
    before = tables_in(owner, schema)

    with pytest.raises(StoreUnusable, match="another program") as refused:
        await PostgresStore.open(url)

    assert "search_path" in str(refused.value)
    assert tables_in(owner, schema) == before


async def test_other_tables_beside_ours_are_nobodys_business(owner, schema, url):
    owner.execute("CREATE TABLE songs (name text)")

    store = await PostgresStore.open(url)
    await store.close()

    assert "songs" in tables_in(owner, schema)


async def test_whoever_only_looks_makes_no_tables(owner, schema, url):
    with pytest.raises(StoreUnusable, match="next server that starts"):
        await PostgresStore.open(url, is_migrating=False)

    assert tables_in(owner, schema) == []


async def test_a_schema_that_is_not_there_is_named(database_url):
    with pytest.raises(StoreUnusable, match="CREATE SCHEMA") as refused:
        await PostgresStore.open(in_schema(database_url, "nowhere"))

    assert "nowhere" in str(refused.value)


async def test_a_migration_that_fails_leaves_the_store_as_it_was(owner, schema, url, tmp_path, monkeypatch):
    await (await PostgresStore.open(url)).close()
    (tmp_path / f"postgres_{SCHEMA + 1:03}.sql").write_text("CREATE TABLE extra (a int); SELECT no_such_function();")
    monkeypatch.setattr(postgres_schema, "MIGRATIONS", tmp_path)
    monkeypatch.setattr(postgres_schema, "SCHEMA", SCHEMA + 1)

    with pytest.raises(StoreUnusable, match="no_such_function"):
        await PostgresStore.open(url)

    assert "extra" not in tables_in(owner, schema)
    assert owner.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone() == (SCHEMA,)


async def test_a_store_of_an_older_schema_is_brought_up_to_date(owner, schema, url, tmp_path, monkeypatch):
    store = await PostgresStore.open(url)
    execution_id = await begin(store, [started(1)])
    await store.close()
    (tmp_path / f"postgres_{SCHEMA + 1:03}.sql").write_text("ALTER TABLE execution ADD COLUMN extra text;")
    monkeypatch.setattr(postgres_schema, "MIGRATIONS", tmp_path)
    monkeypatch.setattr(postgres_schema, "SCHEMA", SCHEMA + 1)

    stores = await asyncio.gather(*(PostgresStore.open(url) for _ in range(SERVERS)))

    assert [(await store.execution(execution_id)).head for store in stores] == [1] * SERVERS
    for store in stores:
        await store.close()


async def test_a_database_in_another_encoding_is_refused(owner, database_url):
    owner.execute("CREATE DATABASE store_latin1 ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    name = urlsplit(database_url).path

    with pytest.raises(StoreUnusable, match="UTF8, and this one is in LATIN1"):
        await PostgresStore.open(database_url.replace(f"{name}?", "/store_latin1?"))
    owner.execute("DROP DATABASE store_latin1 WITH (FORCE)")


async def test_a_role_that_may_not_make_tables_is_told_what_it_needs(owner, schema, url):
    role = f"{schema}_newcomer"
    for grant in ("CREATE ROLE {role} LOGIN", "GRANT USAGE ON SCHEMA {schema} TO {role}"):
        owner.execute(sql.SQL(grant).format(role=sql.Identifier(role), schema=sql.Identifier(schema)))

    with pytest.raises(StoreUnusable, match="Grant CREATE on the schema"):
        await PostgresStore.open(url.replace("postgres@", f"{role}@"))
