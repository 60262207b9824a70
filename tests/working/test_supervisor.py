"""The processes of a worker: as many as are wanted, started anew when they die, ended together."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from noetl.clock import Clock, SystemClock
from noetl.config import Settings, url_of
from noetl.testing.waiting import until
from noetl.working import supervisor as module
from noetl.working.orders import Orders, decode_orders, encode_orders
from noetl.working.supervisor import Refused, Supervisor, share_of
from tests.working import stand_in

pytestmark = pytest.mark.slow


class Crew:
    """A supervisor of stand-ins, at work."""

    def __init__(self, folder: Path, manner: str, clock: Clock) -> None:
        self.folder = folder
        self.ready: list[int] = []
        settings = Settings(home=folder, store_url=url_of(folder / "noetl.db"), process_slots=8)
        command = (sys.executable, str(stand_in.__file__), manner, str(folder))
        self.supervisor = Supervisor(
            settings, drain_seconds=0.1, on_ready=self.ready.append, command=command, clock=clock
        )
        self.running: asyncio.Task[int] | None = None

    @property
    def started(self) -> list[int]:
        """The processes that ever were, oldest first."""
        files = [file for file in self.folder.iterdir() if file.name.isdigit()]
        return [int(file.name) for file in sorted(files, key=lambda file: file.stat().st_mtime_ns)]

    def slots(self) -> list[str]:
        return sorted((self.folder / str(process)).read_text(encoding="ascii") for process in self.started)

    async def ended(self) -> int:
        assert self.running is not None
        return await asyncio.wait_for(self.running, 20.0)


@asynccontextmanager
async def crew_of(folder: Path, manner: str, processes: int) -> AsyncIterator[Crew]:
    crew = Crew(folder, manner, SystemClock())
    crew.running = asyncio.ensure_future(crew.supervisor.run(processes))
    try:
        yield crew
    finally:
        crew.supervisor.stop()
        crew.supervisor.stop()
        await asyncio.wait({crew.running})


@pytest.mark.spec("RO-01")
async def test_so_many_processes_run_and_share_the_cores_and_end_when_they_have_drained(tmp_path):
    async with crew_of(tmp_path, "steady", 3) as crew:
        await until(lambda: crew.ready == [3])

        crew.supervisor.stop()
        code = await crew.ended()

        assert code == 0
        assert crew.slots() == ["2", "2", "2"]  # of the machine's eight


@pytest.mark.spec("RO-01")
async def test_a_process_that_dies_is_followed_by_another(tmp_path, caplog):
    async with crew_of(tmp_path, "steady", 2) as crew:
        await until(lambda: crew.ready == [2])

        os.kill(crew.started[0], signal.SIGKILL)
        await until(lambda: len(crew.started) == 3)
        await until(lambda: sum(place.is_ready for place in crew.supervisor.places) == 2)

        (record,) = [one for one in caplog.records if getattr(one, "action", "") == "worker_process_died"]
        assert "SIGKILL" in record.getMessage()


async def test_processes_that_keep_dying_are_started_less_and_less_often(tmp_path, monkeypatch):
    pauses: list[float] = []

    class ImpatientClock(SystemClock):
        async def sleep(self, seconds: float) -> None:
            pauses.append(seconds)

    monkeypatch.setattr(module.SYSTEM, "random", lambda: 1.0)
    crew = Crew(tmp_path, "short", ImpatientClock())
    crew.running = asyncio.ensure_future(crew.supervisor.run(1))
    await until(lambda: len(pauses) >= 4)
    crew.supervisor.stop()
    await crew.ended()

    assert pauses[:4] == [0.2, 0.4, 0.8, 1.6]


@pytest.mark.spec("RO-01")
async def test_more_are_started_and_surplus_ones_drain_when_the_number_changes(tmp_path):
    async with crew_of(tmp_path, "steady", 1) as crew:
        await until(lambda: crew.ready == [1])

        crew.supervisor.scale(3)
        await until(lambda: crew.ready == [1, 3])
        crew.supervisor.scale(2)
        await until(lambda: crew.ready == [1, 3, 2])

        assert len(crew.started) == 3
        assert len(crew.supervisor.places) == 2


async def test_what_no_process_can_do_is_told_once_with_its_exit_code(tmp_path):
    async with crew_of(tmp_path, "refused", 3) as crew:
        with pytest.raises(Refused, match="that token is none of ours") as caught:
            await crew.ended()

    assert caught.value.exit_code == 2
    assert crew.ready == []


async def test_a_process_that_does_not_drain_in_time_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.1)
    async with crew_of(tmp_path, "deaf", 1) as crew:
        await until(lambda: crew.ready == [1])

        crew.supervisor.stop()

        assert await crew.ended() == 1


async def test_a_second_signal_kills_at_once(tmp_path):
    async with crew_of(tmp_path, "deaf", 2) as crew:
        await until(lambda: crew.ready == [2])

        crew.supervisor.stop()
        crew.supervisor.stop()

        assert await crew.ended() == 1


def test_orders_arrive_as_they_were_given(tmp_path):
    settings = Settings(
        home=tmp_path,
        store_url=url_of(tmp_path / "noetl.db"),
        queue_url="nats://u:p@host:4222",
        script_roots=(tmp_path, tmp_path / "b"),
        server_token_file=tmp_path / "token",
    )
    orders = Orders(settings=settings, drain_seconds=7.5)

    assert decode_orders(encode_orders(orders)) == orders


@pytest.mark.parametrize(("slots", "processes", "share"), [(8, 2, 4), (8, 3, 2), (2, 4, 1), (8, 1, 8)])
def test_a_process_has_its_share_of_the_machine_and_never_nothing(tmp_path, slots, processes, share):
    settings = Settings(home=tmp_path, store_url=url_of(tmp_path / "noetl.db"), process_slots=slots)

    assert share_of(settings, processes) == msgspec.structs.replace(settings, process_slots=share)
