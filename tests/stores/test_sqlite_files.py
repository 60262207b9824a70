"""The files of a SQLite store: their modes and schema, and what is said of files that are not what they should be."""

import sqlite3
import stat

import pytest

from noetl.errors import StoreTooNew, StoreUnusable
from noetl.stores import sqlite_database
from noetl.stores.contract import Record
from noetl.stores.sqlite import SqliteStore
from noetl.stores.sqlite_database import MIGRATIONS, SCHEMA
from noetl.stores.wanted import Paths, Wanted
from noetl.testing.logs import begin, log_of, started


@pytest.fixture
def path(tmp_path):
    return tmp_path / "noetl.db"


@pytest.fixture
async def store(path):
    opened = await SqliteStore.open(path)
    yield opened
    await opened.close()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


async def test_everything_that_is_made_is_private(tmp_path):
    home = tmp_path / ".noetl"
    store = await SqliteStore.open(home / "noetl.db")
    await begin(store, [started(1)])

    modes = {file.name: mode(file) for file in home.iterdir() if file.name != ".gitignore"}
    await store.close()

    names = ("noetl.db", "noetl.db-wal", "noetl.db-shm", "noetl.db.lock")
    assert modes == dict.fromkeys(names, 0o600)
    assert mode(home) == 0o700


async def test_a_home_that_is_made_here_is_kept_out_of_git(tmp_path):
    for name in (".noetl", "data"):
        store = await SqliteStore.open(tmp_path / name / "noetl.db")
        await store.close()

    assert (tmp_path / ".noetl" / ".gitignore").read_text() == "*\n"
    assert not (tmp_path / "data" / ".gitignore").exists()


async def test_a_folder_that_is_there_is_left_as_it_is(tmp_path):
    home = tmp_path / ".noetl"
    home.mkdir(mode=0o755)

    store = await SqliteStore.open(home / "noetl.db")
    await store.close()

    assert mode(home) == 0o755
    assert not (home / ".gitignore").exists()


async def test_a_path_with_odd_characters_is_only_a_path(tmp_path):
    path = tmp_path / "a b?mode=memory#c%20" / "n:o'etl.db"

    store = await SqliteStore.open(path)
    execution_id = await begin(store, [started(1)])
    await store.close()
    again = await SqliteStore.open(path, is_read_only=True)

    assert path.stat().st_size > 0
    assert await log_of(again, execution_id) == [(1, started(1))]
    await again.close()


async def test_closing_leaves_one_file_and_its_lock(path):
    store = await SqliteStore.open(path)
    await begin(store, [started(1)])

    await store.close()

    assert sorted(file.name for file in path.parent.iterdir()) == ["noetl.db", "noetl.db.lock"]


async def test_a_folder_that_cannot_be_made_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(StoreUnusable, match="--store"):
        await SqliteStore.open(tmp_path / "file" / "noetl.db")


# --- schema and damage ------------------------------------------------------------------------------------------------


async def test_a_store_of_a_newer_version_is_refused_and_not_touched(path):
    store = await SqliteStore.open(path)
    await store.close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = 99 WHERE key = 'schema'")
    database.close()
    before = path.read_bytes()

    for is_read_only in (False, True):
        with pytest.raises(StoreTooNew, match="schema 99"):
            await SqliteStore.open(path, is_read_only=is_read_only)

    assert path.read_bytes() == before


@pytest.mark.parametrize("is_read_only", [False, True])
async def test_a_file_that_is_no_database_is_refused_and_not_touched(path, is_read_only):
    path.write_bytes(b"these are not the bytes of a database " * 100)
    before = path.read_bytes()

    with pytest.raises(StoreUnusable, match="not a SQLite database"):
        await SqliteStore.open(path, is_read_only=is_read_only)

    assert path.read_bytes() == before


@pytest.mark.parametrize("is_read_only", [False, True])
async def test_a_database_of_another_program_is_refused_and_not_touched(path, is_read_only):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE songs (name)")
    database.close()
    before = path.read_bytes()

    with pytest.raises(StoreUnusable, match="another program"):
        await SqliteStore.open(path, is_read_only=is_read_only)

    assert path.read_bytes() == before


async def test_a_damaged_page_is_an_error_with_what_to_do(path):
    store = await SqliteStore.open(path)
    execution_id = await begin(store, [started(number) for number in range(1, 1000)])
    await store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))

    store = await SqliteStore.open(path, is_read_only=True)
    with pytest.raises(StoreUnusable, match="backup"):
        await log_of(store, execution_id)
    await store.close()


