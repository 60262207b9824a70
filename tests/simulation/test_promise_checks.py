"""What somebody was told stands, no secret is told, and everything ends, also after a failover (I13, I14, I15)."""

import logging

import msgspec
import pytest

from noetl.engine import commands as ops
from noetl.engine import events as facts
from noetl.engine.apply import replay
from noetl.engine.events import decode
from noetl.stores.contract import Append, Batch, Record
from noetl.stores.shared import NewJob, QueueChanges
from tests.simulation.played import (
    CALLING,
    CALM,
    CHILD,
    LOOPED,
    PIPELINE,
    SECRET,
    Played,
    begun,
    halfway,
    violation,
)

# --- I13: acknowledgements -------------------------------------------------------------------------------------------


def test_what_stands_may_be_acknowledged():
    made = halfway()
    lease = made.tables.jobs[1, 1, -1].lease
    made.signal(go=1)
    made.cancel()

    made.checks.acknowledged_start("wish", 1)
    made.checks.acknowledged_report((1, 1, -1), lease, 1, 3)
    made.checks.acknowledged_signal(1, "go")
    made.checks.acknowledged_cancel(1)
    made.checks.periodic()

    assert made.checks.found is None


@pytest.mark.parametrize(
    "acknowledge",
    [
        lambda checks: checks.acknowledged_start("wish", 9),
        lambda checks: checks.acknowledged_start("other", 1),
        lambda checks: checks.acknowledged_report((1, 1, -1), 101, 1, 99),
        lambda checks: checks.acknowledged_report((1, 1, -1), 7, 1, 1),
        lambda checks: checks.acknowledged_signal(1, "go"),
        lambda checks: checks.acknowledged_cancel(1),
    ],
)
def test_what_was_acknowledged_and_is_not_in_the_log_is_found(acknowledge):
    made = halfway()

    with violation("I13"):
        acknowledge(made.checks)


# --- I14: secrets ----------------------------------------------------------------------------------------------------


def test_a_secret_in_an_event_is_found():
    made = begun()
    made.signal(note=f"the word is {SECRET}")

    with violation("I14"):
        made.checks.periodic()


def test_a_secret_in_a_record_is_found():
    made = begun()
    made.tables.records["token", "t"] = Record(room="token", name="t", body=f'"{SECRET}"'.encode())

    with violation("I14"):
        made.checks.periodic()


@pytest.mark.parametrize("said", [("it is %s", (SECRET,)), ("nothing", ())])
def test_a_secret_in_a_log_line_or_beside_it_is_found(said):
    made = begun()
    log = logging.Logger("noetl.test")
    log.addHandler(made.checks.listener)
    log.warning(said[0], *said[1], extra={} if said[1] else {"payload": SECRET})

    with violation("I14"):
        made.checks.periodic()


def test_a_secret_in_an_answer_is_found():
    made = begun()
    made.checks.answered("GET /executions", b"{}")

    with violation("I14"):
        made.checks.answered("GET /executions", SECRET.encode())


# --- sizes, ends, failovers ------------------------------------------------------------------------------------------


@pytest.mark.spec("RS-01")
def test_an_event_that_is_too_large_is_found():
    made = begun()
    made.signal(note="x" * 70_000)

    with violation("size"):
        made.checks.periodic()


def test_a_window_is_that_of_the_playbook_and_not_that_of_the_log():
    made = Played(LOOPED)
    made.checks.known("sha", made.playbook)
    narrow = LOOPED.replace("max_in_flight: 2", "max_in_flight: 1")
    made.checks.known("sha", Played(narrow).playbook)

    with violation("I7"):
        made.start()


def test_an_execution_that_does_not_end_is_found_unless_a_fault_was_planted_in_it():
    made = halfway()
    made.do(ops.Incident(execution_id=1, message="no"))
    made.checks.ended(msgspec.structs.replace(CALM, incidents=[1]))

    with violation("I15"):
        made.checks.ended(CALM)


def test_a_caller_whose_child_cannot_go_on_because_of_a_planted_fault_is_excused():
    made = begun(CALLING)
    made.run()
    failed = Append(
        execution_id=CHILD, first_seq=5, events=[facts.EngineError(ts=1.0, message="no")], status="incident"
    )
    made.commit(Batch(appends=[failed]), QueueChanges(gone=[(CHILD, 1, -1)]))
    made.checks.ended(msgspec.structs.replace(CALM, incidents=[CHILD]))

    with violation("I15"):
        made.checks.ended(msgspec.structs.replace(CALM, incidents=[1]))


def test_after_a_failover_the_shorter_history_is_what_counts():
    made = halfway()
    lease = made.tables.jobs[1, 1, -1].lease
    made.signal(go=1)
    made.checks.acknowledged_signal(1, "go")
    made.database.rewind(1)

    made.checks.rewound()
    made.checks.acknowledged_signal(1, "go")
    made.state = replay(1, [decode(body) for body, _ in made.tables.logs[1]])
    made.log = made.log[: made.state.seq]
    made.run_job(1, -1)
    made.checks.periodic()

    assert made.checks.found is None
    assert [one.lease for one in made.checks.leases.given[1, 1, -1]] == [lease]


def test_an_execution_that_a_failover_took_away_may_begin_again():
    made = begun()
    made.checks.acknowledged_start("wish", 1)
    made.database.rewind(1)
    made.checks.rewound()
    again = begun()

    made.checks.committed(again.told)

    assert made.checks.books[1].head == again.checks.books[1].head


def test_a_job_handed_out_in_the_commit_that_makes_it_is_current():
    made = Played(PIPELINE)
    made.checks.committed(
        msgspec.structs.replace(
            begun().told, changes=QueueChanges(added=[NewJob(key=(1, 1, -1), pool="default", lease=5, worker="w")])
        )
    )

    assert made.checks.leases.current == {(1, 1, -1): (5, "w")}
