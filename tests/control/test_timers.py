"""Time passing: step deadlines, parked jobs that are due, leases that ran out (ST-07, protocol §6)."""

import pytest

from noetl.clock import SystemClock
from noetl.control.timers import HEAP_MIN, Timers
from noetl.engine.commands import Expire, JobAdded, JobParked, TimerSet
from noetl.queues.contract import DELIVERIES_MAX
from noetl.queues.memory import MemoryQueue
from tests.control.parts import log_of, opened, run, state_of

KEY = (1, 2, -1)


class Watched:
    """Timers, what they asked for and how often they rang."""

    def __init__(self):
        self.queue = MemoryQueue(1)
        self.posted = []
        self.rings = 0
        self.timers = Timers(SystemClock(), self.queue, self.posted.append, self.ring)

    def ring(self):
        self.rings += 1

    def tick(self, now):
        self.timers.tick(now, now)


@pytest.mark.spec("ST-07")
def test_a_timer_asks_once_when_it_is_due_and_not_before():
    watched = Watched()
    watched.timers.set(TimerSet(execution_id=1, run=2, at=50.0, message="lifecycle.deadline_s has passed"))

    for now in (49.9, 50.0, 51.0):
        watched.tick(now)

    assert watched.posted == [Expire(execution_id=1, run=2, kind="timeout", message="lifecycle.deadline_s has passed")]


def test_timers_go_off_in_the_order_of_their_times():
    watched = Watched()
    for run_id, at in ((1, 30.0), (2, 10.0), (3, 20.0)):
        watched.timers.set(TimerSet(execution_id=1, run=run_id, at=at, message=""))

    watched.tick(25.0)

    assert [asked.run for asked in watched.posted] == [2, 3]


def test_timers_of_what_has_ended_are_not_kept():
    watched = Watched()
    watched.timers.is_needed = lambda timer: timer.run == 1

    for run_id in range(2 * HEAP_MIN):
        watched.timers.set(TimerSet(execution_id=1, run=run_id, at=50.0, message=""))
    watched.tick(60.0)

    assert 1 in [asked.run for asked in watched.posted]
    assert len(watched.posted) <= HEAP_MIN + 1


def test_timers_are_idle_when_none_of_them_is_needed():
    watched = Watched()
    for run_id in (1, 2):
        watched.timers.set(TimerSet(execution_id=1, run=run_id, at=50.0, message=""))
    is_idle_before = watched.timers.is_idle

    watched.timers.is_needed = lambda _timer: False

    assert (is_idle_before, watched.timers.is_idle) == (False, True)


def test_a_parked_job_that_is_due_rings():
    watched = Watched()
    watched.tick(10.0)
    watched.queue.change([JobAdded(key=KEY), JobParked(key=KEY, until=10.5)], 10.0)
    before = watched.rings

    watched.tick(10.2)
    early = watched.rings
    watched.tick(10.6)

    assert (early, watched.rings) == (before, before + 1)


def test_a_job_whose_worker_is_lost_too_often_is_given_up():
    watched = Watched()
    watched.queue.change([JobAdded(key=KEY)], 0.0)
    for delivery in range(1, DELIVERIES_MAX + 1):
        watched.queue.claim("w", 1, delivery * 100.0)
        watched.tick(delivery * 100.0 + 99)

    assert [(asked.run, asked.iter, asked.kind) for asked in watched.posted] == [(2, -1, "worker_lost")]


@pytest.mark.spec("ST-07")
@pytest.mark.parametrize("knob", ["timeout_s", "deadline_s"])
async def test_a_step_that_takes_too_long_ends_with_a_timeout(tmp_path, knob):
    body = f"""
        workflow:
          - step: start
            spec: {{policy: {{lifecycle: {{{knob}: 0.2}}}}}}
            tool: {{kind: python, code: "import time; time.sleep(60)"}}
    """
    async with opened(tmp_path) as parts:
        execution_id = await run(parts, body)

        state = await state_of(parts, execution_id)
        assert (state.status, state.error["kind"], state.error["step"]) == ("failed", "timeout", "start")
        assert knob in state.error["message"]
        times = {type(event).__name__: event.ts for event in await log_of(parts, execution_id)}
        assert 0.2 <= times["StepFailed"] - times["StepScheduled"] < 10
