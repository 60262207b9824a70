"""Heartbeats: all that is held is listed, in messages of a bounded size, and an outage is told once."""

import asyncio
import logging

import pytest

from noetl.clock import SystemClock
from noetl.engine.commands import Key
from noetl.errors import Unreachable
from noetl.runner.heartbeat import JOBS_PER_MESSAGE_MAX, Answered, Heartbeat
from noetl.testing.waiting import until


class Server:
    """Hears heartbeats, or does not."""

    def __init__(self) -> None:
        self.heard: list[list[tuple[Key, int]]] = []
        self.gone: list[Key] = []
        self.lost = 0

    async def heartbeat(self, worker: str, held: list[tuple[Key, int]]) -> list[Key]:
        if self.lost:
            self.lost -= 1
            raise Unreachable("the database is away")
        self.heard.append(held)
        return [key for key, _ in held if key in self.gone]


def heartbeat_of(server: Server, held: list[tuple[Key, int]], answers: list[Answered]) -> Heartbeat:
    return Heartbeat(
        worker="w",
        transport=server,  # type: ignore[arg-type]  # the part of one that is asked
        clock=SystemClock(),
        chance=lambda: 0.0,
        every_seconds=0.01,
        held=lambda: held,
        on_answer=answers.append,
    )


@pytest.mark.parametrize(
    ("count", "messages"), [(0, 1), (1, 1), (JOBS_PER_MESSAGE_MAX, 1), (2 * JOBS_PER_MESSAGE_MAX + 1, 3)]
)
async def test_everything_that_is_held_is_listed_once_and_a_worker_without_jobs_is_heard_too(count, messages):
    server, answers = Server(), []
    held = [((1, run, -1), run) for run in range(count)]

    await heartbeat_of(server, held, answers).beat()

    assert len(server.heard) == len(answers) == messages
    assert [one for part in server.heard for one in part] == held


async def test_an_answer_says_when_it_was_asked_for_and_what_is_gone():
    server, answers = Server(), []
    server.gone = [(1, 2, -1)]
    before = SystemClock().monotonic()

    await heartbeat_of(server, [((1, 1, -1), 7), ((1, 2, -1), 8)], answers).beat()

    (answer,) = answers
    assert answer.gone == {(1, 2, -1)}
    assert before <= answer.sent_at <= SystemClock().monotonic()


async def test_an_outage_is_told_when_it_begins_and_when_it_ends_and_beating_goes_on(caplog):
    server, answers = Server(), []
    server.lost = 2
    beating = asyncio.ensure_future(heartbeat_of(server, [], answers).run())

    with caplog.at_level(logging.INFO):
        await until(lambda: len(server.heard) >= 2)
    beating.cancel()

    assert [record.action for record in caplog.records] == ["heartbeat_unanswered", "heartbeat_answered"]
