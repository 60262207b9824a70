"""Faults that were found in the product and fixed, planted again: each fix, taken back.

A case that met one is kept under its name (`regressions.py`): it fails with the fault planted, and holds without it.
"""

from __future__ import annotations

import zlib
from typing import Any

from msgspec.structs import replace

from noetl import embedded
from noetl.clock import AgreedClock
from noetl.control import desk as desks
from noetl.control import rerun, taking_up
from noetl.control.intake import Intake
from noetl.control.live import Executions
from noetl.control.taking_up import ROWS_PER_READ
from noetl.control.turn import Faulty, Turn
from noetl.embedded import Embedded
from noetl.engine import commands as ops
from noetl.engine import progress
from noetl.queues.contract import ACCEPTED
from noetl.runner.execute import Execution
from noetl.runner.slots import Seat, Slots
from noetl.stores.contract import LIVE, HeadMoved, Store
from noetl.stores.shared import Claimed
from noetl.testing.simulator.case import CLUSTER, EMBEDDED
from noetl.testing.simulator.database.jobs import DatabaseJobs
from noetl.testing.simulator.mutants.planting import Mutant, Planting
from noetl.testing.simulator.mutants.pump import nothing


def own_clock(planting: Planting) -> None:
    planting.put(AgreedClock, "now", lambda clock: clock.own.now())


def fault_answered(planting: Planting) -> None:
    def made(faulted: Any) -> Any:
        async def answered(self: Turn, faulty: Faulty) -> tuple[str, list[ops.Change]]:
            _word, changes = await faulted(self, faulty)
            if isinstance(faulty.operation, ops.Report):
                self._accept(faulty.operation)
            return ACCEPTED, changes

        return answered

    planting.around(Turn, "_faulted", made)


def ids_tried_once(planting: Planting) -> None:
    planting.put(desks, "IDS_TRIED_MAX", 1)
    planting.put(rerun, "IDS_TRIED_MAX", 1)
    for asked in (desks, rerun):
        planting.put(asked, "Unreachable", HeadMoved)  # whoever asked is refused, and not told to ask again
    planting.put(Intake, "_is_id_taken", lambda _intake, _execution_id: False)


def take_up_ends(planting: Planting) -> None:
    async def taken_up(self: Embedded) -> None:
        before: int | None = None
        while rows := await self.store.executions(limit=ROWS_PER_READ, before=before):
            for row in rows:
                if row.status in LIVE and row.parent_id is None:
                    await self.desk.resume(row.id)
            before = rows[-1].id

    planting.put(Embedded, "take_up_all", taken_up)


def left_to_its_caller(planting: Planting) -> None:
    def made(take_up_all: Any) -> Any:
        async def taken_up(store: Store, pump: Any, is_under_way: Any) -> None:
            rows = [row for status in LIVE async for row in taking_up._rows(store, status)]
            live = {row.id for row in rows}
            called = {row.id for row in rows if row.parent_id in live}
            await take_up_all(store, pump, lambda one: one in called or is_under_way(one))

        return taken_up

    planting.around(embedded, "take_up_all", made)


def workload_of_another(planting: Planting) -> None:
    def made(new: Any) -> Any:
        async def begun(self: Turn, start: ops.Start) -> Any:
            executions = self.parts.executions
            vars(executions)["forget"] = nothing  # hides the method, while nobody else has the turn
            try:
                return await new(self, start)
            finally:
                del vars(executions)["forget"]

        return begun

    planting.around(Turn, "_new", made)


def signal_not_recorded(planting: Planting) -> None:
    planting.put(desks, "STALE", "a word that nobody answers")


def asked_again_and_dropped(planting: Planting) -> None:
    planting.put(Executions, "is_going_on", lambda executions, execution_id: executions.known(execution_id) is not None)


def previous_lost(planting: Planting) -> None:
    planting.put(progress, "_keep_previous", nothing)


def forked_between(planting: Planting) -> None:
    planting.put(rerun, "whole_until", lambda _events, until: until)


def loop_lease_shared(planting: Planting) -> None:
    def shared(jobs: DatabaseJobs, worker: str, claim: Claimed, had: int) -> Claimed:
        """As the jobs of a local loop once were: all under the loop's number, unless this one has had it."""
        tables = jobs._tables
        job = tables.jobs[claim.key]
        lease = zlib.crc32(f"{claim.key[0]} {job.group} {worker}".encode()) + 1
        if not job.group or abs(had) == lease:
            return claim
        tables.put(tables.jobs, claim.key, replace(job, lease=lease))
        return replace(claim, lease=lease)

    def made(claimed: Any) -> Any:
        def claimed_as_one(self: DatabaseJobs, worker: str, *rest: Any) -> list[Claimed]:
            had = {key: job.lease for key, job in self._tables.jobs.items()}
            return [shared(self, worker, claim, had[claim.key]) for claim in claimed(self, worker, *rest)]

        return claimed_as_one

    planting.around(DatabaseJobs, "_claimed", made)


