"""A worker of a cluster in this process, before an office (`noetl.testing.office`), with a tool that a test steers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from noetl.dsl.model import Playbook
from noetl.engine.commands import Work
from noetl.engine.events import name_of
from noetl.engine.output import Output
from noetl.engine.state import Progress
from noetl.keychain.opening import open_keychain
from noetl.queues.direct import DirectTransport
from noetl.results.stores import Stores
from noetl.runner.worker import Worker
from noetl.testing.clocks import ShiftedClock
from noetl.testing.engine import playbook_of
from noetl.testing.office import TOKEN, Office, a_profile
from noetl.testing.waiting import until
from noetl.tools.contract import Call, Hands, Tool
from noetl.tools.registry import Declarations
from noetl.worker import make_worker
from tests.runner.runs import HEAD, settings_in


class Steered(Declarations):
    """All kinds; a task of kind noop ends when the test lets it, in order of labels."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[str] = []
        self.cancelled: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.at_once: set[str] = set()  # labels whose tasks take no time
        self.promised: set[str] = set()  # labels whose tasks give a future

    def gate(self, label: str) -> asyncio.Event:
        return self.gates.setdefault(label, asyncio.Event())

    def open(self, *labels: str) -> None:
        for label in labels:
            self.gate(label).set()

    def make_tool(self, name: str, hands: Hands) -> Tool:
        return self if name == "noop" else super().make_tool(name, hands)  # type: ignore[return-value]  # it runs

    def run(self, call: Call) -> Output | Awaitable[Output]:
        if call.task in self.at_once:
            self.started.append(call.task)
            return Output(data=call.input)
        return asyncio.ensure_future(self._run(call)) if call.task in self.promised else self._run(call)

    async def _run(self, call: Call) -> Output:
        self.started.append(call.task)
        try:
            await self.gate(call.task).wait()
        except asyncio.CancelledError:
            self.cancelled.append(call.task)
            raise
        return Output(data=call.input)

    async def close(self) -> None:
        """Nothing is open."""


class Team:
    """One worker, its office and its tool."""

    def __init__(self, folder: Path, body: str, office: Office, lease_seconds: float) -> None:
        self.office = office
        self.tool = Steered()
        self.clock = ShiftedClock()
        self.book = playbook_of(HEAD + body)
        self.keychain = open_keychain(settings_in(folder), {}, self.clock)
        settings = msgspec.structs.replace(settings_in(folder), lease_seconds=lease_seconds, slots=4)
        self.transport = DirectTransport(
            office, token=lambda: TOKEN, profile=a_profile("w"), clock=self.clock, chance=lambda: 0.0
        )
        self.worker: Worker = make_worker(
            settings,
            name="w",
            transport=self.transport,
            results=Stores(folder / "results"),
            keychain=self.keychain,
            playbooks=self.playbook,
            clock=self.clock,
            kinds=self.tool,
            is_embedded=False,
        )
        self._runs = 0
        self.polling: asyncio.Task[None] | None = None

    async def playbook(self, sha: str, planned: list[list[Any]]) -> Playbook:
        return self.book

    async def give(self, count: int = 1, **fields: Any) -> None:
        for _ in range(count):
            self._runs += 1
            await self.office.add(job(self._runs, **fields))

    def events(self, name: str) -> list[Any]:
        return [event for _, report in self.office.reports for event in report.events if name_of(event) == name]

    async def beat(self) -> None:
        """One heartbeat, now."""
        await self.worker.heartbeat(self.transport, self.worker.answered).beat()

    async def started(self, *labels: str) -> None:
        await until(lambda: self.tool.started == list(labels))

    async def idle(self) -> None:
        await until(lambda: self.worker.jobs == 0)


def job(run: int = 1, **fields: Any) -> Work:
    given = {"execution_id": 1, "run": run, "iter": -1, "lease": 0, "step": "start", "sha": "5ha", **fields}
    return Work(progress=Progress(ctx={}), **given)


TWO_TASKS = "workflow: [{step: start, tool: [{name: one, kind: noop}, {name: two, kind: noop}]}]\n"


@asynccontextmanager
async def at_work(
    folder: Path, body: str = TWO_TASKS, office: Office | None = None, lease_seconds: float = 30.0
) -> AsyncIterator[Team]:
    """A worker that polls."""
    team = Team(folder, body, office or Office(), lease_seconds)
    team.office.wait_seconds_max = 0.05  # so that a poll under way soon sees that the worker stops
    team.polling = asyncio.ensure_future(team.worker.run())
    try:
        yield team
    finally:
        team.polling.cancel()
        await team.worker.abandon()
        await team.worker.kit.invoker.toolbox.close()
        await team.keychain.close()
