"""Schedules over the parts of one process, with a clock that a test sets."""

import json
from contextlib import asynccontextmanager
from datetime import datetime
from zoneinfo import ZoneInfo

from noetl.control.requests import RunRequest
from noetl.dsl.schedule_documents import ScheduleDocument
from noetl.starting.firing import Scheduler, decoded
from noetl.starting.schedule_state import ROOM
from noetl.starting.schedules import Schedules
from tests.control.parts import opened, text_of

BERLIN = ZoneInfo("Europe/Berlin")
PLAYBOOK = """
workload: {n: 0}
workflow:
  - step: start
    tool: {kind: noop}
"""
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=ZoneInfo("UTC")).timestamp()


class HandClock:
    """Shows what a test says."""

    def __init__(self, now=NOON):
        self.seconds = now

    def now(self):
        return self.seconds

    def monotonic(self):
        return self.seconds

    async def sleep(self, seconds):
        raise AssertionError("nothing here waits")


def at(text, zone=BERLIN):
    """A time of a clock on the wall, in seconds since 1970."""
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


def document(name="pulse", path="trial", **given):
    if not given.get("cron"):
        given.setdefault("every_seconds", 60)
    return ScheduleDocument(name=name, path=path, **given)


class Office:
    """A desk, what people ask of schedules, and one server that looks at them."""

    def __init__(self, parts):
        self.parts = parts
        self.store = parts.store
        self.desk = parts.desk
        self.clock = HandClock()
        self.schedules = Schedules(parts.store, self.clock, lambda: 0.5)
        self.scheduler = self.another()

    def another(self):
        return Scheduler(self.desk, self.store, self.clock, lambda: 0.5)

    async def look(self, now):
        self.clock.seconds = now
        await self.scheduler.look()

    def logged(self):
        """What the program wrote to its own log: level and action."""
        file = self.parts.settings.store_path.with_suffix(".log")
        lines = map(json.loads, file.read_text("utf-8").splitlines() if file.exists() else ())
        return [(line["level"], line.get("action")) for line in lines]

    async def kept(self, name="pulse"):
        return decoded(await self.store.record(ROOM, name))

    async def executions(self):
        """All there are, oldest first."""
        return (await self.store.executions(limit=10_000))[::-1]

    async def due_times(self):
        return [row.request_key.partition(":")[2].partition(":")[2] for row in await self.executions()]

    async def end_all(self):
        for row in await self.executions():
            if row.status == "running":
                await self.desk.cancel(row.id, "the test says so")


@asynccontextmanager
async def office(folder, is_applied=True, **given):
    """With a registered playbook, a schedule for it, and nobody who works: what is started stays alive."""
    async with opened(folder, is_working=False) as parts:
        await parts.desk.register(RunRequest(data=text_of(PLAYBOOK), name="trial.yaml"))
        found = Office(parts)
        if is_applied:
            await found.schedules.apply(document(**given))
        yield found
