"""The guard: what tasks start ends with them, with the tool and with the worker."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from noetl.testing.processes import Processes
from noetl.testing.tool_suite import until
from noetl.tools.guard import Guard, how_it_ended

SLEEP = ("sleep", "1000")


@pytest_asyncio.fixture
async def guard() -> AsyncIterator[Guard]:
    made = Guard()
    yield made
    await made.close()


async def test_closing_the_guard_ends_what_is_left(guard):
    probe = Processes()
    process = await guard.start(SLEEP, env=dict(os.environ))
    await guard.start(("sh", "-c", "sleep 1000 & wait"), env=dict(os.environ))

    await guard.close()

    assert await process.wait() == -signal.SIGKILL
    await until(lambda: not probe(), "something is left")


async def test_a_process_that_was_ended_is_not_watched_any_more(guard):
    process = await guard.start(SLEEP, env=dict(os.environ))

    assert await guard.end(process) == -signal.SIGKILL
    assert not guard.groups


async def test_a_watcher_that_was_killed_is_replaced_and_knows_the_groups(guard):
    first = await guard.start(SLEEP, env=dict(os.environ))
    guard.watcher.kill()
    guard.watcher.wait()
    second = await guard.start(SLEEP, env=dict(os.environ))

    await guard.close()

    assert [await first.wait(), await second.wait()] == [-signal.SIGKILL] * 2


async def test_a_process_that_ctrl_c_ended_before_it_was_one_is_started_again(guard, monkeypatch):
    start, words = asyncio.create_subprocess_exec, []

    async def interrupted_once(*asked, **options):
        words.append(asked)
        if len(words) > 1:
            return await start(*asked, **options)
        process = await start("sh", "-c", "kill -INT $$", **options)
        await process.wait()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", interrupted_once)

    process = await guard.start(SLEEP, env=dict(os.environ))

    assert words == [SLEEP, SLEEP]
    assert process.returncode is None
    assert guard.groups == {process.pid}
    assert await guard.end(process) == -signal.SIGKILL


async def test_a_process_that_somebody_interrupts_later_has_ended(guard):
    process = await guard.start(SLEEP, env=dict(os.environ))

    os.kill(process.pid, signal.SIGINT)

    assert await process.wait() == -signal.SIGINT


async def test_a_start_that_is_cancelled_leaves_nothing(guard):
    probe = Processes()
    starting = asyncio.ensure_future(guard.start(SLEEP, env=dict(os.environ)))
    await asyncio.sleep(0)
    starting.cancel()
    await asyncio.wait({starting})

    assert starting.cancelled()
    assert not guard.groups
    await until(lambda: len(probe()) <= 1, "only the watcher stays")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "ended with exit code 0"),
        (-11, "was killed by SIGSEGV"),
        (-9, "was killed by SIGKILL (by the system for want of memory, or by an operator)"),
        (-99, "was killed by signal 99"),
    ],
)
def test_an_exit_code_is_put_into_words(code, words):
    assert how_it_ended(code) == words
