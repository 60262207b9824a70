"""Real PostgreSQL, NATS and S3-style storage for this folder: one server per session, one database per module.

Under xdist each worker is a session, with servers of its own (PostgreSQL starts for one CPU second, NATS for a tenth),
and a module goes to one worker as a whole (`--dist loadgroup`, as the Makefile says), so that it has its database and
its order to itself, while modules that wait do so beside each other.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql

from noetl.control import rescue, shared_following, shared_sitting
from noetl.stores.postgres import PostgresStore
from noetl.testing.services import Bucket, running_nats, running_postgres, running_s3

HERE = Path(__file__).parent

pytest.register_assert_rewrite(
    "noetl.testing.listing_suite",
    "noetl.testing.records_suite",
    "noetl.testing.store_suite",
    "noetl.testing.transaction_suite",
    "noetl.testing.foreseen_suite",
    "noetl.testing.job_lists_suite",
    "noetl.testing.jobs_suite",
    "noetl.testing.sweep_suite",
)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(HERE).as_posix()))


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with running_postgres() as url:
        yield url


@pytest.fixture(scope="session")
def nats_url() -> Iterator[str]:
    with running_nats() as url:
        yield url


@pytest.fixture(scope="session")
def bucket() -> Iterator[Bucket]:
    with running_s3() as found:
        yield found


@pytest.fixture(scope="module")
def database_url(postgres_url: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database that no other module uses."""
    name = request.module.__name__.rpartition(".")[2]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield postgres_url.replace("/postgres?", f"/{name}?")
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest_asyncio.fixture
async def eye(database_url: str) -> AsyncIterator[PostgresStore]:
    """A store over the same database, which nobody disturbs."""
    store = await PostgresStore.open(database_url)
    yield store
    await store.close()


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a server takes half a minute for otherwise: the same waits, shorter."""
    for room in (shared_sitting, rescue):
        monkeypatch.setattr(room, "FOLLOW_SECONDS", 1.0)
    monkeypatch.setattr(rescue, "SWEEP_SECONDS", 0.1)
    monkeypatch.setattr(rescue, "ORPHAN_SECONDS", 2.0)
    monkeypatch.setattr(shared_following, "RETRY_SECONDS", 0.1)
