"""What tools did is compared with what the logs have: each run of a tool must be one that had to be."""

import msgspec
import pytest

from noetl.engine.output import failure
from noetl.testing.simulator.ledger import FAILED_BY_WORLD
from tests.simulation.played import CALM, Played, violation

SCRIPTED = """
workflow:
  - step: start
    tool: [{name: a, kind: python, input: {code: "x"}}, {name: b, kind: python, input: {code: "x"}}]
"""
UNDONE = """
workflow:
  - step: start
    spec: {policy: {compensation: {tool: [{name: undo, kind: python, input: {code: "x"}}]}}}
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - {step: end, tool: [{name: bad, kind: python, input: {code: "x"}}]}
"""


def ran(made, invocation, worker="worker-1", **fields):
    """A line of the ledger for an invocation."""
    made.clock.seconds += 0.001
    return made.ledger.begin(
        **{
            "seconds": made.clock.seconds,
            "node": worker,
            "execution_id": 1,
            "key": invocation.key,
            "task": invocation.task.label,
            "attempt": invocation.attempt,
            "input_digest": 0,
            **fields,
        }
    )


def scripted(text=SCRIPTED, is_noted=True):
    """An execution whose tools write to the ledger, as scripted ones do."""
    made = Played(text)

    def answer(invocation):
        if is_noted:
            ran(made, invocation)
        if invocation.task.label == "bad":
            return failure("client_error", "no")
        return {"n": 1, "by": f"{invocation.task.label}::1:1", "saw": None}

    made.answers = dict.fromkeys(("a", "b", "bad", "undo"), answer)
    made.start()
    return made


@pytest.mark.spec("TK-15")
def test_what_ran_once_and_was_recorded_passes():
    made = scripted()
    made.run()

    made.checks.ended(CALM)

    assert len(made.ledger) == 2


@pytest.mark.spec("TK-15")
def test_a_result_that_no_tool_gave_is_found():
    made = scripted(is_noted=False)

    with violation("I3", "never ran"):
        made.run()


def test_a_result_that_a_task_only_passed_on_need_not_have_run():
    made = scripted(SCRIPTED.replace("name: b, kind: python", "name: c, kind: python"))
    made.answers["c"] = {"n": 1, "by": "a::1:1", "saw": "z::1:1"}

    made.run()

    assert made.status == "success"


@pytest.mark.spec("TK-15")
def test_a_task_that_runs_again_after_its_end_was_recorded_is_found():
    made = scripted()
    made.run_job(1, -1, tasks=1)
    made.clock.seconds += 31.0
    made.expire()
    made.clock.seconds += 31.0
    made.claim("worker-2")
    ran(made, made.invocations[0], "worker-2")
    made.run()

    with violation("effects", "had its end before"):
        made.checks.ended(msgspec.structs.replace(CALM, jobs_lost_max=1))


@pytest.mark.spec("TK-15")
def test_a_task_whose_end_was_not_recorded_may_run_again_within_the_budget():
    made = scripted()
    made.claim("worker-2")
    made.clock.seconds += 31.0
    made.expire()
    made.clock.seconds += 31.0
    made.run()
    key = made.invocations[0]
    line = ran(made, key, "worker-2", seconds=made.checks.leases.given[1, 1, -1][0].at)
    made.checks.ended(msgspec.structs.replace(CALM, jobs_lost_max=1))

    with violation("reruns"):
        made.checks.ended(CALM)

    assert line.task_run_id == made.ledger.invocations[0].task_run_id


def taken_over(ended_seconds=-1.0):
    """A task that ran on worker-2 first, and then on the one that got its job."""
    made = scripted()
    made.claim("worker-2")
    first_at = made.checks.leases.given[1, 1, -1][0].at
    made.clock.seconds += 31.0
    made.expire()
    made.clock.seconds += 31.0
    made.run()
    state = "finished" if ended_seconds >= 0.0 else "open"
    line = ran(made, made.invocations[0], "worker-2", seconds=first_at, state=state, ended_seconds=ended_seconds)
    lines = made.ledger.invocations
    lines.insert(0, lines.pop())  # it began before the others
    return made, line


@pytest.mark.spec("TK-15")
def test_a_task_of_a_worker_that_died_may_run_again_whatever_the_budget_is():
    made, line = taken_over()
    died = {"worker-2": line.seconds + 1.0}

    made.checks.ended(msgspec.structs.replace(CALM, killed=died))

    with violation("reruns"):
        made.checks.ended(msgspec.structs.replace(CALM, killed={"worker-2": made.clock.seconds + 1.0}))
    made.checks.ended(msgspec.structs.replace(CALM, incidents={1}))


def test_a_task_that_runs_again_though_its_result_was_there_long_before_its_worker_died_is_found():
    made, line = taken_over(ended_seconds=5.0)
    died = msgspec.structs.replace(CALM, killed={"worker-2": 15.0})

    made.checks.ended(died)

    with violation("effects", "had its result for 10.0 s"):
        made.checks.ended(msgspec.structs.replace(died, is_prompt=True))
    line.task = "of_the_workbook"  # whose tries are recorded with the last of them
    made.checks.ended(msgspec.structs.replace(died, is_prompt=True))


