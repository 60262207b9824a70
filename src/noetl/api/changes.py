"""One bell for whoever looks at pages: it says what has changed, and the page asks again for what it shows.

What is looked at for each subject is a probe (`control.changes`); each is cheap, for all of them are asked every two
seconds while somebody listens, and costs nothing while nobody does.
"""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from noetl.api.events import streamed
from noetl.api.operations import EVENT_STREAM, Call, Media, Operation
from noetl.api.parts import Job, Parts, WantedJobs
from noetl.control.changes import Marks, Probes
from noetl.identity.roles import VIEWER
from noetl.starting.schedule_state import ROOM as SCHEDULE_ROOM
from noetl.starting.triggers import ROOM as TRIGGER_ROOM
from noetl.starting.triggers import TALLY_ROOM
from noetl.stores.contract import Store

TAG = "overview"
SAYS = (
    "`listening` once, from when on nothing is missed; then `executions` (data: the row that changed) and `workforce`, "
    "`schedules`, `triggers`, `catalog`, `health`, `overview` (data: an empty object), each when something has changed "
    "that the token may see"
)
PAGE = 1000
JOBS_MARKED = 100  # of each look: the first ones of the list, as a page shows them
HEARD_SECONDS = 4.0  # how exactly it is told when a worker was heard of
ONE_BY_ONE_MAX = 20  # documents that are read by themselves; if more have changed, all are


class About(msgspec.Struct):
    path: str


class Kept(msgspec.Struct):
    """What a schedule and a trigger have in common."""

    document: About


class Documents:
    """The documents of one room: name and version, by the path of their playbook."""

    def __init__(self, store: Store, room: str, beside: str = "") -> None:
        self._store = store
        self._room = room
        self._beside = beside  # a room of records of the same names, whose versions count too
        self._known: dict[str, tuple[int, str]] = {}  # version and path, by name

    async def marks(self) -> Marks:
        versions = await self._store.record_versions(self._room)
        others = await self._store.record_versions(self._beside) if self._beside else {}
        await self._learn({name for name, version in versions.items() if self._known.get(name, (0, ""))[0] != version})
        self._known = {name: known for name, known in self._known.items() if name in versions}
        found: dict[str | None, dict[str, tuple[int, int]]] = {}
        for name, (version, path) in self._known.items():
            found.setdefault(path, {})[name] = (version, others.get(name, 0))
        return found

    async def _learn(self, changed: set[str]) -> None:
        if len(changed) <= ONE_BY_ONE_MAX:
            records = [await self._store.record(self._room, name) for name in sorted(changed)]
        else:
            records, after = [], ""
            while page := await self._store.records(self._room, after, PAGE):
                records += page
                after = page[-1].name
        for record in records:
            if record is not None:
                path = msgspec.json.decode(record.body, type=Kept).document.path
                self._known[record.name] = (record.version, path)


class Titles:
    """The newest version of each path; they are read only when there are more versions than before."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._size = -1
        self._known: dict[str | None, int] = {}

    async def marks(self) -> Marks:
        size = await self._store.catalog_size()
        if size != self._size:
            self._known, after = {}, ""
            while page := await self._store.titles(PAGE, after):
                self._known |= {title.path: title.version for title in page}
                after = page[-1].path
            self._size = size
        return self._known


def jobs_by_path(jobs: list[Job], now: float) -> dict[str, object]:
    """Who holds what, and when it was last heard of: a loop that always has as many jobs has others each time."""
    found: dict[str, list[object]] = {}
    for job in jobs:
        heard = None if job.lease_age_seconds is None else round((now - job.lease_age_seconds) / HEARD_SECONDS)
        mark = (job.execution_id, job.run, job.iteration, job.state, job.worker, job.deliveries, heard)
        found.setdefault(job.path, []).append(mark)
    return dict(found)


def probes_of(parts: Parts) -> Probes:
    async def workforce() -> Marks:
        pools = [(one.pool, one.ready, one.leased, one.parked, one.workers) for one in await parts.workforce.pools()]
        workers = [(one.worker, one.pool, one.slots, one.jobs) for one in await parts.workforce.workers()]
        marks: dict[str | None, object] = {None: (pools, workers)}
        return marks | jobs_by_path(await parts.workforce.jobs(JOBS_MARKED, WantedJobs()), parts.clock.now())

    async def health() -> Marks:
        return {None: [(check.name, check.is_ok) for check in await parts.health()]}

    return {
        "workforce": workforce,
        "health": health,
        "catalog": Titles(parts.store).marks,
        "schedules": Documents(parts.store, SCHEDULE_ROOM).marks,
        "triggers": Documents(parts.store, TRIGGER_ROOM, TALLY_ROOM).marks,
    }


async def stream_changes(call: Call) -> Response:
    return streamed(call.parts.changes.rung(call.identity.sees, probes_of(call.parts)), call)


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/v1/changes",
        role=VIEWER,
        summary="Hear what changes, subject by subject",
        handler=stream_changes,
        tag=TAG,
        answers={200: Media(EVENT_STREAM, SAYS)},
        is_stream=True,
    ),
)
