"""Listeners of NATS triggers end when they are told to."""

import asyncio
from types import SimpleNamespace

from noetl.clock import SystemClock
from noetl.starting import subscriptions
from noetl.starting.subscriptions import Subscriptions


class Deaf:
    """A listener whose library takes the first cancellation in and goes on, as `asyncio.wait_for` of 3.11 may."""

    def __init__(self) -> None:
        self.is_there = asyncio.Event()

    async def listen(self, _handle: object) -> None:
        self.is_there.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()


async def test_a_listener_that_takes_a_cancellation_in_is_told_again(monkeypatch):
    monkeypatch.setattr(subscriptions, "END_SECONDS", 0.01)
    deaf = Deaf()
    document = SimpleNamespace(name="orders", nats=object(), paused=False)

    async def documents() -> list[object]:
        return [document]

    async def listener(_source: object) -> Deaf:
        return deaf

    starts = SimpleNamespace(triggers=SimpleNamespace(documents=documents))
    running = asyncio.create_task(Subscriptions(starts, listener, SystemClock()).run())
    await deaf.is_there.wait()

    running.cancel()
    await asyncio.wait({running}, timeout=5.0)

    assert running.cancelled()
