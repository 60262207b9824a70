"""A worker's session over time, and whom a worker turns to."""

import pytest

from noetl.errors import Unauthenticated, Unreachable
from noetl.queues.enrolment import Enrolment, Granted
from noetl.queues.homes import WARY_SECONDS, Acquaintance, Homes
from noetl.testing.clocks import ClockByHand


class Registry:
    """Gives sessions of 60 seconds, unless it has a reason not to."""

    def __init__(self):
        self.given = 0
        self.fault = None

    async def enrol(self):
        if self.fault:
            raise self.fault
        self.given += 1
        return Granted(session=f"s{self.given}", life_seconds=60.0)


@pytest.fixture
def clock():
    return ClockByHand()


@pytest.fixture
def registry():
    return Registry()


async def test_a_session_outlives_a_server_that_cannot_be_reached_until_its_end(clock, registry):
    enrolment = Enrolment(registry.enrol, clock)
    await enrolment.session()
    registry.fault = Unreachable("nobody there")
    clock.seconds += 59
    kept = await enrolment.session()

    clock.seconds += 10

    assert kept == "s1"
    with pytest.raises(Unreachable):
        await enrolment.session()


async def test_a_token_that_is_refused_at_renewal_is_said(clock, registry):
    enrolment = Enrolment(registry.enrol, clock)
    await enrolment.session()
    registry.fault = Unauthenticated("revoked")
    clock.seconds += 31

    with pytest.raises(Unauthenticated):
        await enrolment.session()


async def test_a_refusal_of_an_older_session_does_not_end_the_newer_one(clock, registry):
    enrolment = Enrolment(registry.enrol, clock)
    old = await enrolment.session()
    enrolment.refused(old)
    new = await enrolment.session()

    enrolment.refused(old)

    assert (old, new, await enrolment.session()) == ("s1", "s2", "s2")


def test_after_a_silence_the_server_that_answered_last_is_preferred_for_a_while(clock):
    known = Acquaintance(clock.monotonic)
    known.answered("a")
    before = known.preferred
    known.silent("")
    during = known.preferred

    clock.seconds += WARY_SECONDS + 1

    assert (before, during, known.preferred) == ("", "a", "")


def test_a_server_that_was_silent_itself_is_not_preferred(clock):
    known = Acquaintance(clock.monotonic)
    known.answered("a")

    known.silent("a")

    assert known.preferred == ""


def test_a_home_given_since_the_last_heartbeat_is_kept_though_it_is_not_listed_yet():
    homes = Homes()
    homes.note([1, 2], "a")
    homes.keep([1])
    between = homes.of(2)

    homes.keep([1])

    assert (between, homes.of(1), homes.of(2)) == ("a", "a", "")