def overbooked(planting: Planting) -> None:
    def seat(slots: Slots) -> Seat:
        slots.free -= 1
        return Seat(slots)

    planting.put(Slots, "seat", seat)


def called_again(planting: Planting) -> None:
    def made(confirmed: Any) -> Any:
        async def confirmed_unasked(self: Execution) -> None:
            vars(self.reporter)["check"] = nothing  # hides the method, while it is not asked anyway
            try:
                await confirmed(self)
            finally:
                del vars(self.reporter)["check"]

        return confirmed_unasked

    planting.around(Execution, "_confirmed", made)


MUTANTS = (
    Mutant(
        name="ownclock",
        meaning="each machine of a cluster tells the time by its own clock",
        caught_by=("I15", "reference"),
        shapes=(CLUSTER,),
        overrides={"clock_offset_seconds_max": 3600.0, "workers": 3},
        plant=own_clock,
    ),
    Mutant(
        name="faultanswered",
        meaning="what the engine failed on is answered as if it were recorded",
        caught_by=("I13", "I3", "I4"),
        overrides={"users_cancel": 0.7, "users_signal": 0.7, "rates": {"engine.raises": 0.3}},
        plant=fault_answered,
    ),
    Mutant(
        name="idsonce",
        meaning="an id that a failover gives again is not replaced by another",
        caught_by=("process",),
        shapes=(CLUSTER,),
        overrides={
            "servers": 3,
            "executions": 8,
            "size": 1,
            "rates": {"store.rewind": 0.5, "store.slow": 0.9, "user.doubled": 0.9},
        },
        plant=ids_tried_once,
    ),
    Mutant(
        name="takeupends",
        meaning="a process that starts takes up incidents, too, and ends with the first execution that cannot be",
        caught_by=("process",),
        shapes=(EMBEDDED,),
        overrides={"is_lasting": True, "rates": {"engine.raises": 0.3, "server.kill": 0.3}},
        plant=take_up_ends,
    ),
    Mutant(
        name="staleworkload",
        meaning="an execution begins with what memory has of another under its id, which a failover lost",
        caught_by=("I10", "reference"),
        shapes=(CLUSTER,),
        overrides={"users_rerun": 0.9, "executions": 8, "rates": {"store.rewind": 0.9}},
        plant=workload_of_another,
    ),
    Mutant(
        name="signalunrecorded",
        meaning="a signal that came too late is answered as if it were recorded",
        caught_by=("I13",),
        overrides={"users_signal": 0.9, "users_cancel": 0.9},
        plant=signal_not_recorded,
    ),
    Mutant(
        name="dropped",
        meaning="a time-out that is asked again after its batch failed is thrown away",
        caught_by=("I15", "reference"),
        shapes=(EMBEDDED,),
        overrides={"is_lasting": True, "executions": 2, "rates": {"store.disk_full": 0.7, "tool.hangs": 0.8}},
        plant=asked_again_and_dropped,
    ),
    Mutant(
        name="prevlost",
        meaning="a task that jumped to itself finds an attempt that failed as _prev",
        caught_by=("reference",),
        plant=previous_lost,
    ),
    Mutant(
        name="forkedbetween",
        meaning="a fork may part two events of one decision",
        caught_by=("I15", "reference"),
        shapes=(EMBEDDED,),
        overrides={"executions": 8, "users_rerun": 0.9, "users_cancel": 0.0, "rates": {}},
        plant=forked_between,
    ),
    Mutant(
        name="childbeside",
        meaning="a child that undoes its steps beside its caller is left to it, which waits for it no more",
        caught_by=("I9", "I12", "I15"),
        shapes=(EMBEDDED,),
        overrides={
            "is_lasting": True,
            "users_cancel": 0.95,
            "users_signal": 0.0,
            "users_rerun": 0.0,
            "executions": 8,
            "size": 10,
            "rates": {"server.kill": 0.5},
        },
        plant=left_to_its_caller,
    ),
    Mutant(
        name="looplease",
        meaning="the jobs of a local loop share a number, which a failover that lost a claim gives again",
        caught_by=("I2",),
        shapes=(CLUSTER,),
        overrides={"servers": 3, "workers": 1, "size": 1, "rates": {"store.rewind": 0.9, "store.statement_fails": 0.1}},
        plant=loop_lease_shared,
    ),
    Mutant(
        name="calledagain",
        meaning="a called task is tried again by a worker that was told meanwhile that the job is over",
        caught_by=("effects",),
        shapes=(CLUSTER,),
        overrides={"users_cancel": 0.0, "executions": 4, "size": 2, "workers": 2, "rates": {"engine.raises": 0.3}},
        plant=called_again,
    ),
    Mutant(
        name="overbooked",
        meaning="a worker begins with a job though all its slots are taken again since it asked for one",
        caught_by=("effects",),
        overrides={"slots": 1, "executions": 8, "size": 2, "poison": 0, "rates": {}},
        plant=overbooked,
    ),
)
