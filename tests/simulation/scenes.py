"""Worlds in which nothing goes wrong but what a test makes go wrong, with playbooks that the test wrote."""

import asyncio
import textwrap
from collections.abc import Awaitable, Callable
from typing import Any

from noetl.control.requests import RunRequest
from noetl.engine.events import Event, decode, name_of
from noetl.stores.contract import LIVE
from noetl.testing.simulator.case import Case
from noetl.testing.simulator.cluster_processes import ServerProcess
from noetl.testing.simulator.cluster_world import ClusterWorld
from noetl.testing.simulator.playbooks.plans import Family, Plan
from noetl.testing.simulator.runs import hooked, parsed_once, quiet

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: {name}, path: {name}}}\n"
SECONDS_MAX = 2_000.0


def text_of(body: str, name: str) -> bytes:
    return (HEAD.format(name=name) + textwrap.dedent(body)).encode()


class Scene:
    """A cluster. `bodies`: playbooks by name, without their heads; the first is the one that is started."""

    def __init__(self, bodies: dict[str, str], **configuration: Any) -> None:
        texts = {name: text_of(body, name) for name, body in bodies.items()}
        overrides = {
            "rates": {},
            "executions": 0,
            "clock_offset_seconds_max": 0.0,
            "clock_rate_spread": 0.0,
            "pools": 1,
            "slots": 4,
            "lease_seconds": 10.0,
            **configuration,
        }
        plans = {name: Plan(path=name, steps={}, entry="", workload={}) for name in texts}
        family = Family(plans=plans, texts=texts, features=())
        self.world = ClusterWorld(Case(seed=1, overrides=overrides), is_traced=True, family=family)
        self.text = next(iter(texts.values()))

    def play(self, play: Callable[["Scene"], Awaitable[Any]]) -> Any:
        """Run until that is through; whatever is violated meanwhile is raised."""
        world = self.world
        with parsed_once(), quiet(world.checks.listener), hooked(world):
            task = world.go(self._live(play))
            try:
                world.loop.run_until(lambda: task.done() or world.violation is not None)
                if world.violation is None:
                    world.check()
            finally:
                world.loop.end()
        if world.violation is not None:
            raise world.violation
        return task.result()

    async def _live(self, play: Callable[["Scene"], Awaitable[Any]]) -> Any:
        await self.world.prepare()
        while not all(process.is_up for process in self.world.running.values()):
            await asyncio.sleep(0.1)
        return await play(self)

    # --- what tests do -----------------------------------------------------------------------------------------------

    @property
    def servers(self) -> list[ServerProcess]:
        return [one for one in self.world.running.values() if isinstance(one, ServerProcess)]

    def kill_workers(self) -> None:
        for node in self.world.processes("worker"):
            self.world.kill(node)

    async def start(self, key: str | None = None, server: int = 0, **payload: Any) -> int:
        process = self.servers[server]
        request = RunRequest(data=self.text, name="scene.yaml", payload=payload, request_key=key)
        started = await self.world.line.call(process.node, lambda: process.server.desk.start(request))
        return started.execution_id

    async def ask(self, do: Callable[[Any], Awaitable[Any]], server: int = 0) -> Any:
        process = self.servers[server]
        return await self.world.line.call(process.node, lambda: do(process.server.desk))

    async def ended(self, execution_id: int) -> str:
        """Its status, once it has ended."""
        rows = self.world.database.tables.executions
        until = self.world.loop.time() + SECONDS_MAX
        while rows[execution_id].execution.status in LIVE:
            assert self.world.loop.time() < until, f"it did not end: {self.world.what_waits()}"
            await asyncio.sleep(0.1)
        return rows[execution_id].execution.status

    def log(self, execution_id: int) -> list[Event]:
        return [decode(body) for body in self.world.view().bodies(execution_id)]

    def names(self, execution_id: int) -> list[str]:
        return [name_of(event) for event in self.log(execution_id)]
