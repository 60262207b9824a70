"""One process that runs a generated family in simulated time; nothing goes wrong but what a test makes go wrong."""

import asyncio
import random
from contextlib import suppress
from pathlib import Path

from noetl.chance import Chance
from noetl.config import Settings
from noetl.control.catalog import Text
from noetl.control.requests import Nobody, RunRequest
from noetl.embedded import Embedded
from noetl.engine.events import decode
from noetl.errors import WrongState
from noetl.results.memory import MemoryResults
from noetl.stores.memory import MemoryStore
from noetl.testing.simulator.keychain import SimKeychain, canary_entries
from noetl.testing.simulator.ledger import Ledger
from noetl.testing.simulator.loop import SimLoop
from noetl.testing.simulator.node_clocks import NodeClock
from noetl.testing.simulator.nodes import Node
from noetl.testing.simulator.playbooks.plans import GATE_KEY
from noetl.testing.simulator.tape import Stream
from noetl.testing.simulator.tools import ScriptedKinds

NOWHERE = Path("/nonexistent")
SIGNAL_AFTER_SECONDS = 1.0
CANARIES = ("canary-of-a-household-0", "canary-of-a-household-1", "canary-of-a-household-2")


class Shelf(MemoryResults):
    """One store of results for everybody."""

    async def for_reading(self, reference, credentials):
        return self

    async def for_writing(self, chosen, credentials):
        return self


class Household:
    """`logs` after `run`: every execution's events, by its id."""

    def __init__(self, family, *, seed=1, slots=4, faults=None):
        self.family = family
        self.seed = seed
        self.slots = slots
        self.faults = faults
        self.ledger = Ledger()
        self.store = MemoryStore()
        self.loop = SimLoop(Stream(seed, "sched"))
        self.logs = {}

    def run(self, payload=None, do=None):
        """The id of an execution of the main playbook, which has ended; `do`: what else happens meanwhile."""
        task = Node(self.loop, "process").run(self._live(payload or {}, do))
        try:
            self.loop.run_until(task.done)
            return task.result()
        finally:
            self.loop.end()

    async def _live(self, payload, do):
        settings = Settings(home=NOWHERE, store_url="sqlite:////nonexistent/noetl.db", slots=self.slots)
        clock = NodeClock(self.loop)
        parts = Embedded(
            settings,
            self.store,
            Nobody(),
            clock,
            ScriptedKinds(self.ledger, "process", self.faults),
            results=Shelf(clock),
            keychain=SimKeychain(canary_entries(CANARIES)),
            chance=Chance(random.Random(self.seed)),
        )
        async with parts:
            (path, text), *children = self.family.texts.items()
            for name, child in children:
                await parts.catalog.register(Text(data=child, name=f"{name}.yaml"))
            execution_id, _ = await parts.start(RunRequest(data=text, name=f"{path}.yaml", payload=payload))
            parts.work()
            signalling = asyncio.ensure_future(self._signal(parts, execution_id))
            if do is not None:
                await do(parts, execution_id)
            await signalling
            await parts.until_quiet(execution_id)
            for number, log in self.store._logs.items():
                self.logs[number] = [decode(body) for body in log]
        return execution_id

    async def _signal(self, parts, execution_id):
        """Open the gates that wait for somebody."""
        if self.family.main.waits_for_signal:
            await asyncio.sleep(SIGNAL_AFTER_SECONDS)
            with suppress(WrongState):
                await parts.desk.signal(execution_id, {f"ctx.{GATE_KEY}": 1})
