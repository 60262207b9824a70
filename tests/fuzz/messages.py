"""Messages of workers: whatever bytes come for whatever verb, a server answers, and never with a fault of its own."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec import inspect

from noetl.clock import SystemClock
from noetl.queues import wire
from noetl.queues.contract import Session
from noetl.queues.nats_answers import Answers
from noetl.testing.office import TOKEN, Office, a_profile, a_work
from tests.fuzz.growing import changed, grown, written

MESSAGE_BYTES_MAX = 1024 * 1024
JOBS = 3
SHAPES: dict[str, Any] = {
    wire.GREET: wire.Asked,
    wire.ENROL: wire.Enrolling,
    wire.LEAVE: wire.Asked,
    wire.POLL: wire.Polling,
    wire.REPORT: wire.Reporting,
    wire.HEARTBEAT: wire.Holding,
    wire.RELEASE: wire.Holding,
    wire.PLAYBOOK: wire.PlaybookWanted,
    wire.CREDENTIAL: wire.CredentialWanted,
    wire.PART: wire.PartWanted,
}


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """An input; its session stands for that of a worker who has one."""

    verb: str
    data: bytes


class Messages:
    """See the module."""

    def __init__(self, _folder: Path) -> None:
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Self:
        self._loop.run_until_complete(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.close()

    async def _open(self) -> None:
        self._office = Office()
        self._office.wait_seconds_max = 0.0
        await self._office.add(*(a_work(number) for number in range(1, JOBS + 1)))
        self._answers = Answers(self._office, server_id="fuzzed", clock=SystemClock())
        self._session: Session = await self._office.enrol(TOKEN, a_profile())

    def make(self, chance: random.Random) -> bytes:
        verb = chance.choice(wire.VERBS)
        grows = grown(chance, inspect.type_info(SHAPES[verb]))
        if isinstance(grows, dict) and chance.random() < 0.9:
            grows |= {"v": wire.VERSION, "session": "SESSION"}
        if verb == wire.REPORT and chance.random() < 0.5:
            grows = changed(chance, report_of(chance))
        return msgspec.json.encode(Message(verb=verb, data=written(chance, grows)))

    def attempt(self, data: bytes) -> None:
        message = msgspec.json.decode(data, type=Message)
        asked = message.data.replace(b"SESSION", self._session.token.encode())
        answer = self._loop.run_until_complete(self._answers.answer(message.verb, asked, MESSAGE_BYTES_MAX))
        found = wire.decode_answer(answer)
        assert not found.message.startswith("the server failed on"), f"{message.verb}: {found.message}"
        assert len(answer) <= MESSAGE_BYTES_MAX
        if message.verb == wire.LEAVE and found.status == wire.OK:
            self._session = self._loop.run_until_complete(self._office.enrol(TOKEN, a_profile()))


def report_of(chance: random.Random) -> dict[str, Any]:
    """A message with a report, as a worker sends it."""
    place = {"run": chance.randrange(1, JOBS + 1), "iter": -1, "lease": chance.randrange(1, 5)}
    at = {"ts": 1.0, **place, "task": "fetch", "visit": 1, "attempt": 1}
    output = {"status": "ok", "data": 1, "ref": None, "error": None, "meta": {}}
    events = [
        {"name": "step.started", "ts": 1.0, **place, "step": "load"},
        {"name": "task.started", **at, "kind": "noop"},
        {"name": "task.done", **at, "do": "continue", "output": output},
        {"name": "step.done", "ts": 1.0, **place, "step": "load", "output": output},
    ]
    report = {"execution_id": 7, **place, "n": 1, "events": events}
    return {"v": wire.VERSION, "session": "SESSION", "reports": [report]}
