"""Mistakes in the queue and in handing out: leases, claims, parked jobs, heartbeats (protocol §6)."""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.control import dispatch, handing_out, shared_sitting
from noetl.control.handing_out import HandingOut
from noetl.control.shared_sitting import SharedSitting
from noetl.control.worker_service import ServerForWorkers
from noetl.engine.commands import Key, Work
from noetl.engine.state import Progress
from noetl.queues.contract import Member
from noetl.queues.memory import MemoryQueue
from noetl.stores.shared import LEASED, READY
from noetl.testing.simulator.case import CLUSTER, EMBEDDED
from noetl.testing.simulator.database.jobs import DatabaseJobs
from noetl.testing.simulator.database.tables import Job
from noetl.testing.simulator.mutants.planting import Mutant, Planting
from noetl.testing.simulator.mutants.pump import nothing


def leases_reused(planting: Planting) -> None:
    def of_a_server(made: Any) -> Any:
        def begun(self: HandingOut, **named: Any) -> None:
            made(self, **{**named, "nonce": 0})

        return begun

    def of_a_process(made: Any) -> Any:
        def begun(self: MemoryQueue, _nonce: int, *given: Any) -> None:
            made(self, 0, *given)

        return begun

    planting.around(HandingOut, "__init__", of_a_server)
    planting.around(MemoryQueue, "__init__", of_a_process)


def worker_is_live(planting: Planting) -> None:
    """The server notes what each worker was given, and extends that."""

    def noting(made: Any) -> Any:
        def noted(self: Any, live: Any, key: Key, lease: int) -> Any:
            self.__dict__.setdefault("given_jobs", {})[lease] = key
            return made(self, live, key, lease)

        return noted

    def extending(heartbeat: Any) -> Any:
        async def extended(self: Any, member: Member, held: list[tuple[Key, int]]) -> list[Key]:
            handing = self.handing
            jobs = handing.__dict__.get("given_jobs", {})
            own = [(key, lease) for lease, key in jobs.items() if handing._given.get(lease) == member.worker]
            gone: list[Key] = await heartbeat(self, member, list(dict.fromkeys([*held, *own])))
            return gone

        return extended

    planting.around(HandingOut, "_made", noting)
    planting.around(ServerForWorkers, "heartbeat", extending)


def _without_checkpoint(work_of: Any) -> Any:
    def made(*given: Any) -> Work:
        work: Work = work_of(*given)
        progress = work.progress
        return msgspec.structs.replace(work, progress=Progress(ctx=progress.ctx, step=progress.step))

    return made


def no_checkpoint_after_a_restart(planting: Planting) -> None:
    planting.around(dispatch, "work_of", _without_checkpoint)


def no_checkpoint_after_a_redelivery(planting: Planting) -> None:
    planting.around(handing_out, "work_of", _without_checkpoint)


def handed_out_early(planting: Planting) -> None:
    def made(queue_changes: Any) -> Any:
        def changed(self: Any, turn: Any) -> Any:
            changes = queue_changes(self, turn)
            self.handing.hand_over(self._reserved, (share.live for share in turn.shares.values()))
            self._reserved = []
            return changes

        return changed

    planting.around(SharedSitting, "_queue_changes", made)


def park_forgotten(planting: Planting) -> None:
    def made(queue_changes: Any) -> Any:
        def changed(*given: Any) -> Any:
            return msgspec.structs.replace(queue_changes(*given), parked=[])

        return changed

    planting.around(shared_sitting, "queue_changes", made)
    planting.put(MemoryQueue, "_park", nothing)


def leased_claimed(planting: Planting) -> None:
    def also_leased(jobs: DatabaseJobs, now: float) -> list[Job]:
        return [job for job in jobs._tables.jobs.values() if job.state in (READY, LEASED) and job.ready_at <= now]

    planting.put(DatabaseJobs, "_ready", also_leased)


MUTANTS = (
    Mutant(
        name="epochreuse",
        meaning="leases are counted from 1 by every server, and again after a restart",
        caught_by=("I2",),
        overrides={"servers": 3, "lease_seconds": 3.0, "rates": {"worker.kill_at_tool": 0.2, "server.kill": 0.4}},
        plant=leases_reused,
    ),
    Mutant(
        name="workerlive",
        meaning="a heartbeat extends all that its worker was given, listed or not",
        caught_by=("I15",),
        shapes=(CLUSTER,),
        plant=worker_is_live,
    ),
    Mutant(
        name="E-norebuildcp",
        meaning="a process that takes its jobs up hands them out without their checkpoints",
        caught_by=("I3",),
        shapes=(EMBEDDED,),
        plant=no_checkpoint_after_a_restart,
    ),
    Mutant(
        name="redone",
        meaning="a job that is handed out again begins with its first task, whatever is recorded",
        caught_by=("I3",),
        shapes=(CLUSTER,),
        plant=no_checkpoint_after_a_redelivery,
    ),
    Mutant(
        name="handedearly",
        meaning="jobs go out before the batch that makes them is committed",
        caught_by=("effects",),
        shapes=(CLUSTER,),
        plant=handed_out_early,
    ),
    Mutant(
        name="parkforgotten",
        meaning="the queue does not hear that a job waits",
        caught_by=("I9", "I3"),
        plant=park_forgotten,
    ),
    Mutant(
        name="doubleclaim",
        meaning="a claim does not look whether a job is somebody's",
        caught_by=("leases",),
        shapes=(CLUSTER,),
        plant=leased_claimed,
    ),
)
