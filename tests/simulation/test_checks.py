"""A world that behaves passes all checks; whatever is spoiled in its store, its caches or its answers is found."""

import msgspec
import pytest

from noetl.engine import events as facts
from noetl.engine.apply import replay
from noetl.engine.events import decode, encode
from noetl.engine.state import ENGINE_VERSION, written
from noetl.stores.contract import Batch, Snapshot
from noetl.stores.shared import ACCEPTED, Expiry, Fence
from tests.simulation.played import (
    CALLING,
    CALM,
    CHILD,
    GATED,
    LOOPED,
    PIPELINE,
    Cached,
    begun,
    committed,
    ended,
    halfway,
    started,
    violation,
)


def respelled(made, seq, **fields):
    """Change an event that is kept."""
    body, tag = made.tables.logs[1][seq - 1]
    made.tables.logs[1][seq - 1] = (encode(msgspec.structs.replace(decode(body), **fields)), tag)


# --- good worlds -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [PIPELINE, LOOPED, GATED])
def test_a_world_that_behaves_passes_every_check_at_every_commit(text):
    made = begun(text)
    if text is GATED:
        made.signal(go=True)
    while jobs := made.ready():
        made.run_job(*jobs[0])
        made.checks.periodic([("server-1", made.live())] if not made.state.is_ended else ())

    made.checks.ended(CALM)

    assert made.checks.found is None
    assert made.checks.coverage.events["playbook.processed"] == 1


def test_a_caller_and_its_child_pass():
    made = begun(CALLING)
    made.run()
    made.checks.periodic([("server-1", made.live())])
    made.child_ended()
    made.run()

    made.checks.periodic()

    assert made.status == "success"
    assert made.row(CHILD).execution.status == "running"


def test_a_job_that_goes_to_another_worker_passes():
    made = halfway()
    made.clock.seconds += 31.0
    at_expiry = made.tables.jobs[1, 1, -1].lease
    made.expire()
    made.clock.seconds += 31.0
    made.run()

    made.checks.periodic()

    assert made.status == "success"
    assert [one.lease == at_expiry for one in made.checks.leases.given[1, 1, -1]] == [True, False]


# --- I2: leases ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RO-03")
def test_an_event_under_a_lease_that_was_never_given_is_found():
    made = halfway()

    with violation("I2"):
        made.checks.committed(committed(made, [started(7)]))

    assert made.checks.found is not None


@pytest.mark.spec("RO-03")
def test_an_event_under_the_lease_before_is_found_and_one_that_ran_out_still_counts():
    made = halfway()
    old = made.tables.jobs[1, 1, -1].lease
    made.clock.seconds += 31.0
    made.expire()
    made.checks.committed(committed(made, [started(old)]))
    made = halfway()
    made.checks.leased((1, 1, -1), 777, "worker-2")

    with violation("I2"):
        made.checks.committed(committed(made, [started(old)]))


@pytest.mark.spec("RO-03")
def test_an_event_under_the_lease_of_a_parked_job_is_found():
    made = halfway()
    lease = made.tables.jobs[1, 1, -1].lease
    waiting = facts.TaskWaiting(ts=1.0, run=1, lease=lease, task="b", visit=1, attempt=1, until=99.0)
    made.checks.committed(committed(made, [waiting]))

    with violation("I2"):
        made.checks.leases.read(1, 9, started(lease))


def test_a_lease_that_is_given_twice_is_found():
    made = halfway()
    lease = made.tables.jobs[1, 1, -1].lease
    made.checks.leased((1, 1, -1), lease, "worker-1")
    made.checks.leased((1, 1, -1), lease + 1, "worker-2")

    with violation("I2"):
        made.checks.leased((1, 1, -1), lease, "worker-1")


