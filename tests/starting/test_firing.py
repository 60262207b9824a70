"""Schedules that are due are started: once, as overlap and catch_up say, whoever dies and whatever the clock does."""

import asyncio
from contextlib import suppress

import pytest

from noetl.control.requests import RunRequest
from noetl.errors import Unreachable
from noetl.starting import firing
from noetl.starting.schedule_state import FAILED, SKIPPED, STARTED
from noetl.stores.contract import Record
from tests.control.parts import state_of, text_of
from tests.starting.schedules import NOON, PLAYBOOK, at, document, office

MINUTE = 60.0


def times(*minutes):
    return [f"2026-03-01T12:{minute:02}:00Z" for minute in minutes]


async def test_a_due_time_is_started_once_however_often_one_looks(tmp_path):
    async with office(tmp_path, overlap="allow") as there:
        await there.look(NOON + 59)
        before = await there.due_times()
        for late in (0, 0, 1):
            await there.look(NOON + MINUTE + late)

        assert before == []
        assert await there.due_times() == times(1)


async def test_the_playbook_learns_its_payload_and_for_which_time_it_runs(tmp_path):
    async with office(tmp_path, payload={"n": 7}) as there:
        await there.look(NOON + MINUTE)
        (row,) = await there.executions()
        workload = (await state_of(there.parts, row.id)).workload

        assert workload == {"n": 7, "schedule": {"name": "pulse", "due_at": "2026-03-01T12:01:00Z"}}


async def test_a_clock_that_jumps_back_starts_nothing_again(tmp_path):
    async with office(tmp_path, overlap="allow") as there:
        for moment in (NOON + MINUTE, NOON + 2 * MINUTE, NOON - 3600, NOON + MINUTE, NOON + 2 * MINUTE):
            await there.look(moment)

        assert await there.due_times() == times(1, 2)


async def test_a_clock_that_jumps_back_starts_nothing_again_after_a_pause_either(tmp_path):
    async with office(tmp_path, overlap="allow") as there:
        await there.look(NOON + MINUTE)
        there.clock.seconds = NOON
        await there.schedules.pause("pulse")
        await there.schedules.resume("pulse")
        await there.look(NOON + MINUTE)

        assert await there.due_times() == times(1)


async def test_skip_writes_down_what_was_due_while_the_last_one_lived(tmp_path):
    async with office(tmp_path) as there:
        await there.look(NOON + MINUTE)
        await there.look(NOON + 2 * MINUTE)
        kept = await there.kept()
        await there.end_all()
        await there.look(NOON + 3 * MINUTE)

        assert await there.due_times() == times(1, 3)
        assert (kept.counts.skipped, kept.last_skipped_at) == (1, NOON + 2 * MINUTE)
        assert [one.outcome for one in (await there.kept()).recent] == [STARTED, SKIPPED, STARTED]
        assert "execution 1 still lived" in kept.recent[0].why


async def test_queue_starts_when_the_last_one_has_ended_and_only_one_waits(tmp_path):
    async with office(tmp_path, overlap="queue") as there:
        for minute in (1, 2, 3):
            await there.look(NOON + minute * MINUTE)
        waiting = await there.due_times()
        await there.end_all()
        await there.look(NOON + 3 * MINUTE + 10)

        assert waiting == times(1)
        assert await there.due_times() == times(1, 2)
        assert (await there.kept()).counts.skipped == 1


async def test_cancel_ends_the_one_before(tmp_path):
    async with office(tmp_path, overlap="cancel") as there:
        await there.look(NOON + MINUTE)
        await there.look(NOON + 2 * MINUTE)

        assert [row.status for row in await there.executions()] == ["cancelled", "running"]
        assert await there.due_times() == times(1, 2)


@pytest.mark.parametrize(
    ("policy", "started", "missed"),
    [
        ({"catch_up": "none"}, [], 9),
        ({"catch_up": "last"}, [9], 8),
        ({"catch_up": "all", "catch_up_max": 4}, [6, 7, 8, 9], 5),
        ({"catch_up": "all", "catch_up_max": 100}, [1, 2, 3, 4, 5, 6, 7, 8, 9], 0),
    ],
)
async def test_after_an_outage_as_many_are_made_up_for_as_the_policy_says(tmp_path, policy, started, missed):
    async with office(tmp_path, overlap="allow", **policy) as there:
        await there.look(NOON + 9 * MINUTE + 30)

        assert await there.due_times() == times(*started)
        assert (await there.kept()).counts.missed == missed
        assert (await there.kept()).next_at == NOON + 10 * MINUTE


async def test_what_is_just_due_is_started_whatever_was_missed(tmp_path):
    async with office(tmp_path, overlap="allow", catch_up="none") as there:
        await there.look(NOON + 9 * MINUTE + 2)

        assert await there.due_times() == times(9)


async def test_an_outage_of_years_is_not_counted_to_its_end(tmp_path):
    async with office(tmp_path, overlap="allow", every_seconds=1) as there:
        await there.look(NOON + 3 * 366 * 24 * 3600 + 0.5)

        kept = await there.kept()
        assert len(await there.executions()) == kept.counts.started <= 6
        assert kept.counts.missed == 1000


async def test_jitter_delays_a_start_and_never_past_the_next_due_time(tmp_path):
    async with office(tmp_path, overlap="allow", jitter_seconds=3600.0) as there:
        await there.look(NOON + MINUTE + 29)
        before = await there.due_times()
        await there.look(NOON + MINUTE + 30)  # chance is one half, and half of a minute is as far as it may go

        assert before == []
        assert await there.due_times() == times(1)


