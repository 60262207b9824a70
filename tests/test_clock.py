"""A clock by which several machines agree: whose time it tells, and which answers it takes it from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from noetl.clock import AgreedClock
from noetl.testing.clocks import ClockByHand

WRONG_SECONDS = 3600.0  # so far the machine's own clock is ahead of everybody's


class MachineClock(ClockByHand):
    """One whose wall clock is wrong and may be put. `meanwhile`: what another thread does while it is looked at."""

    def __init__(self) -> None:
        super().__init__(1000.0)
        self.wrong_seconds = WRONG_SECONDS
        self.meanwhile: Callable[[], None] = lambda: None

    def now(self) -> float:
        return self.seconds + self.wrong_seconds

    def monotonic(self) -> float:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return self.seconds


def test_before_anything_is_heard_it_is_the_machines_own_clock():
    machine = MachineClock()

    agreed = AgreedClock(machine)

    assert agreed.now() == machine.now()


def test_what_has_passed_since_it_agreed_is_measured_by_a_clock_that_nobody_puts():
    machine = MachineClock()
    agreed = AgreedClock(machine)
    agreed.agree(0.0)

    machine.wrong_seconds = -WRONG_SECONDS
    machine.seconds += 5

    assert agreed.now() == pytest.approx(1005.0)
    assert agreed.monotonic() == machine.monotonic() == 1005.0


def test_the_first_answer_counts_however_slow_it_was():
    agreed = AgreedClock(MachineClock())

    agreed.hear(1000.0, round_trip_seconds=30.0)

    assert agreed.now() == pytest.approx(1000.0)


def test_an_answer_that_was_fast_enough_corrects_a_slow_one():
    agreed = AgreedClock(MachineClock())
    agreed.hear(970.0, round_trip_seconds=30.0)

    agreed.hear(1000.0, round_trip_seconds=0.1)

    assert agreed.now() == pytest.approx(1000.0)


def test_where_all_answers_are_slow_the_less_slow_one_counts():
    agreed = AgreedClock(MachineClock())
    agreed.hear(970.0, round_trip_seconds=30.0)

    agreed.hear(997.0, round_trip_seconds=3.0)
    agreed.hear(980.0, round_trip_seconds=20.0)

    assert agreed.now() == pytest.approx(997.0)


def test_a_slow_answer_does_not_undo_what_was_agreed_on():
    agreed = AgreedClock(MachineClock())
    agreed.agree(0.0)

    agreed.hear(950.0, round_trip_seconds=50.0)

    assert agreed.now() == pytest.approx(1000.0)


def test_whoever_reads_it_while_another_thread_hears_the_time_gets_no_third_time():
    machine = MachineClock()
    agreed = AgreedClock(machine)
    agreed.hear(1000.0, round_trip_seconds=0.0)

    machine.seconds += 60
    machine.meanwhile = lambda: agreed.hear(1060.5, round_trip_seconds=0.0)

    assert 1060.0 <= agreed.now() <= 1060.5
