"""What every acceptance test works with: the command line over a fresh home, a web API on loopback, a PostgreSQL.

With NOETL_ACCEPTANCE=cluster the command line asks a cluster of two servers and three workers instead, and the tests
are the same (`make acceptance-cluster`); those that cannot hold there are skipped with the reason.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from noetl.testing.http_server import ApiServer, running_api
from noetl.testing.services import running_postgres
from tests.acceptance.noetl import Noetl
from tests.cluster.acceptance import ONLY_EMBEDDED, OnCluster
from tests.cluster.cluster import Cluster, running_cluster

IS_CLUSTER = os.environ.get("NOETL_ACCEPTANCE") == "cluster"
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On a cluster: what is about one process over one file is left out."""
    for item in items if IS_CLUSTER else ():
        name = getattr(item, "originalname", item.name)
        if HERE in item.path.parents and name in ONLY_EMBEDDED:
            item.add_marker(pytest.mark.skip(f"not on a cluster: {ONLY_EMBEDDED[name]}"))
        elif HERE in item.path.parents and "noetl" not in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip("not on a cluster: it does not use one"))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running
        running.stop()


@pytest.fixture
def noetl(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Noetl]:
    if not IS_CLUSTER:
        yield Noetl(tmp_path)
        return
    on_cluster = OnCluster(tmp_path, request.getfixturevalue("cluster"))
    yield on_cluster
    on_cluster.leave()


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