@pytest.mark.spec("RO-03")
def test_a_task_that_begins_when_its_worker_cannot_be_sure_of_its_job_is_found():
    made = scripted()
    made.run()
    begun_at, lease = made.ledger.invocations[1].seconds, made.checks.leases.given[1, 1, -1][0].lease
    made.checks.effects.firm("worker-1", (1, 1, -1), lease, begun_at, 0.0)

    made.checks.ended(CALM)

    made.checks.effects.firm("worker-1", (1, 1, -1), lease, begun_at + 9.0, begun_at + 1.0)  # it heard that later
    made.ledger.invocations[1].seconds += 0.5
    with violation("effects", "could be sure"):
        made.checks.ended(CALM)


def test_an_attempt_that_runs_twice_under_one_lease_is_found():
    made = scripted()
    made.run()
    ran(made, made.invocations[1])

    with violation("effects", "ran twice under lease"):
        made.checks.ended(msgspec.structs.replace(CALM, jobs_lost_max=9))


def test_a_worker_runs_under_the_lease_it_had_until_the_one_it_was_given_anew_has_come():
    made = scripted()
    made.claim("worker-2")
    key = (1, 1, -1)
    first = made.checks.leases.given[key][0]
    made.clock.seconds += 31.0
    made.expire()
    made.clock.seconds += 31.0
    made.is_late = True
    made.claim("worker-2")
    second = made.checks.leases.given[key][1]
    made.clock.seconds += 1.0
    made.checks.came(key, second.lease)

    held = made.checks.leases.held

    assert held(key, "worker-2", second.at) == first
    assert held(key, "worker-2", made.clock.seconds) == second
    assert held(key, "worker-3", made.clock.seconds) is None


def test_a_task_that_a_worker_runs_without_having_its_job_is_found():
    made = scripted()
    made.run()
    ran(made, made.invocations[0], "worker-2")

    with violation("effects", "never had that job"):
        made.checks.ended(msgspec.structs.replace(CALM, jobs_lost_max=9))


@pytest.mark.spec("TK-15")
def test_an_attempt_that_runs_again_under_another_idempotency_key_is_found():
    made = scripted()
    made.claim("worker-2")
    made.clock.seconds += 31.0
    made.expire()
    made.clock.seconds += 31.0
    made.run()
    first = made.ledger.invocations[0]
    made.ledger.begin(
        **{name: getattr(first, name) for name in ("execution_id", "task", "attempt", "input_digest")},
        seconds=made.checks.leases.given[1, 1, -1][0].at,
        node="worker-2",
        key=f"{first.task_run_id}.7",
    )

    with violation("effects", "idempotency key"):
        made.checks.ended(msgspec.structs.replace(CALM, jobs_lost_max=9))


@pytest.mark.spec("TK-15")
def test_an_attempt_may_change_its_key_where_one_before_it_ran_again_and_was_broken_or_not_stored():
    made = scripted()
    for answered in (1, 0):
        made.clock.seconds += 31.0
        made.claim("worker-2")
        for key, attempt in (("1:1:-1:a:1.0", 1), (f"1:1:-1:a:1.{answered}", 2)):
            made.clock.seconds += 1.0
            fields = {"execution_id": 1, "node": "worker-2", "task": "a", "input_digest": 0}
            made.ledger.begin(**fields, key=key, attempt=attempt, seconds=made.clock.seconds)
        made.clock.seconds += 31.0
        made.expire()
    calm = msgspec.structs.replace(CALM, jobs_lost_max=9)

    made.checks.effects.check(msgspec.structs.replace(calm, is_storing_faulty=True), ())

    with violation("effects", "idempotency key"):
        made.checks.effects.check(calm, ())
    made.ledger.invocations[2].state = FAILED_BY_WORLD
    made.checks.effects.check(calm, ())


def test_a_result_that_a_task_was_handed_and_nobody_gave_is_found():
    made = scripted()
    made.run()
    made.ledger.invocations[1].saw = "z::1:1"

    with violation("effects", "which nobody gave"):
        made.checks.ended(CALM)


def test_a_task_that_begins_after_its_worker_was_told_is_found():
    made = scripted()
    made.run_job(1, -1, tasks=1)
    made.checks.told("worker-1", (1, 1, -1), made.tables.jobs[1, 1, -1].lease)
    made.run()

    with violation("effects", "was told"):
        made.checks.ended(CALM)


@pytest.mark.spec("RO-03")
@pytest.mark.parametrize(("seconds", "cut_off"), [(11.0, ()), (31.0, ("worker-1",))])
def test_a_task_that_begins_long_after_the_cancel_is_found(seconds, cut_off):
    made = scripted()
    made.run_job(1, -1, tasks=1)
    made.cancel()
    ordeal = msgspec.structs.replace(CALM, cut_off=cut_off)
    made.checks.ended(ordeal)
    made.clock.seconds += seconds
    ran(made, msgspec.structs.replace(made.invocations[0], key="1:1:-1:b:1.0"))

    with violation("effects", "after the cancel"):
        made.checks.ended(ordeal)


@pytest.mark.spec("ST-12")
def test_what_is_undone_after_a_cancel_may_take_its_time():
    made = scripted(UNDONE)
    made.run_job(1, -1)
    made.cancel()
    made.clock.seconds += 60.0
    made.run()

    made.checks.ended(CALM)

    assert [line.task for line in made.ledger] == ["undo"]


def test_work_of_a_history_that_a_failover_cut_may_be_done_again():
    made = scripted()
    made.run_job(1, -1, tasks=1)
    made.database.rewind(1)
    made.checks.rewound()
    ran(made, made.invocations[0])

    made.checks.effects.check(CALM, made.checks.promises.shortened)

    assert made.checks.promises.shortened == {1}
