"""What a sweep finds in every store that several servers share; `SharedStoreSuite` includes it."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import pytest

from noetl.stores.contract import CANCELLED, INCIDENT, RUNNING, SUCCESS, WAITING, Batch
from noetl.stores.shared import SharedStore
from noetl.testing.logs import append, started
from noetl.testing.queued import committed, start

FAR_AWAY = 9e9  # seconds since 1970
CLOCKS_APART_SECONDS_MAX = 1.0  # on one machine


class SweepSuite:
    """Deadlines, what a lost server left undone, and children that nobody waits for."""

    async def test_executions_are_overdue_once_their_time_has_passed_the_longest_first(
        self, store: SharedStore
    ) -> None:
        ids = [(await start(store))[0] for _ in range(4)]
        for execution_id, deadline_at in zip(ids, (30.0, 10.0, FAR_AWAY, None), strict=True):
            await store.set_deadline(execution_id, deadline_at, 1)

        assert await store.overdue(10) == [ids[1], ids[0]]
        assert await store.overdue(1) == [ids[1]]

    async def test_a_deadline_is_moved_or_taken_away(self, store: SharedStore) -> None:
        moved, cleared = [(await start(store))[0] for _ in range(2)]
        for execution_id in (moved, cleared):
            await store.set_deadline(execution_id, 10.0, 1)

        await store.set_deadline(moved, FAR_AWAY, 1)
        await store.set_deadline(cleared, None, 1)

        assert await store.overdue(10) == []

    async def test_a_deadline_that_was_made_from_an_older_log_is_not_taken(self, store: SharedStore) -> None:
        execution_id, _ = await start(store)
        await store.set_deadline(execution_id, 10.0, 1)

        await store.set_deadline(execution_id, FAR_AWAY, 0)

        assert await store.overdue(10) == [execution_id]

    async def test_running_executions_without_a_job_and_a_server_at_work_are_stranded(self, store: SharedStore) -> None:
        stranded, _ = await start(store)
        followed, _ = await start(store)
        await start(store, (1, {}))
        await start(store, status=WAITING)
        await store.following([followed], FAR_AWAY)

        assert await store.stranded(10, 0.0) == [stranded]
        assert await store.stranded(10, FAR_AWAY) == []

    async def test_an_execution_that_has_ended_gets_no_deadline(self, store: SharedStore) -> None:
        execution_id, _ = await start(store, status=SUCCESS)

        await store.set_deadline(execution_id, 10.0, 1)

        assert await store.overdue(10) == []

    async def test_what_a_server_did_not_follow_up_in_time_is_abandoned(self, store: SharedStore) -> None:
        late, ended, still_at_it, settled = [(await start(store))[0] for _ in range(4)]
        for execution_id in (late, ended, still_at_it, settled):
            one = append(execution_id, 2, [started(2)], follow_until=5.0)
            await committed(store, Batch(appends=[one]))
        await committed(store, Batch(appends=[append(ended, 3, [started(3)], status=SUCCESS)]))

        await store.following([still_at_it], FAR_AWAY)
        await store.followed([settled], 5.0)
        found = await store.abandoned(10)

        assert [(row.id, row.status) for row in found] == [(late, RUNNING), (ended, SUCCESS)]
        assert len(await store.abandoned(1)) == 1

    async def test_a_mark_that_is_newer_than_what_a_server_is_through_with_stays(self, store: SharedStore) -> None:
        execution_id, _ = await start(store)
        await store.following([execution_id], 5.0)

        await store.followed([execution_id], 4.0)

        assert [row.id for row in await store.abandoned(10)] == [execution_id]

    async def test_what_is_abandoned_is_taken_over_by_one_only(self, store: SharedStore) -> None:
        late, still_at_it = [(await start(store))[0] for _ in range(2)]
        await store.following([late], 5.0)
        await store.following([still_at_it], FAR_AWAY)

        found = [await store.take_over(10, FAR_AWAY) for _ in range(2)]

        assert [[row.id for row in rows] for rows in found] == [[late], []]

    async def test_a_child_that_ended_is_unheard_while_its_callers_job_waits_for_it(self, store: SharedStore) -> None:
        caller, _ = await start(store, (1, {"child_key": "call 1"}), (2, {"child_key": "call 2"}))
        ended, _, heard = [
            (await start(store, parent_id=caller, parent_key=key))[0] for key in ("call 1", "call 2", "call 3")
        ]
        for execution_id in (ended, heard):
            one = append(execution_id, 2, [started(2)], status=SUCCESS, ended_at=10.0)
            await committed(store, Batch(appends=[one]))

        found = [await store.unheard(10, age_seconds) for age_seconds in (60.0, FAR_AWAY)]

        assert [[row.id for row in rows] for rows in found] == [[ended], []]

    async def test_following_nothing_is_harmless(self, store: SharedStore) -> None:
        await store.following([], FAR_AWAY)
        await store.followed([], FAR_AWAY)

        assert await store.abandoned(10) == []

    @pytest.mark.parametrize(
        ("caller_status", "waits", "is_orphan"),
        [
            (RUNNING, True, False),
            (WAITING, True, False),
            (RUNNING, False, True),
            (INCIDENT, False, False),
            (SUCCESS, False, True),
            (CANCELLED, True, True),
        ],
    )
    async def test_a_child_is_an_orphan_when_its_caller_does_not_wait(
        self, store: SharedStore, caller_status: str, waits: bool, is_orphan: bool
    ) -> None:
        jobs = [(1, {"child_key": "call 1"})] if waits else []
        caller, _ = await start(store, *jobs, status=caller_status)
        child, _ = await start(store, parent_id=caller, parent_key="call 1", created_at=10.0)
        await start(store, parent_id=caller, parent_key="call 2", created_at=10.0, status=SUCCESS)

        assert await store.orphans(10, 60.0) == ([child] if is_orphan else [])

    async def test_a_young_child_and_one_without_a_caller_are_no_orphans(self, store: SharedStore) -> None:
        caller, _ = await start(store, status=SUCCESS)
        await start(store, parent_id=caller, parent_key="call", created_at=FAR_AWAY)
        await start(store, created_at=10.0)

        assert await store.orphans(10, 60.0) == []

    async def test_a_running_execution_that_nothing_can_move_on_is_stranded(self, store: SharedStore) -> None:
        stranded, followed = [(await start(store, created_at=10.0))[0] for _ in range(2)]
        await store.following([followed], FAR_AWAY)
        await start(store, (1, {}), created_at=10.0)
        await start(store, created_at=FAR_AWAY)
        for status in (WAITING, INCIDENT, SUCCESS):
            await start(store, created_at=10.0, status=status)

        assert await store.stranded(10, 60.0) == [stranded]

    async def test_the_clock_of_the_store_is_known(self, store: SharedStore) -> None:
        first, second = [await store.clock_ahead_seconds() for _ in range(2)]

        assert abs(second - first) < CLOCKS_APART_SECONDS_MAX