@pytest.mark.parametrize("change", [{"path": "nowhere"}, {"version": 99}, {"payload": {"x": "y" * 1_100_000}}])
async def test_a_start_that_is_refused_is_written_down_and_the_next_one_has_its_chance(tmp_path, change):
    async with office(tmp_path, **change) as there:
        await there.look(NOON + MINUTE)
        refused = await there.kept()
        await there.look(NOON + 2 * MINUTE)
        kept = await there.kept()

        assert (refused.counts.failed, refused.recent[0].outcome) == (1, FAILED)
        assert refused.last_error
        assert (kept.counts.failed, kept.next_at) == (2, NOON + 3 * MINUTE)
        assert await there.executions() == []


async def test_an_error_is_gone_when_the_next_start_works(tmp_path):
    async with office(tmp_path, path="late") as there:
        await there.look(NOON + MINUTE)
        broken = (await there.kept()).last_error
        await there.desk.register(RunRequest(data=text_of(PLAYBOOK, "late"), name="late.yaml"))
        await there.look(NOON + 2 * MINUTE)

        assert "late" in broken
        assert (await there.kept()).last_error == ""


class Unlucky:
    """A store whose records cannot be written any more after so many writes: its server dies there."""

    def __init__(self, records, writes):
        self._records = records
        self._left = writes

    def __getattr__(self, name):
        return getattr(self._records, name)

    async def put_record(self, record):
        if not self._left:
            raise Unreachable("the server died here")
        self._left -= 1
        return await self._records.put_record(record)


@pytest.mark.parametrize("overlap", ["skip", "queue", "allow", "cancel"])
@pytest.mark.parametrize("writes", [0, 1, 2, 3])
async def test_a_server_that_dies_between_start_and_record_is_healed_by_the_next_look(tmp_path, writes, overlap):
    async with office(tmp_path, overlap=overlap, catch_up="all") as there:
        dying = there.another()
        dying.records = Unlucky(there.store, writes)
        there.clock.seconds = NOON + 2 * MINUTE
        with suppress(Unreachable):
            await dying.look()
        for _ in range(3):
            await there.end_all()
            await there.look(there.clock.seconds + 3)

        assert (await there.due_times())[:1] == times(1)
        assert len(set(await there.due_times())) == len(await there.due_times())
        kept = await there.kept()
        assert kept.counts.started == len(await there.executions())
        assert kept.counts.started + kept.counts.skipped == 2


async def test_a_newer_playbook_between_death_and_healing_starts_nothing_again(tmp_path):
    async with office(tmp_path) as there:
        dying = there.another()
        dying.records = Unlucky(there.store, 1)
        there.clock.seconds = NOON + MINUTE
        with pytest.raises(Unreachable):
            await dying.look()
        await there.desk.register(RunRequest(data=text_of(PLAYBOOK.replace("n: 0", "n: 1")), name="trial.yaml"))
        await there.look(NOON + MINUTE + 1)

        assert await there.due_times() == times(1)
        assert (await there.kept()).last_error == ""


async def test_a_slow_server_cannot_start_what_another_one_skipped(tmp_path):
    async with office(tmp_path) as there:
        await there.look(NOON + MINUTE)
        seen = await there.store.due_records("schedule", NOON + 2 * MINUTE)
        await there.look(NOON + 2 * MINUTE)
        await there.end_all()
        await there.scheduler._attend(seen[0])

        assert await there.due_times() == times(1)
        assert (await there.kept()).counts.skipped == 1


async def test_two_servers_that_look_at_once_start_each_of_many_times_once(tmp_path):
    async with office(tmp_path, overlap="allow", catch_up="all", catch_up_max=60) as there:
        there.clock.seconds = NOON + 60 * MINUTE + 30
        servers = [there.another() for _ in range(3)]
        for _ in range(30):
            await asyncio.gather(*(server.look() for server in servers))

        assert sorted(await there.due_times()) == sorted({*times(*range(1, 60)), "2026-03-01T13:00:00Z"})
        assert (await there.kept()).counts.started == 60


@pytest.mark.parametrize(("day", "started"), [("2026-03-29", "T01:00:00Z"), ("2026-10-25", "T00:30:00Z")])
async def test_an_hour_that_is_missing_or_doubled_starts_once(tmp_path, day, started):
    async with office(tmp_path, is_applied=False) as there:
        there.clock.seconds = at(f"{day}T00:00")
        await there.schedules.apply(document(cron="30 2 * * *", timezone="Europe/Berlin", overlap="allow"))
        for minutes in range(0, 480, 10):
            await there.look(at(f"{day}T00:00") + minutes * MINUTE)

        assert await there.due_times() == [day + started]


async def test_a_record_that_nobody_can_read_does_not_stop_the_others(tmp_path):
    async with office(tmp_path, overlap="allow") as there:
        await there.store.put_record(Record(room="schedule", name="broken", body=b"{}", due_at=1.0))
        await there.look(NOON + MINUTE)
        await there.look(NOON + MINUTE + 1)

        assert await there.due_times() == times(1)
        assert there.logged().count(("ERROR", "schedule_broken")) == 1


async def test_the_loop_says_once_that_the_store_is_gone_and_goes_on(tmp_path):
    class Looks:
        def __init__(self):
            self.count = 0

        def now(self):
            return NOON

        async def sleep(self, seconds):
            self.count += 1
            if self.count == 3:
                raise asyncio.CancelledError

    async with office(tmp_path) as there:
        scheduler = firing.Scheduler(there.desk, Gone(), Looks(), lambda: 0.0)
        with pytest.raises(asyncio.CancelledError):
            await scheduler.run()

        assert there.logged() == [("WARNING", "schedules_wait")]


class Gone:
    async def due_records(self, room, now, limit=100):
        raise Unreachable("the store does not answer")
