"""What every acceptance test works with: the command line over a fresh home, a web API on loopback, a PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from noetl.testing.http_server import ApiServer, running_api
from noetl.testing.services import running_postgres
from tests.acceptance.noetl import Noetl


@pytest.fixture
def noetl(tmp_path: Path) -> Noetl:
    return Noetl(tmp_path)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with running_postgres() as url:
        yield url


@pytest.fixture
def database(postgres_url: str) -> Iterator[psycopg.Connection]:
    """An empty database of one test, and how a test looks into it; its address is `database.info.dsn`."""
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("DROP DATABASE IF EXISTS trial WITH (FORCE)")
        server.execute("CREATE DATABASE trial")
    with psycopg.connect(postgres_url.replace("/postgres?", "/trial?"), autocommit=True) as connection:
        yield connection


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with running_api() as running:
        yield running
