"""What holds for every queue. An implementation proves it with one class in its tests:

    class TestMyQueue(QueueSuite):
        def make(self, nonce: int) -> Queue:
            return MyQueue(nonce)

`make` gives a new, empty queue; two of them with different nonces stand for two processes. Times are plain numbers:
nothing here waits. `pytest.register_assert_rewrite("noetl.testing.queue_suite")` in a conftest.py gives full messages.
"""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import pytest

from noetl.config import LEASE_SECONDS
from noetl.engine.commands import JobAdded, JobGone, JobParked, JobReady, Key, Report
from noetl.queues.contract import ACCEPTED, DELIVERIES_MAX, DUPLICATE, STALE, Claim, Queue

NOW = 1000.0
LATER = NOW + LEASE_SECONDS + 1


def key(number: int, index: int = -1) -> Key:
    return 1, number, index


def report(claim: Claim, n: int = 1) -> Report:
    execution_id, run, index = claim.key
    return Report(execution_id=execution_id, run=run, iter=index, lease=claim.lease, n=n, events=[])


def add(queue: Queue, *keys: Key, **fields: int | str) -> None:
    queue.change([JobAdded(key=one, **fields) for one in keys], NOW)  # type: ignore[arg-type]  # as the job has them


def claimed(queue: Queue, worker: str = "w", free: int = 1000, now: float = NOW) -> list[Key]:
    return [claim.key for claim in queue.claim(worker, free, now)]


