"""The parts of one process over the store of a folder, with a ledger of every call of a tool."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.control.requests import Nobody, Observer, RunRequest
from noetl.embedded import Embedded, Kinds, made
from noetl.engine.output import Output
from noetl.ids import task_run_id
from noetl.stores.contract import LIVE
from noetl.stores.sqlite import SqliteStore
from noetl.testing.waiting import until
from noetl.tools.contract import Call, Hands, Tool
from tests.control.parts import settings_of, text_of

MEMORY = next((folder for folder in (Path("/dev/shm"),) if folder.is_dir()), None)  # noqa: S108 - no name is guessed
Attempt = tuple[str, int]  # a task run, and which attempt of it
Ledger = list[Attempt]


class Ledgered:
    """A tool of which every call is written down."""

    def __init__(self, tool: Tool, ledger: Ledger) -> None:
        self.tool = tool
        self.ledger = ledger

    def run(self, call: Call) -> Output | Any:
        self.ledger.append((call.key.rpartition(".")[0], call.attempt))
        return self.tool.run(call)

    async def close(self) -> None:
        await self.tool.close()


class LedgeredKinds(Kinds):
    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.ledger = ledger

    def make_tool(self, name: str, hands: Hands) -> Tool:
        return Ledgered(super().make_tool(name, hands), self.ledger)


@asynccontextmanager
async def at_work(folder: Path, ledger: Ledger, observer: Observer | None = None) -> AsyncIterator[Embedded]:
    """The parts, with a worker that takes jobs."""
    settings: Settings = settings_of(folder)
    store = await SqliteStore.open(settings.store_path)
    async with made(settings, store, observer or Nobody(), SystemClock(), LedgeredKinds(ledger)) as parts:
        parts.work()
        yield parts


async def started(parts: Embedded, body: str, name: str, request_key: str) -> int:
    request = RunRequest(data=text_of(body, name), name=f"{name}.yaml", request_key=request_key)
    return (await parts.desk.start(request)).execution_id


async def all_ended(parts: Embedded) -> None:
    """Wait until every execution of the store has ended, or the process can do no more."""

    async def is_so() -> bool:
        if parts._failure is not None:
            raise parts._failure
        return all(row.status not in LIVE for row in await parts.store.executions(limit=1000))

    await until(is_so)


def attempt_of(execution_id: int, event: Any) -> Attempt:
    """The attempt that an event of a task is about."""
    return task_run_id(execution_id, event.run, event.iter, event.task, event.visit), event.attempt
