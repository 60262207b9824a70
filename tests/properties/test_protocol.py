"""The protocol as a machine whose rules come in any order: start, poll, report, expire, cancel, crash, heartbeat.

After every rule each log is gapless (I1), each job ends once (I4), no loop has more in flight than it may (I7), the
queue is what the logs say (I9), memory is the fold of the log (I10), nothing follows an end (I11); and whatever was
accepted came under the lease that stood (I2, in `post.py`). When faults stop, every execution comes to its end (I15).
"""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from noetl.config import LEASE_SECONDS
from noetl.engine import commands as ops
from noetl.engine.effects import pending
from noetl.engine.state import INCIDENT, canonical
from noetl.queues.contract import ACCEPTED, DUPLICATE, STALE
from noetl.queues.memory import PARKED
from tests.properties.post import MAX_IN_FLIGHT, Post

EXAMPLES = int(os.environ.get("NOETL_PROTOCOL_EXAMPLES", "2000"))
STEPS = 60
EXECUTIONS_MAX = 3
ROUNDS_MAX = 500
KNOWN_INCIDENT = "taken up"  # after several crashes in a row, with nothing between
WORKERS = st.sampled_from(("left", "right"))
PLACES = st.integers(0, 99)


class Protocol(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.post = Post()

    # --- rules -------------------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.post.audits) < EXECUTIONS_MAX)
    @rule()
    def start(self) -> None:
        self.post.start()

    @rule(worker=WORKERS, free=st.integers(1, 3))
    def poll(self, worker: str, free: int) -> None:
        self.post.poll(worker, free)

    @precondition(lambda self: any(one.letter is None for one in self.post.holdings))
    @rule(place=PLACES, tasks=st.integers(1, 3), is_delivered=st.booleans())
    def report(self, place: int, tasks: int, is_delivered: bool) -> None:
        free = [one for one in self.post.holdings if one.letter is None]
        holding = free[place % len(free)]
        self.post.compose(holding, tasks)
        if is_delivered and holding.letter:
            self.post.deliver(holding.letter)

    @precondition(lambda self: any(one.answered for one in self.post.holdings))
    @rule(place=PLACES)
    def send_again_what_was_answered(self, place: int) -> None:
        """The answer was lost: the same number counts once, and while nobody else has the job it is a duplicate."""
        holdings = [one for one in self.post.holdings if one.answered]
        holding = holdings[place % len(holdings)]
        letter = holding.answered
        assert letter is not None

        (answer,) = self.post.deliver(letter)

        is_held = self.post.granted.get(letter.key) == letter.lease and letter.key in self.post.queue._jobs
        assert answer == (DUPLICATE if is_held else STALE)

    @precondition(lambda self: self.post.letters)
    @rule(place=PLACES, other=PLACES)
    def deliver_late_twice_or_together(self, place: int, other: int) -> None:
        """Any letter that was ever written, answered or not, with another one in the same batch."""
        letters = self.post.letters
        one, two = letters[place % len(letters)], letters[other % len(letters)]
        before = {letter.lease: self.post.heard.get(letter.lease, 0) for letter in (one, two)}

        answers = self.post.deliver(one, two, one)

        assert set(answers) <= {ACCEPTED, DUPLICATE, STALE}
        assert answers[2] != ACCEPTED
        for letter, answer in zip((one, two), answers, strict=False):
            assert answer != ACCEPTED or letter.n > before[letter.lease]

    @rule(seconds=st.sampled_from((1.0, LEASE_SECONDS / 3, LEASE_SECONDS + 1, 100.0)))
    def expire(self, seconds: float) -> None:
        self.post.clock.seconds += seconds
        self.post.expire()

    @rule(worker=WORKERS)
    def heartbeat(self, worker: str) -> None:
        self.post.heartbeat(worker)

    @precondition(lambda self: self.post.audits)
    @rule(place=PLACES)
    def cancel(self, place: int) -> None:
        if place < 5:  # now and then: most executions shall come to something
            execution_ids = list(self.post.audits)
            self.post.ask(ops.Cancel(execution_id=execution_ids[place % len(execution_ids)]))

    @rule(place=PLACES)
    def crash(self, place: int) -> None:
        if place < 10:
            self.post.boot()

    # --- what always holds -------------------------------------------------------------------------------------------

    @invariant()
    def all_holds(self) -> None:
        self.post.read_logs()
        self.the_logs_hold()
        self.the_queue_is_what_the_logs_say()
        self.memory_is_the_fold_of_the_log()
        self.no_loop_has_more_in_flight_than_it_may()

    def the_logs_hold(self) -> None:
        for audit in self.post.audits.values():
            assert audit.faults == {}
            incident = audit.state.incident
            assert not incident or incident.startswith(KNOWN_INCIDENT), incident

    def the_queue_is_what_the_logs_say(self) -> None:
        expected: dict[Any, bool] = {}
        now = self.post.clock.monotonic()
        for audit in self.post.audits.values():
            if not audit.state.is_ended and audit.state.status != INCIDENT:
                changes = list(pending(audit.state))
                expected |= {change.key: False for change in changes if isinstance(change, ops.JobAdded)}
                waiting = [change for change in changes if isinstance(change, ops.JobParked)]
                expected |= {change.key: change.until > now for change in waiting}
        found = {key: entry.state == PARKED and entry.until > now for key, entry in self.post.queue._jobs.items()}

        assert found == expected

    def memory_is_the_fold_of_the_log(self) -> None:
        for execution_id, audit in self.post.audits.items():
            live = self.post.executions.known(execution_id)
            if live is not None:
                assert canonical(live.state) == canonical(audit.state)

    def no_loop_has_more_in_flight_than_it_may(self) -> None:
        for audit in self.post.audits.values():
            for run in audit.state.runs.values():
                assert run.loop is None or len(run.loop.in_flight) <= MAX_IN_FLIGHT

    # --- the end -----------------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            self._heal()
        finally:
            self.post.close()

    def _heal(self) -> None:
        """Nothing goes wrong any more: all that was started ends."""
        post = self.post
        for _ in range(ROUNDS_MAX):
            if not post.live():
                return
            post.clock.seconds += LEASE_SECONDS + 1
            post.expire()
            post.poll("healer", 99)
            for execution_id in [one for one in post.live() if post.audits[one].state.status == INCIDENT]:
                post.ask(ops.Recover(execution_id=execution_id))
            for holding in [one for one in post.holdings if one.letter is None]:
                post.compose(holding, 99)
            for letter in [one.letter for one in post.holdings if one.letter]:
                post.deliver(letter)
            post.read_logs()
        raise AssertionError("I15: not over")


@pytest.mark.slow
@pytest.mark.spec("RO-03", "EV-05", "EV-06", "LP-06")
def test_the_protocol_holds_whatever_happens_in_whatever_order() -> None:
    run_state_machine_as_test(
        Protocol,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