class QueueSuite:
    """The behaviour of a queue; see the module for how to use it."""

    def make(self, nonce: int) -> Queue:
        raise NotImplementedError

    @pytest.fixture
    def queue(self) -> Queue:
        return self.make(1)

    # --- handing out -------------------------------------------------------------------------------------------------

    def test_jobs_go_out_by_priority_and_then_by_age(self, queue: Queue) -> None:
        for number, priority in enumerate((5, 0, 5, -1, 0)):
            add(queue, key(number), priority=priority)

        assert claimed(queue) == [key(number) for number in (3, 1, 4, 0, 2)]

    @pytest.mark.spec("ST-09", "RO-03")
    def test_a_job_is_with_one_worker_at_a_time(self, queue: Queue) -> None:
        add(queue, key(1), key(2), key(3))

        first, second = claimed(queue, "a", free=2), claimed(queue, "b", free=2)

        assert (first, second) == ([key(1), key(2)], [key(3)])
        assert claimed(queue, "c") == []

    def test_no_more_goes_out_than_is_free(self, queue: Queue) -> None:
        add(queue, key(1))

        assert claimed(queue, free=0) == []
        assert claimed(queue, free=1) == [key(1)]

    def test_a_worker_of_a_pool_gets_jobs_of_that_pool(self, queue: Queue) -> None:
        add(queue, key(1), pool="big")
        add(queue, key(2))

        named = [claim.key for claim in queue.claim("w", 5, NOW, pool="big")]

        assert named == [key(1)]
        assert claimed(queue) == [key(2)]

    def test_what_one_pool_passes_over_keeps_its_place(self, queue: Queue) -> None:
        add(queue, key(1), pool="small")
        add(queue, key(2), pool="big")
        add(queue, key(3), pool="small")

        queue.claim("w", 5, NOW, pool="big")

        assert [claim.key for claim in queue.claim("w", 5, NOW, pool="small")] == [key(1), key(3)]

    def test_adding_a_job_twice_changes_nothing(self, queue: Queue) -> None:
        add(queue, key(1))
        [claim] = queue.claim("w", 1, NOW)

        add(queue, key(1))

        assert claimed(queue) == []
        assert queue.judge(report(claim)) == ACCEPTED

    def test_a_job_that_is_gone_goes_out_no_more(self, queue: Queue) -> None:
        add(queue, key(1), key(2))

        queue.change([JobGone(key=key(1)), JobGone(key=key(9))], NOW)

        assert claimed(queue) == [key(2)]

    # --- leases ------------------------------------------------------------------------------------------------------

    @pytest.mark.spec("RO-03")
    def test_a_lease_is_never_used_again(self) -> None:
        leases = []
        for nonce in (1, 2):
            queue = self.make(nonce)
            add(queue, key(1), key(2))
            for round_number in range(4):
                leases += [claim.lease for claim in queue.claim("w", 5, NOW + round_number * 100)]
                queue.expire(NOW + round_number * 100 + 99)

        assert len(set(leases)) == len(leases) == 16
        assert all(0 < lease < 2**63 for lease in leases)

    @pytest.mark.spec("RO-03", "EV-06")
    def test_reports_of_a_lease_are_numbered_without_a_gap(self, queue: Queue) -> None:
        add(queue, key(1))
        [claim] = queue.claim("w", 1, NOW)

        assert queue.judge(report(claim, 1)) == ACCEPTED
        assert queue.judge(report(claim, 1)) == ACCEPTED  # to judge changes nothing
        queue.accept(report(claim, 1), NOW)

        assert queue.judge(report(claim, 1)) == DUPLICATE
        assert queue.judge(report(claim, 3)) == STALE
        assert queue.judge(report(claim, 2)) == ACCEPTED

    @pytest.mark.spec("RO-03")
    def test_only_the_current_lease_is_heard(self, queue: Queue) -> None:
        add(queue, key(1))
        [first] = queue.claim("a", 1, NOW)
        queue.expire(LATER)
        [second] = queue.claim("b", 1, LATER)

        assert queue.judge(report(first)) == STALE
        queue.accept(report(first), LATER)
        assert queue.judge(report(second)) == ACCEPTED

    @pytest.mark.spec("RO-03")
    def test_nobody_is_heard_about_a_job_that_nobody_has_or_that_is_gone(self, queue: Queue) -> None:
        add(queue, key(1))
        forged = Report(execution_id=1, run=1, iter=-1, lease=0, n=1, events=[])
        never_claimed = queue.judge(forged)
        [claim] = queue.claim("w", 1, NOW)
        queue.change([JobGone(key=key(1))], NOW)

        assert never_claimed == STALE
        assert queue.judge(report(claim)) == STALE

    @pytest.mark.spec("RO-03")
    def test_a_late_report_counts_until_the_job_is_claimed_again(self, queue: Queue) -> None:
        add(queue, key(1))
        [claim] = queue.claim("a", 1, NOW)

        lost = queue.expire(LATER)

        assert lost == []
        assert queue.judge(report(claim)) == ACCEPTED
        assert claimed(queue, "b", now=LATER) == [key(1)]
        assert queue.judge(report(claim)) == STALE

    def test_heartbeats_and_reports_keep_a_lease(self, queue: Queue) -> None:
        add(queue, key(1), key(2), key(3))
        beaten, reported, _ = queue.claim("w", 3, NOW)

        gone = queue.extend("w", [(beaten.key, beaten.lease)], NOW + 20)
        queue.accept(report(reported), NOW + 20)
        queue.expire(LATER)

        assert gone == []
        assert claimed(queue, now=LATER) == [key(3)]

    @pytest.mark.spec("RO-03")
    def test_a_heartbeat_tells_which_leases_stand_no_more(self, queue: Queue) -> None:
        add(queue, key(1), key(2), key(3))
        claims = queue.claim("w", 3, NOW)
        queue.change([JobGone(key=key(1))], NOW)
        queue.expire(LATER)
        queue.claim("other", 1, LATER)

        gone = queue.extend("w", [(claim.key, claim.lease) for claim in claims], LATER)

        assert key(1) in gone
        assert key(2) in gone

    def test_a_heartbeat_of_somebody_else_keeps_nothing(self, queue: Queue) -> None:
        add(queue, key(1))
        [claim] = queue.claim("w", 1, NOW)

        gone = queue.extend("thief", [(claim.key, claim.lease)], NOW + 20)
        queue.expire(LATER)

        assert gone == [key(1)]
        assert claimed(queue, now=LATER) == [key(1)]

    def test_a_job_lost_too_often_is_told(self, queue: Queue) -> None:
        add(queue, key(1))
        told = []
        for delivery in range(1, DELIVERIES_MAX + 1):
            [claim] = queue.claim("w", 1, NOW + delivery * 100)
            assert claim.deliveries == delivery
            told.append([lost.key for lost in queue.expire(NOW + delivery * 100 + 99)])

        assert told == [[], [], [], [], [key(1)]]

    def test_a_report_that_counts_begins_the_count_of_losses_anew(self, queue: Queue) -> None:
        add(queue, key(1))
        for delivery in range(DELIVERIES_MAX + 2):
            [claim] = queue.claim("w", 1, NOW + delivery * 100)
            queue.accept(report(claim), NOW + delivery * 100)

            assert queue.expire(NOW + delivery * 100 + 99) == []

    # --- local loops -------------------------------------------------------------------------------------------------

    @pytest.mark.spec("LP-05")
    def test_a_local_loop_stays_with_one_worker(self, queue: Queue) -> None:
        add(queue, key(7, 0), key(7, 1), key(7, 2), group=7)
        [first] = queue.claim("a", 1, NOW)

        others, rest = queue.claim("b", 5, NOW), queue.claim("a", 5, NOW)

        assert others == []
        assert [claim.key for claim in rest] == [key(7, 1), key(7, 2)]
        assert len({claim.lease for claim in (first, *rest)}) == 3

    @pytest.mark.spec("LP-05")
    def test_a_local_loop_stays_with_its_worker_from_one_iteration_to_the_next(self, queue: Queue) -> None:
        add(queue, key(7, 0), group=7)
        queue.claim("a", 1, NOW)
        queue.change([JobGone(key=key(7, 0)), JobAdded(key=key(7, 1), group=7)], NOW)

        others, own = queue.claim("b", 1, NOW), queue.claim("a", 1, NOW)

        assert (others, [claim.key for claim in own]) == ([], [key(7, 1)])

    def test_a_local_loop_whose_worker_is_lost_goes_to_another(self, queue: Queue) -> None:
        add(queue, key(7, 0), key(7, 1), group=7)
        leases = {claim.lease for claim in queue.claim("a", 5, NOW)}

        queue.expire(LATER)

        again = queue.claim("b", 5, LATER)
        assert [claim.key for claim in again] == [key(7, 0), key(7, 1)]
        assert leases.isdisjoint(claim.lease for claim in again)

    def test_a_local_loop_left_idle_is_nobodys_after_a_while(self, queue: Queue) -> None:
        add(queue, key(7, 0), group=7)
        queue.claim("a", 1, NOW)
        queue.change([JobGone(key=key(7, 0)), JobAdded(key=key(7, 1), group=7)], NOW)

        queue.expire(LATER)

        assert claimed(queue, "b", now=LATER) == [key(7, 1)]

    @pytest.mark.spec("RO-03")
    def test_a_job_of_a_local_loop_never_has_the_same_lease_twice(self, queue: Queue) -> None:
        add(queue, key(7, 0), key(7, 1), group=7)
        [first, _] = queue.claim("a", 5, NOW)
        queue.change([JobParked(key=key(7, 0), is_for_child=True), JobReady(key=key(7, 0))], NOW)

        [again] = queue.claim("a", 5, NOW)

        assert again.lease != first.lease
        assert queue.judge(report(first)) == STALE

    def test_two_executions_have_their_own_local_loops(self, queue: Queue) -> None:
        queue.change([JobAdded(key=(one, 7, index), group=7) for one in (1, 2) for index in (0, 1)], NOW)
        queue.claim("a", 1, NOW)

        assert claimed(queue, "b", free=1) == [(2, 7, 0)]

    # --- parked ------------------------------------------------------------------------------------------------------

    def test_a_job_parked_until_a_time_goes_out_then_and_not_before(self, queue: Queue) -> None:
        add(queue, key(1))
        [claim] = queue.claim("w", 1, NOW)

        queue.change([JobParked(key=key(1), until=NOW + 500)], NOW)

        assert queue.judge(report(claim)) == STALE
        assert queue.next_at() == NOW + 500
        assert queue.expire(NOW + 499) == []
        assert claimed(queue, now=NOW + 499) == []
        assert not queue.is_idle
        assert claimed(queue, now=NOW + 500) == [key(1)]
        assert queue.next_at() is None

    def test_a_job_parked_for_a_child_goes_out_when_it_is_told_to(self, queue: Queue) -> None:
        add(queue, key(1))
        queue.claim("w", 1, NOW)
        queue.change([JobParked(key=key(1), is_for_child=True)], NOW)

        is_idle, before = queue.is_idle, claimed(queue, now=LATER * 2)
        queue.change([JobReady(key=key(1)), JobReady(key=key(9))], NOW)

        assert (is_idle, before) == (True, [])
        assert claimed(queue) == [key(1)]

    def test_parking_begins_the_count_of_losses_anew(self, queue: Queue) -> None:
        add(queue, key(1))
        for delivery in range(DELIVERIES_MAX + 2):
            at = NOW + delivery * 100
            [claim] = queue.claim("w", 1, at)
            queue.change([JobParked(key=key(1), until=at + 1)], at)

            assert claim.deliveries == 1

    def test_parking_again_is_harmless(self, queue: Queue) -> None:
        add(queue, key(1))
        queue.change([JobParked(key=key(1), until=NOW + 5), JobParked(key=key(1), until=NOW + 9)], NOW)

        early, due = claimed(queue, now=NOW + 6), claimed(queue, now=NOW + 9)
        queue.change([JobGone(key=key(1))], NOW)

        assert (early, due) == ([], [key(1)])
        assert queue.is_idle

    # --- idle --------------------------------------------------------------------------------------------------------

    def test_a_queue_is_idle_when_nothing_is_ready_leased_or_due(self, queue: Queue) -> None:
        seen = [queue.is_idle]
        add(queue, key(1))
        seen.append(queue.is_idle)
        queue.claim("w", 1, NOW)
        seen.append(queue.is_idle)
        queue.change([JobGone(key=key(1))], NOW)
        seen.append(queue.is_idle)

        assert seen == [True, False, False, True]
