"""What holds for every store that several servers share, besides what holds for every store (`store_suite.py`):

    class TestMyStore(SharedStoreSuite):
        async def make(self, folder: Path) -> SharedStore:
            return await MyStore.open(…)

`make` gives a new, empty store for each test, whose leases last 30 seconds. Tests of leases that run out give leases
that have run out already, so nothing waits for a clock but short pauses before a second delivery.
"""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noetl.stores.shared import SharedStore
from noetl.testing.foreseen_suite import ForeseenSuite
from noetl.testing.job_lists_suite import JobListsSuite
from noetl.testing.jobs_suite import JobsSuite
from noetl.testing.logs import begin
from noetl.testing.sweep_suite import SweepSuite
from noetl.testing.transaction_suite import TransactionSuite


class SharedStoreSuite(TransactionSuite, ForeseenSuite, JobsSuite, JobListsSuite, SweepSuite):
    """The behaviour of a shared store; see the module for how to use it."""

    async def make(self, folder: Path) -> SharedStore:
        raise NotImplementedError

    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[SharedStore]:
        made = await self.make(tmp_path)
        yield made
        await made.close()

    async def test_executions_of_two_servers_are_listed_by_age_and_not_by_the_blocks_of_their_ids(
        self, store: SharedStore
    ) -> None:
        one, other = await store.reserve_ids(2), await store.reserve_ids(2)
        ids = [one, other, one + 1, other + 1]
        for age, execution_id in enumerate(ids):
            await begin(store, [], id=execution_id, created_at=10.0 + age)

        newest = await store.executions(limit=2)
        older = await store.executions(before=newest[-1].id)

        assert [row.id for row in newest] == [other + 1, one + 1]
        assert [row.id for row in older] == [other, one]
