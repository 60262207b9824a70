"""The queue is the projection of the logs, and whatever is live has something that moves it (I9, I12)."""

import msgspec
import pytest

from noetl.engine import commands as ops
from noetl.engine import events as facts
from noetl.engine.events import decode
from noetl.stores.contract import Batch
from noetl.stores.shared import QueueChanges
from noetl.testing.simulator.checks.checks import UNMOVED_SECONDS_MAX
from tests.simulation.played import (
    CALLING,
    PIPELINE,
    begun,
    committed,
    ended,
    halfway,
    started,
    violation,
)


def test_a_job_that_is_lost_is_found():
    made = halfway()
    del made.tables.jobs[1, 1, -1]

    with violation("I9"):
        made.checks.periodic()


def test_a_job_that_no_log_has_is_found():
    made = ended(PIPELINE)
    made.tables.jobs[1, 1, -1] = begun().tables.jobs[1, 1, -1]

    with violation("I9"):
        made.checks.periodic()


@pytest.mark.parametrize("fields", [{"state": 0, "child_key": ""}, {"child_key": "1:1:-1:task_1:2.0"}])
def test_a_job_that_waits_for_another_child_or_for_none_is_found(fields):
    made = begun(CALLING)
    made.run()
    job = made.tables.jobs[1, 1, -1]
    made.tables.jobs[1, 1, -1] = msgspec.structs.replace(job, **fields)

    with violation("I9"):
        made.checks.periodic()


def test_a_job_that_waits_until_another_time_is_found():
    made = halfway()
    lease = made.tables.jobs[1, 1, -1].lease
    waiting = facts.TaskWaiting(ts=1.0, run=1, lease=lease, task="b", visit=1, attempt=1, until=2e9)
    made.do(ops.Report(execution_id=1, run=1, iter=-1, lease=lease, n=2, events=[waiting]))
    made.checks.periodic()
    job = made.tables.jobs[1, 1, -1]
    made.tables.jobs[1, 1, -1] = msgspec.structs.replace(job, ready_at=job.ready_at - 5.0)

    with violation("I9"):
        made.checks.periodic()


def test_an_incident_has_no_jobs_until_it_is_taken_up():
    made = halfway()
    made.do(ops.Incident(execution_id=1, message="no"))
    made.checks.periodic()
    made.do(ops.Recover(execution_id=1))

    made.checks.periodic()

    assert list(made.tables.jobs) == [(1, 1, -1)]


def test_an_execution_without_a_job_that_nobody_follows_up_is_found():
    made = begun()
    log = [decode(body) for body, _ in made.tables.logs[1]]
    looped = msgspec.structs.replace(log[-1], has_loop=True)
    batch = Batch(executions=[msgspec.structs.replace(made.row().execution, id=5, request_key=None)])
    batch.appends = [msgspec.structs.replace(made.appended([*log[:-1], looped], 1), execution_id=5, follow_until=9.0)]
    made.checks.committed(msgspec.structs.replace(committed(made, []), batch=batch))
    batch.executions = [msgspec.structs.replace(made.row().execution, id=6, request_key=None)]
    batch.appends = [msgspec.structs.replace(batch.appends[0], execution_id=6, follow_until=None)]

    with violation("I12"):
        made.checks.committed(msgspec.structs.replace(committed(made, []), batch=batch))


def test_a_mark_that_was_taken_off_too_early_is_found():
    made = begun()
    log = [decode(body) for body, _ in made.tables.logs[1]]
    looped = msgspec.structs.replace(log[-1], has_loop=True)
    batch = Batch(executions=[msgspec.structs.replace(made.row().execution, id=5, request_key=None, head=0)])
    batch.appends = [msgspec.structs.replace(made.appended([*log[:-1], looped], 1), execution_id=5, follow_until=9.0)]
    made.commit(batch, QueueChanges())
    made.checks.periodic()
    made.tables.executions[5] = msgspec.structs.replace(made.tables.executions[5], follow_until=None)
    made.checks.periodic()  # a sweep may yet find it
    made.checks.now = lambda: made.clock.now() + UNMOVED_SECONDS_MAX + 1.0

    with violation("I12"):
        made.checks.periodic()


def test_a_wait_for_a_child_that_there_is_not_is_found():
    made = halfway()
    lease = made.tables.jobs[1, 1, -1].lease
    waiting = facts.TaskWaiting(ts=1.0, run=1, lease=lease, task="b", visit=1, attempt=1, child={"key": "1:1:-1:b:1.0"})

    with violation("I12"):
        made.checks.committed(committed(made, [started(lease), waiting]))
