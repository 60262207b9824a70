"""One crash image on trial: the product opens it, finds all that was acknowledged, and goes on to the end.

A recording and an image come in, a verdict goes out: the faults that were found, none if the promises held. What is
looked at first is what lies on the disk; only an image without faults is gone on with.
"""

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from noetl.control.live import folded
from noetl.control.verify import verify
from noetl.embedded import Embedded
from noetl.engine.events import Event, TaskDone, encode
from noetl.errors import NoetlError
from noetl.references import Reference, reference_of
from noetl.stores.contract import LIVE, Store
from noetl.testing.crash_images import CrashImage, drawn
from tests.simulation.crash_parts import MEMORY, Attempt, Ledger, all_ended, at_work, attempt_of, started
from tests.simulation.crash_workload import (
    CANCELLED,
    CHAIN,
    COMMITTED,
    GATED_KEY,
    HOME,
    OPENING,
    PATIENT_KEY,
    RECORDED,
    REGISTERED,
    Recording,
)

EVENTS_MAX = 100_000
Logs = dict[int, list[Event]]


class Verdict(NamedTuple):
    """What one image showed."""

    image: CrashImage
    executions: int  # found in it
    calls: int  # of tools, until all had ended
    faults: list[str]

    def __str__(self) -> str:
        return f"image {self.image.seed}, cut {self.image.cut}: " + "; ".join(self.faults or ["sound"])


async def tried(recording: Recording, seed: int) -> Verdict:
    """Draw an image, put it into a folder, and try it."""
    image = drawn(recording.trace, seed)
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder = Path(name)
        image.write(folder)
        trial = Trial(recording, image, folder / HOME)
        try:
            await trial.hold()
        except Exception as error:  # whatever it is: the product was given what a disk may hold
            trial.faults.append(f"the product cannot go on with it: {type(error).__name__}: {error}")
    return Verdict(image, len(trial.found), len(trial.ledger), trial.faults)


class Trial:
    """See above."""

    def __init__(self, recording: Recording, image: CrashImage, folder: Path) -> None:
        self.recording = recording
        self.image = image
        self.folder = folder
        self.ledger: Ledger = []
        self.found: Logs = {}
        self.faults: list[str] = []

    def check(self, is_so: bool, fault: str) -> None:
        if not is_so:
            self.faults.append(fault)

    async def hold(self) -> None:
        async with at_work(self.folder, self.ledger) as parts:
            self.check_pages()
            if self.faults:
                return
            self.found = await logs_of(parts.store)
            await self.check_logs(parts.store)
            self.check_history()
            await self.check_acknowledged(parts.store)
            await self.check_references(parts)
            if not self.faults:
                await self.go_on(parts)
                await self.check_end(parts.store)

    # --- what lies there ---------------------------------------------------------------------------------------------

    def check_pages(self) -> None:
        """SQLite's own opinion, by a connection of its own beside the store's."""
        with closing(sqlite3.connect(f"file:{self.folder / 'noetl.db'}?mode=ro", uri=True)) as connection:
            (said,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        self.check(said == "ok", f"integrity_check: {said}")

    async def check_logs(self, store: Store) -> None:
        """I1, I3, I4, I6, I8, I10, I11."""
        for row in await store.executions(limit=1000):
            report = await verify(store, row.id)
            broken = [f"{one['name']} ({one['detail']})" for one in report["checks"] if not one["ok"]]
            self.check(report["is_equal"], f"execution {row.id}: {', '.join(broken)}")

    def check_history(self) -> None:
        """A log that was cut off is the beginning of the one that was written, byte for byte."""
        for execution_id, events in self.found.items():
            written = self.recording.logs.get(execution_id, [])
            self.check(
                list(map(encode, events)) == written[: len(events)], f"execution {execution_id} has another history"
            )

    async def check_acknowledged(self, store: Store) -> None:
        """I13."""
        for entry in self.image.acknowledged:
            match entry.what, entry.facts:
                case (what, (execution_id, seq)) if what == COMMITTED:
                    head = len(self.found.get(execution_id, []))
                    self.check(head >= seq, f"execution {execution_id}: event {seq} was acknowledged, {head} are there")
                case (what, (path, sha)) if what == REGISTERED:
                    self.check(await store.entry_by_sha(sha) is not None, f"the playbook {path} was acknowledged")
                case (what, (name, version)) if what == RECORDED:
                    record = await store.record("crash", name)
                    self.check(record is not None and record.version >= version, f"record {name} was acknowledged")
                case (what, (execution_id,)) if what == CANCELLED:
                    row = await store.execution(execution_id)
                    self.check(row is not None and row.status == "cancelled", f"the cancel of {execution_id} is lost")

    async def check_references(self, parts: Embedded) -> None:
        """What a log refers to is there, and whole (RS-01)."""
        data = msgspec.json.decode(b"[%s]" % b",".join(encode(one) for log in self.found.values() for one in log))
        for reference in dict.fromkeys(references_in(data)):
            try:
                await parts.results.fetch(reference)
            except NoetlError as error:
                self.faults.append(f"a result of the log: {error}")

    # --- what becomes of it ------------------------------------------------------------------------------------------

    async def go_on(self, parts: Embedded) -> None:
        """As people would: take everything up, say what had not been heard, start something new."""
        await parts.take_up_all()
        gated = await parts.store.execution_by_request(GATED_KEY)
        if gated is not None and gated.status in LIVE and not (await folded(parts.store, gated.id)).ctx.get("go"):
            await parts.desk.signal(gated.id, OPENING)
        patient = await parts.store.execution_by_request(PATIENT_KEY)
        if patient is not None and patient.status in LIVE:
            await parts.desk.cancel(patient.id, "enough")
        await started(parts, CHAIN, "crash/chain", "after the crash")
        await all_ended(parts)

    async def check_end(self, store: Store) -> None:
        """Everything ends as it did when nothing failed, and nothing on record was done or recorded again."""
        await self.check_logs(store)
        logs = await logs_of(store)
        for execution_id, events in self.found.items():
            row = await store.execution(execution_id)
            end = (row.status if row else "", (await folded(store, execution_id)).ctx)
            wanted = self.recording.ends[execution_id]
            self.check(end == wanted, f"execution {execution_id} ended as {end}, not as {wanted}")
            self.check(logs[execution_id][: len(events)] == events, f"execution {execution_id}: its log was rewritten")
        again = set(attempts_of(self.found)) & set(self.ledger)
        self.check(not again, f"done again, though on record: {sorted(again)}")
        twice = [one for one, count in Counter(attempts_of(logs)).items() if count > 1]
        self.check(not twice, f"recorded twice: {sorted(twice)}")


async def logs_of(store: Store) -> Logs:
    rows = await store.executions(limit=1000)
    return {row.id: [event for _, event in await store.events(row.id, limit=EVENTS_MAX)] for row in rows}


def attempts_of(logs: Logs) -> Iterator[Attempt]:
    """Those on record."""
    for execution_id, events in logs.items():
        yield from (attempt_of(execution_id, event) for event in events if isinstance(event, TaskDone))


def references_in(data: Any) -> Iterator[Reference]:
    """Every reference in a value, however deep."""
    reference = reference_of(data)
    if reference is not None:
        yield reference
    elif isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from references_in(value)
