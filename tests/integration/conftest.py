"""Real PostgreSQL, NATS and S3-style storage for this folder: one server per session, one database per module.

Under xdist the whole folder goes to one worker (`--dist loadgroup`, as the Makefile says), so that the session is one.
"""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from noetl.testing.services import Bucket, running_nats, running_postgres, running_s3

HERE = Path(__file__).parent

pytest.register_assert_rewrite(
    "noetl.testing.records_suite",
    "noetl.testing.store_suite",
    "noetl.testing.transaction_suite",
    "noetl.testing.jobs_suite",
    "noetl.testing.sweep_suite",
)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("services"))


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
