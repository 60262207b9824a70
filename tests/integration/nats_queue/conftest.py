"""A stage on the session's NATS: servers and workers under a prefix of the test's own. No test waits for ever."""

import asyncio
import functools
import inspect
from pathlib import Path

import pytest
import pytest_asyncio

from noetl.testing.nats_stage import on_nats
from noetl.testing.office import Office

HERE = Path(__file__).parent
TEST_SECONDS_MAX = 60.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What never comes is a failure that says where it was waited for."""
    for item in items:
        if HERE in item.path.parents and inspect.iscoroutinefunction(getattr(item, "obj", None)):
            item.obj = bounded(item.obj)


def bounded(test):
    @functools.wraps(test)
    async def within(**fixtures):
        async with asyncio.timeout(TEST_SECONDS_MAX):
            await test(**fixtures)

    return within


@pytest_asyncio.fixture
async def office():
    return Office()


@pytest_asyncio.fixture
async def stage(nats_url):
    async with on_nats(nats_url) as made:
        yield made
