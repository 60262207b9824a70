"""Tests that start whole clusters: one after the other, in one process, so that they do not starve each other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from noetl.testing.services import running_postgres

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("cluster"))


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    with running_postgres() as url:
        yield url