@pytest.mark.parametrize(
    "body", [b'{"name":"step.teleported","ts":1}', b'{"name":"step.\xff","ts":1}'], ids=["another name", "no text"]
)
async def test_an_event_that_this_version_does_not_know_is_named(path, store, body):
    execution_id = await begin(store, [started(1)])
    with sqlite3.connect(path) as database:
        database.execute("UPDATE event_block SET body = ?", (b"[" + body + b"]",))
    database.close()

    with pytest.raises(StoreUnusable, match=rf"event {execution_id}-1 cannot be read"):
        await store.events(execution_id)


def test_every_schema_has_its_migration():
    files = sorted(file.name for file in sqlite_database.MIGRATIONS.glob("sqlite_*.sql"))

    assert files == [f"sqlite_{number:03}.sql" for number in range(1, sqlite_database.SCHEMA + 1)]


async def test_a_migration_that_fails_leaves_the_store_as_it_was(path, tmp_path, monkeypatch):
    migrations = tmp_path / "sql"
    migrations.mkdir()
    next_migration = migrations / f"sqlite_{SCHEMA + 1:03}.sql"
    next_migration.write_text("CREATE TABLE extra (a); SELECT no_such_function();")
    store = await SqliteStore.open(path)
    await store.close()
    monkeypatch.setattr(sqlite_database, "MIGRATIONS", migrations)
    monkeypatch.setattr(sqlite_database, "SCHEMA", SCHEMA + 1)

    with pytest.raises(sqlite3.OperationalError):
        await SqliteStore.open(path)

    monkeypatch.setattr(sqlite_database, "SCHEMA", SCHEMA)
    with sqlite3.connect(path) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    database.close()
    assert "extra" not in tables
    store = await SqliteStore.open(path)
    await store.close()


async def test_a_store_of_an_older_schema_is_brought_up_to_date(path, tmp_path, monkeypatch):
    store = await SqliteStore.open(path)
    execution_id = await begin(store, [started(1)])
    await store.close()
    migrations = tmp_path / "sql"
    migrations.mkdir()
    (migrations / f"sqlite_{SCHEMA + 1:03}.sql").write_text("ALTER TABLE execution ADD COLUMN extra TEXT;\n")
    monkeypatch.setattr(sqlite_database, "MIGRATIONS", migrations)
    monkeypatch.setattr(sqlite_database, "SCHEMA", SCHEMA + 1)

    with pytest.raises(StoreUnusable, match=f"schema {SCHEMA}, and this NoETL reads {SCHEMA + 1}"):
        await SqliteStore.open(path, is_read_only=True)
    store = await SqliteStore.open(path)
    await store.close()
    store = await SqliteStore.open(path, is_read_only=True)

    assert (await store.execution(execution_id)).head == 1
    await store.close()


async def test_the_executions_of_a_store_of_the_first_schema_are_still_there(path):
    with sqlite3.connect(path) as database:
        database.executescript((MIGRATIONS / "sqlite_001.sql").read_text(encoding="utf-8"))
        database.execute("UPDATE meta SET value = 1 WHERE key = 'schema'")
        database.execute("INSERT INTO execution VALUES (7, 's', 'p', 1, 'success', 3, '', NULL, NULL, NULL, 1, 2, '')")
    database.close()

    store = await SqliteStore.open(path)

    assert [row.id for row in await store.executions(wanted=Wanted(paths=Paths(exact=("p",))))] == [7]
    assert await store.put_record(Record(room="token", name="ci"))
    await store.close()


def test_a_library_that_is_too_old_is_refused_with_both_versions():
    with pytest.raises(StoreUnusable, match=r"3\.35\.0 or newer, but this Python has 3\.34\.1"):
        sqlite_database.require_sqlite((3, 34, 1))


@pytest.mark.parametrize("is_replaced", [False, True], ids=["removed", "replaced"])
async def test_a_file_that_was_taken_away_acknowledges_nothing_more(path, store, tmp_path, is_replaced):
    await begin(store, [started(1)])
    if is_replaced:
        (tmp_path / "other.db").touch()
        (tmp_path / "other.db").replace(path)
    else:
        path.unlink()

    with pytest.raises(StoreUnusable, match="was removed or replaced"):
        await begin(store, [started(1)])
