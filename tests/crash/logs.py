"""What the store says, read while no process has it: executions, attempts on record, jobs in flight."""

import asyncio
from pathlib import Path
from typing import NamedTuple

from noetl.config import Settings, load
from noetl.control.live import folded
from noetl.engine.events import ExecutionRecovered, TaskDone
from noetl.engine.state import State
from noetl.errors import StoreUnusable
from noetl.ids import task_run_id
from noetl.stores.contract import LIVE, Execution
from noetl.stores.sqlite import SqliteStore
from tests.crash.world import Attempt

EVENTS_MAX = 100_000
Job = str  # execution:run:iter, the beginning of its task run ids


class Record(NamedTuple):
    """A store at one moment."""

    executions: list[Execution]
    done: set[Attempt]  # attempts whose task.done is on record
    jobs: set[Job]  # in flight: neither ended nor parked for a child
    recoveries: int

    @property
    def root(self) -> Execution | None:
        """The execution that nobody called."""
        return next((one for one in self.executions if one.parent_id is None), None)

    @property
    def root_id(self) -> str:
        assert self.root is not None
        return str(self.root.id)

    @property
    def children(self) -> list[Execution]:
        return [one for one in self.executions if one.parent_id is not None]

    @property
    def events(self) -> int:
        return sum(one.head for one in self.executions)


EMPTY = Record([], set(), set(), 0)


def settings_for(home: Path) -> Settings:
    return load(home=str(home), environ={}, folder=home.parent)


def read_record(home: Path) -> Record:
    """The store of a home; an empty record if there is none yet."""
    path = settings_for(home).store_path
    try:
        return asyncio.run(_read(path)) if path.exists() else EMPTY
    except StoreUnusable as error:
        if "schema 0" not in str(error):
            raise
        return EMPTY  # it was killed before it had made its tables


async def _read(path: Path) -> Record:
    store = await SqliteStore.open(path, is_read_only=True)
    try:
        record = Record(await store.executions(1000), set(), set(), 0)
        recoveries = 0
        for execution in record.executions:
            for _, event in await store.events(execution.id, 0, EVENTS_MAX):
                recoveries += isinstance(event, ExecutionRecovered)
                if isinstance(event, TaskDone):
                    run = task_run_id(execution.id, event.run, event.iter, event.task, event.visit)
                    record.done.add((run, event.attempt))
            if execution.status in LIVE:
                record.jobs.update(_jobs(await folded(store, execution.id)))
        return record._replace(recoveries=recoveries)
    finally:
        await store.close()


def _jobs(state: State) -> set[Job]:
    return {
        f"{state.execution_id}:{run.id}:{index}"
        for run in state.runs.values()
        for index, job in run.jobs.items()
        if job.child is None
    }


def job_of(attempt: Attempt) -> Job:
    return ":".join(attempt[0].split(":")[:3])
