"""Mistakes in workers: reports, leases that are over, keys, stored results, secrets (protocol §7)."""

from __future__ import annotations

from typing import Any

from noetl import ids
from noetl.engine.scene import Scene
from noetl.keychain.redaction import Redactor
from noetl.results import by_content
from noetl.runner.heartbeat import Heartbeat
from noetl.runner.holding import Holding
from noetl.runner.lease import Lease
from noetl.runner.reporter import Reporter
from noetl.testing.simulator.case import CLUSTER
from noetl.testing.simulator.mutants.planting import Mutant, Planting
from noetl.testing.simulator.mutants.pump import nothing
from noetl.testing.simulator.mutants.sweeps import nothing_later


def key_by_lease(planting: Planting) -> None:
    def key(self: Any, task: Any) -> str:
        work = self.work
        task_run = ids.task_run_id(work.execution_id, work.run, work.iter, task.label, self.visit(task))
        return ids.idempotency_key(task_run, work.lease)

    planting.put(Scene, "key", key)


def key_by_attempt(planting: Planting) -> None:
    def key(self: Any, task: Any) -> str:
        work = self.work
        task_run = ids.task_run_id(work.execution_id, work.run, work.iter, task.label, self.visit(task))
        return ids.idempotency_key(task_run, self.progress.attempt - 1)

    planting.put(Scene, "key", key)


def no_heartbeats(planting: Planting) -> None:
    planting.put(Heartbeat, "beat", nothing_later)


def gone_not_dropped(planting: Planting) -> None:
    planting.put(Holding, "_drop", nothing)


def results_not_checked(planting: Planting) -> None:
    planting.put(by_content, "check_sha", nothing)


def not_redacted(planting: Planting) -> None:
    planting.put(Redactor, "clean", lambda _redactor, data: data)


def not_self_fenced(planting: Planting) -> None:
    planting.put(Lease, "is_firm", property(lambda _lease: True))


def reported_at_the_end(planting: Planting) -> None:
    planting.put(Reporter, "soon", nothing)


MUTANTS = (
    Mutant(
        name="keybylease",
        meaning="the idempotency key of a task changes with the lease, so after every crash",
        caught_by=("effects", "reference"),
        plant=key_by_lease,
    ),
    Mutant(
        name="keybyattempt",
        meaning="the idempotency key of a task changes with every attempt, also where nobody knows what came of one",
        caught_by=("effects",),
        overrides={"poison": 0, "rates": {}},
        plant=key_by_attempt,
    ),
    Mutant(
        name="noheartbeats",
        meaning="a worker says nothing of the jobs that it works on",
        caught_by=("reruns",),
        shapes=(CLUSTER,),
        overrides={"lease_seconds": 3.0, "executions": 4, "poison": 0, "users_cancel": 0.0, "rates": {}},
        plant=no_heartbeats,
    ),
    Mutant(
        name="gonenotdropped",
        meaning="a worker goes on with a job that it was told is gone",
        caught_by=("effects",),
        plant=gone_not_dropped,
    ),
    Mutant(
        name="uncheckedresult",
        meaning="a stored result is read without its checksum",
        caught_by=("effects", "reference", "I3"),
        overrides={"rates": {"results.wrong_bytes": 0.3, "worker.kill": 0.3}},
        plant=results_not_checked,
    ),
    Mutant(
        name="unredacted",
        meaning="nothing takes secrets out of what is recorded",
        caught_by=("I14",),
        plant=not_redacted,
    ),
    Mutant(
        name="selfunfenced",
        meaning="a worker starts tasks however long it has heard nothing",
        caught_by=("effects",),
        shapes=(CLUSTER,),
        overrides={"lease_seconds": 3.0, "rates": {"net.down": 0.2, "server.kill": 0.3, "worker.pause": 0.2}},
        plant=not_self_fenced,
    ),
    Mutant(
        name="reportedlate",
        meaning="a job is reported when it has ended, however long its tasks take",
        caught_by=("effects",),
        overrides={"rates": {"worker.kill": 0.4, "server.kill": 0.4}},
        plant=reported_at_the_end,
    ),
)
