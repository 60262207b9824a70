"""Heartbeats in a thread of their own: whatever its loop does, a worker's leases are kept up (protocol §7, rule 1)."""

import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from noetl.clock import SystemClock
from noetl.engine.commands import Key
from noetl.testing.waiting import until
from noetl.working.heart import Heart
from tests.runner.workers import at_work

LEASE_SECONDS = 0.3


class Listener:
    """The far end of a connection that only heartbeats use; it answers in whatever thread it is asked."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, list[tuple[Key, int]], str]] = []
        self.gone: list[Key] = []
        self.faults: list[Exception] = []

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["Listener"]:
        yield self

    async def heartbeat(self, worker: str, held: list[tuple[Key, int]]) -> list[Key]:
        if self.faults:
            raise self.faults.pop()
        self.heard.append((time.monotonic(), held, threading.current_thread().name))
        return self.gone


def heart_of(team, listener: Listener, **bounds) -> Heart:
    clock = SystemClock()
    return Heart(team.worker, listener.connected, clock, on_answer=team.worker.answered, **bounds)


@pytest.mark.slow
@pytest.mark.spec("RO-03")
async def test_a_loop_that_is_held_up_for_several_leases_keeps_what_it_holds(tmp_path):
    listener = Listener()
    async with at_work(tmp_path, lease_seconds=LEASE_SECONDS) as team, heart_of(team, listener).beating():
        await team.give()
        await team.started("one")
        held = team.worker.held()

        began_at = time.monotonic()
        time.sleep(5 * LEASE_SECONDS)  # the loop does nothing else meanwhile, as under a template that computes
        ended_at = time.monotonic()
        team.tool.open("one", "two")
        await until(lambda: team.events("step.done"))

        meanwhile = [at for at, said, _ in listener.heard if began_at < at < ended_at and said == held]
        gaps = [later - earlier for earlier, later in zip([began_at, *meanwhile], [*meanwhile, ended_at], strict=True)]
        assert max(gaps) < LEASE_SECONDS
        assert {thread for _, _, thread in listener.heard} == {"noetl-heart"}


@pytest.mark.spec("RO-03")
async def test_what_a_heartbeat_finds_gone_is_stopped_in_the_workers_own_loop(tmp_path):
    listener = Listener()
    async with at_work(tmp_path, lease_seconds=LEASE_SECONDS) as team, heart_of(team, listener).beating():
        await team.give()
        await team.started("one")

        listener.gone = [key for key, _ in team.worker.held()]
        await until(lambda: team.tool.cancelled == ["one"])

        assert team.worker.held() == []


@pytest.mark.slow
async def test_a_fault_of_ours_in_a_heartbeat_does_not_stop_the_heart(tmp_path, caplog):
    listener = Listener()
    listener.faults = [RuntimeError("of ours")]

    async with at_work(tmp_path, lease_seconds=LEASE_SECONDS) as team, heart_of(team, listener).beating():
        await until(lambda: listener.heard)

    assert [record.action for record in caplog.records] == ["heartbeat_failed"]


@pytest.mark.slow
async def test_a_loop_that_never_moves_again_ends_the_process(tmp_path):
    ended = threading.Event()
    listener = Listener()
    async with at_work(tmp_path) as team:
        heart = heart_of(team, listener, stalled_seconds_max=1, on_stalled=ended.set)
        async with heart.beating():
            is_ended_while_it_moves = ended.is_set()
            ended.wait(10.0)  # holds the loop up, until the heart says that it was too long

    assert not is_ended_while_it_moves
    assert ended.is_set()
