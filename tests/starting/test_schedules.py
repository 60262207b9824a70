"""What people ask of schedules: apply, pause, resume, remove; and what that means for what is due."""

import pytest

from noetl.errors import UnknownDocument, Unreachable
from noetl.starting.schedule_state import ROOM
from tests.starting.schedules import NOON, document, office

MINUTE = 60.0


async def test_another_payload_forgets_nothing_of_an_outage(tmp_path):
    async with office(tmp_path, catch_up="all", overlap="allow") as there:
        there.clock.seconds = NOON + 3 * MINUTE
        await there.schedules.apply(document(catch_up="all", overlap="allow", payload={"n": 1}))
        await there.look(NOON + 3 * MINUTE)

        assert len(await there.executions()) == 3


async def test_other_times_begin_anew(tmp_path):
    async with office(tmp_path, catch_up="all", overlap="allow") as there:
        there.clock.seconds = NOON + 3 * MINUTE
        await there.schedules.apply(document(catch_up="all", overlap="allow", every_seconds=3600))
        await there.look(NOON + 4 * MINUTE)

        assert await there.executions() == []
        assert (await there.kept()).next_at == NOON + 3600


async def test_what_came_while_it_was_paused_is_not_made_up_for(tmp_path):
    async with office(tmp_path, catch_up="all", overlap="allow") as there:
        await there.schedules.pause("pulse")
        await there.look(NOON + 5 * MINUTE)
        there.clock.seconds = NOON + 5 * MINUTE + 30
        await there.schedules.resume("pulse")
        await there.look(NOON + 6 * MINUTE)

        assert await there.due_times() == ["2026-03-01T12:06:00Z"]


async def test_resume_of_what_does_not_rest_changes_nothing(tmp_path):
    async with office(tmp_path) as there:
        before = await there.kept()
        there.clock.seconds = NOON + 10 * MINUTE
        await there.schedules.resume("pulse")

        assert await there.kept() == before


async def test_a_document_that_says_nothing_of_paused_leaves_it_as_people_left_it(tmp_path):
    async with office(tmp_path) as there:
        await there.schedules.pause("pulse")
        silent = await there.schedules.apply(document(payload={"n": 1}))
        outspoken = await there.schedules.apply(document(payload={"n": 1}, paused=False))
        rests = await there.schedules.apply(document(payload={"n": 1}, paused=True))

        assert [one["state"] for one in (silent, outspoken, rests)] == ["paused", "active", "paused"]


async def test_the_same_document_again_writes_nothing(tmp_path):
    async with office(tmp_path) as there:
        before = await there.store.record(ROOM, "pulse")
        there.clock.seconds = NOON + 10 * MINUTE
        again = await there.schedules.apply(document())

        assert again["is_changed"] is False
        assert await there.store.record(ROOM, "pulse") == before


async def test_a_schedule_whose_end_has_come_is_over(tmp_path):
    async with office(tmp_path, overlap="allow", end_at="2026-03-01T12:02:00") as there:
        for minute in range(1, 6):
            await there.look(NOON + minute * MINUTE)

        assert len(await there.executions()) == 2
        assert (await there.schedules.shown("pulse"))["state"] == "ended"


async def test_a_slow_server_cannot_bring_a_removed_schedule_back(tmp_path):
    async with office(tmp_path, overlap="allow") as there:
        seen = await there.store.due_records(ROOM, NOON + MINUTE)
        await there.schedules.remove("pulse")
        await there.schedules.apply(document(overlap="allow", every_seconds=3600))
        there.clock.seconds = NOON + MINUTE
        await there.scheduler._attend(seen[0])

        assert (await there.kept()).document.every_seconds == 3600
        assert await there.executions() == []


async def test_what_is_not_there_cannot_be_changed(tmp_path):
    async with office(tmp_path, is_applied=False) as there:
        for ask in (there.schedules.pause, there.schedules.resume, there.schedules.remove, there.schedules.shown):
            with pytest.raises(UnknownDocument, match="noetl schedule list"):
                await ask("nowhere")
        assert await there.schedules.listed() == []


async def test_a_record_that_others_change_all_the_time_is_given_up_with_a_word(tmp_path):
    class Contested:
        def __init__(self, store):
            self._store = store

        def __getattr__(self, name):
            return getattr(self._store, name)

        async def put_record(self, record):
            return False

    async with office(tmp_path) as there:
        there.schedules.store = Contested(there.store)
        with pytest.raises(Unreachable, match="changed by others"):
            await there.schedules.pause("pulse")
