"""The loop of a rehearsal: simulated time for what is simulated, the machine's for what is real."""

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from noetl.rehearsal.loop import VirtualLoop


def run(work):
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


def test_a_week_of_waiting_takes_no_time():
    async def work():
        await asyncio.sleep(7 * 24 * 3600)
        return asyncio.get_running_loop().time()

    begun = time.monotonic()

    assert run(work()) == 7 * 24 * 3600
    assert time.monotonic() - begun < 1


def test_timers_go_off_in_the_order_of_their_times():
    said = []

    async def wait(seconds):
        await asyncio.sleep(seconds)
        said.append(seconds)

    async def work():
        await asyncio.gather(*map(wait, (300, 5, 60.5, 60)))

    run(work())

    assert said == [5, 60, 60.5, 300]


def test_time_stands_still_while_something_real_is_at_work():
    async def work():
        loop = asyncio.get_running_loop()
        timer = asyncio.create_task(asyncio.sleep(0.001))
        with loop.real():
            await asyncio.sleep(0.05)
        is_early = not timer.done()
        await timer
        return is_early, loop.time()

    begun = time.monotonic()

    assert run(work()) == (True, 0.001)
    assert time.monotonic() - begun >= 0.05


def test_a_thread_is_waited_for_without_time_passing():
    async def work():
        timer = asyncio.create_task(asyncio.sleep(10))
        await asyncio.to_thread(time.sleep, 0.05)
        is_early = not timer.done()
        await timer
        return is_early

    assert run(work())


def test_a_time_limit_of_something_real_is_kept_by_the_machines_clock():
    async def work():
        loop = asyncio.get_running_loop()
        with loop.real(), pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await loop.create_future()
        return loop.time()

    assert run(work()) == 0


def test_a_cancelled_real_timer_does_not_go_off():
    async def work():
        loop, said = asyncio.get_running_loop(), []
        with loop.real():
            timer = loop.call_later(0.01, said.append, 1)
            timer.cancel()
            await asyncio.sleep(0.03)
        return said

    assert run(work()) == []


def test_what_comes_from_outside_is_heard_while_nothing_is_real():
    async def work():
        loop = asyncio.get_running_loop()
        reading, writing = os.pipe()
        heard = loop.create_future()
        loop.add_reader(reading, lambda: heard.done() or heard.set_result(os.read(reading, 1)))
        os.write(writing, b"x")
        try:
            return await heard
        finally:
            loop.remove_reader(reading)
            os.close(reading)
            os.close(writing)

    assert run(work()) == b"x"


def test_who_dozes_is_woken_when_something_is_due():
    async def work():
        loop = asyncio.get_running_loop()
        loop.next_due = lambda: 500.0
        other = asyncio.create_task(asyncio.sleep(1000))
        await loop.doze(0.05)
        woken_at = loop.time()
        other.cancel()
        return woken_at

    assert run(work()) == 500


def test_a_loop_that_never_rests_is_found_to_be_late():
    async def work():
        loop = asyncio.get_running_loop()
        late = asyncio.Event()
        loop.on_late, loop.late_at = late.set, time.monotonic() + 0.05
        while not late.is_set():
            await asyncio.sleep(0)
        return True

    assert run(work())


def test_threads_have_real_time_to_end_in_when_the_loop_closes():
    """asyncio waits for them with a time limit since Python 3.12, and warns when it is over."""
    ended = threading.Event()

    def end_late():
        time.sleep(0.2)
        ended.set()

    async def work():
        executor = ThreadPoolExecutor(1)
        asyncio.get_running_loop().set_default_executor(executor)
        executor.submit(end_late)  # unseen by the loop, as a thread between two works is

    run(work())

    assert ended.is_set()
