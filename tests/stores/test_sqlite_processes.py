"""The SQLite store and several processes: one writes, others wait, read, or die."""

import os
import re

import pytest

from noetl.errors import StoreBusy
from noetl.stores.sqlite import SqliteStore
from noetl.testing.logs import begin, log_of, started
from tests.stores.processes import run, running

HOLD = """
    store = await SqliteStore.open(path)
    say("open")
    sys.stdin.readline()
    await store.close()
"""
WRITE = """
    store = await SqliteStore.open(path)
    first = await store.reserve_ids(1)
    await store.commit(Batch(executions=[execution(first)]))
    seq = 1
    while True:
        await store.commit(batch(first, seq, count=3))
        seq += 3
        say(seq - 1)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "noetl.db"


async def test_a_second_process_is_refused_and_told_who_has_the_store(path):
    with running(HOLD, path, "--set", "password=hunter2") as holder:
        assert holder.stdout.readline() == "open\n"

        with pytest.raises(StoreBusy) as caught:
            await SqliteStore.open(path)

        assert re.search(rf"process {holder.pid} \(.+\), since \d\d:\d\d:\d\d\b", str(caught.value))
        assert "hunter2" not in str(caught.value)
        assert "hunter2" not in path.with_name("noetl.db.lock").read_text()


async def test_a_store_that_is_open_twice_in_one_process_is_busy_too(path):
    store = await SqliteStore.open(path)

    with pytest.raises(StoreBusy, match=f"process {os.getpid()}"):
        await SqliteStore.open(path)
    await store.close()

    again = await SqliteStore.open(path)
    await again.close()


class SteppedClock:
    """Time passes only by sleeping, and something may happen when somebody does."""

    def __init__(self, on_sleep=None):
        self.seconds = 1_700_000_000.0
        self.on_sleep = on_sleep

    def now(self):
        return self.seconds

    def monotonic(self):
        return self.seconds

    async def sleep(self, seconds):
        self.seconds += seconds
        if self.on_sleep:
            self.on_sleep()


async def test_whoever_waits_gets_the_store_when_it_is_free(path):
    with running(HOLD, path) as holder:
        holder.stdout.readline()

        def let_go():
            holder.communicate("\n")

        store = await SqliteStore.open(path, wait_seconds=2, clock=SteppedClock(on_sleep=let_go))

        assert holder.returncode == 0
        await store.close()


async def test_waiting_ends_when_its_time_is_over(path):
    store = await SqliteStore.open(path)
    clock = SteppedClock()

    with pytest.raises(StoreBusy):
        await SqliteStore.open(path, wait_seconds=2, clock=clock)

    assert 2 <= clock.seconds - 1_700_000_000 < 2.2
    await store.close()


async def test_the_lock_of_a_dead_process_is_no_obstacle(path):
    with running(HOLD, path) as holder:
        holder.stdout.readline()
        holder.kill()
        holder.wait()

    store = await SqliteStore.open(path)

    assert str(os.getpid()) in path.with_name("noetl.db.lock").read_text()
    await store.close()


async def test_a_store_that_could_not_be_opened_is_not_locked(path):
    path.write_bytes(b"not a database " * 1000)

    for _ in range(2):
        with pytest.raises(Exception, match="not a SQLite database"):
            await SqliteStore.open(path)


async def test_a_reader_works_while_another_process_writes(path):
    with running(WRITE, path) as writer:
        acknowledged = int(writer.stdout.readline())

        reader = await SqliteStore.open(path, is_read_only=True)
        (row,) = await reader.executions()
        events = await log_of(reader, row.id)

        assert row.head >= acknowledged
        assert len(events) >= row.head
        await reader.close()


async def test_a_reader_works_after_the_writer_was_killed(path):
    with running(WRITE, path) as writer:
        acknowledged = int(writer.stdout.readline())
        writer.kill()
        writer.wait()

    reader = await SqliteStore.open(path, is_read_only=True)

    (row,) = await reader.executions()
    assert row.head >= acknowledged
    assert len(await log_of(reader, row.id)) == row.head
    await reader.close()


@pytest.mark.slow
@pytest.mark.spec("EV-06")
@pytest.mark.parametrize("lines", [1, 20, 60, 150, 400])
async def test_every_acknowledged_commit_survives_the_death_of_its_writer(path, lines):
    with running(WRITE, path) as writer:
        acknowledged = [int(writer.stdout.readline()) for _ in range(lines)][-1]
        writer.kill()
        acknowledged = max([acknowledged, *map(int, writer.stdout.read().split())])

    store = await SqliteStore.open(path)
    (row,) = await store.executions()
    events = await log_of(store, row.id)

    assert row.head >= acknowledged
    assert row.head % 3 == 0
    assert [seq for seq, _ in events] == list(range(1, row.head + 1))
    assert [event.run for _, event in events] == list(range(1, row.head + 1))
    assert await store.reserve_ids(1) > row.id
    await store.close()


async def test_ids_are_not_given_again_after_a_crash(path):
    reserve = """
        store = await SqliteStore.open(path)
        say(await store.reserve_ids(1024))
        os._exit(0)
    """

    given = [int(run(reserve, path)) for _ in range(2)]

    assert given == [1, 1025]


def test_a_store_in_a_folder_that_may_not_be_written_can_still_be_read():
    # The super-user may write everywhere, so the script becomes somebody else first, in a folder that others may enter.
    body = """
        import tempfile
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            path = folder / "noetl.db"
            store = await SqliteStore.open(path)
            first = await store.reserve_ids(1)
            await store.commit(Batch(executions=[execution(first)]))
            await store.close()
            path.chmod(0o444)
            folder.chmod(0o555)
            me = os.geteuid()
            if me == 0:
                os.seteuid(65534)
            reader = await SqliteStore.open(path, is_read_only=True)
            say([row.id for row in await reader.executions()])
            await reader.close()
            try:
                await SqliteStore.open(path)
            except NoetlError as fault:
                say(type(fault).__name__)
            os.seteuid(me)
            folder.chmod(0o755)
    """

    assert run(body, "-") == "[1]\nStoreUnusable\n"


async def test_a_holder_that_cannot_be_read_is_only_another_process(path):
    store = await SqliteStore.open(path)
    await begin(store, [started(1)])
    path.with_name("noetl.db.lock").write_bytes(b"\xff")

    with pytest.raises(StoreBusy, match="in use by another process"):
        await SqliteStore.open(path)

    await store.close()