@pytest.mark.spec("RO-03")
def test_a_job_that_is_handed_out_while_another_has_it_is_found():
    made = begun()
    made.checks.leases.lease_seconds = 30.0
    made.claim("worker-1")
    lease = made.tables.jobs[1, 1, -1].lease
    made.clock.seconds += 20.0
    made.checks.extended((1, 1, -1), lease)
    made.clock.seconds += 29.0

    with violation("leases", "worker-1 has it for another 1.000 s"):
        made.checks.leased((1, 1, -1), lease + 1, "worker-2")

    made.clock.seconds += 1.0
    made.checks.leased((1, 1, -1), lease + 1, "worker-2")


def test_an_expiry_of_a_lease_that_does_not_stand_is_found():
    made = halfway()
    expiry = Expiry(key=(1, 1, -1), lease=7)

    with violation("I2"):
        made.checks.committed(committed(made, [], {(expiry.key, 7): ACCEPTED}, expiries=[expiry]))


@pytest.mark.parametrize("n", [1, 3])
def test_a_report_that_counts_out_of_its_turn_is_found(n):
    made = halfway()
    lease = made.tables.jobs[1, 1, -1].lease
    fence = Fence(key=(1, 1, -1), lease=lease, n=n, does="progress")

    with violation("I3"):
        made.checks.committed(committed(made, [], {(fence.key, lease): ACCEPTED}, fences=[fence]))


def test_a_child_that_a_call_makes_twice_is_found():
    made = begun(CALLING)
    made.run()
    twin = msgspec.structs.replace(made.row(CHILD).execution, id=3)

    with violation("I3"):
        made.checks.committed(msgspec.structs.replace(committed(made, []), batch=Batch(executions=[twin])))


# --- I8, I10, I13: logs and states -----------------------------------------------------------------------------------


@pytest.mark.spec("EV-05")
def test_a_cache_that_is_not_what_the_log_gives_is_found_and_a_stale_one_is_let_be():
    made = halfway()
    cached = replay(1, [decode(body) for body, _ in made.tables.logs[1]])
    made.checks.periodic([("server-2", [Cached(cached, made.row().tag)])])
    cached.ctx = {"x": 2}
    made.checks.periodic([("server-2", [Cached(cached, made.row().tag - 1)])])

    with violation("I10"):
        made.checks.periodic([("server-2", [Cached(cached, made.row().tag)])])


@pytest.mark.spec("EV-05")
def test_a_snapshot_that_is_not_its_prefix_is_found():
    made = halfway()
    state = replay(1, [decode(body) for body, _ in made.tables.logs[1]][:5])
    good = Snapshot(execution_id=1, seq=5, engine=ENGINE_VERSION, body=written(state))
    made.tables.snapshots[1] = good
    made.checks.periodic()
    state.ctx = {"x": 2}
    made.tables.snapshots[1] = msgspec.structs.replace(good, seq=4, body=written(state))

    with violation("I10"):
        made.checks.periodic()


@pytest.mark.spec("EV-05")
def test_a_digest_that_is_not_that_of_the_log_is_found():
    made = ended(PIPELINE)
    row = made.row()
    execution = msgspec.structs.replace(row.execution, digest="0" * 64)
    made.tables.executions[1] = msgspec.structs.replace(row, execution=execution)

    with violation("I10"):
        made.checks.periodic()


def test_a_row_that_says_another_status_is_found():
    made = halfway()
    row = made.row()
    execution = msgspec.structs.replace(row.execution, status="waiting")
    made.tables.executions[1] = msgspec.structs.replace(row, execution=execution)

    with violation("I10"):
        made.checks.periodic()


@pytest.mark.spec("SC-10")
def test_a_ctx_that_is_not_the_fold_of_its_patches_is_found():
    made = ended(PIPELINE)
    names = [type(decode(body)) for body, _ in made.tables.logs[1]]
    respelled(made, names.index(facts.StepDone) + 1, patches=[facts.Patch("ctx.x", 2)])

    with violation("I8"):
        made.checks.periodic()


def test_a_log_that_was_changed_so_that_it_cannot_be_folded_is_found():
    made = halfway()
    respelled(made, 5, run=9)

    with violation("I10"):
        made.checks.periodic()


def test_events_that_are_gone_are_found():
    made = halfway()
    del made.tables.logs[1][-1:]

    with violation("I13"):
        made.checks.periodic()
