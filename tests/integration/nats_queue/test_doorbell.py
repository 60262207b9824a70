"""The doorbell: every server hears which pool has work, and however often it is rung, few messages go out."""

import asyncio
import time

from noetl.queues.doorbell import RING_SECONDS
from noetl.testing.waiting import until


async def test_every_server_hears_which_pool_has_work(stage):
    bells = [await stage.doorbell() for _ in range(3)]
    heard = [asyncio.Queue() for _ in bells]
    for bell, queue in zip(bells, heard, strict=True):
        await bell.heard(queue.put_nowait)

    bells[0].ring("big")

    assert [await queue.get() for queue in heard] == ["big"] * 3
    for bell in bells:
        await bell.close()


async def test_ringing_all_the_time_is_few_messages_and_the_last_one_is_heard(stage):
    bell, heard = await stage.doorbell(), []
    await bell.heard(heard.append)
    begun = time.monotonic()
    for _ in range(50):
        for _ in range(100):
            bell.ring("default")
            bell.ring("big")
        await asyncio.sleep(0.001)
    seconds = time.monotonic() - begun

    await until(lambda: not bell._quiet)
    await bell.close()

    assert 2 <= heard.count("default") <= seconds / RING_SECONDS + 2
    assert 2 <= heard.count("big") <= seconds / RING_SECONDS + 2


async def test_a_bell_that_nobody_can_hear_is_lost_without_a_fault(stage):
    bell = await stage.doorbell()
    await stage.links[0].close()

    bell.ring("default")
    await bell.close()

    assert not stage.links[0].is_up
