"""Failing runs are made smaller, as far as they break the same thing, within a budget."""

import msgspec
import pytest

from noetl.testing.clocks import ClockByHand
from noetl.testing.simulator import shrink
from noetl.testing.simulator.case import Case, Configuration, Verdict, Violation
from noetl.testing.simulator.regressions import Regression, kept, read, written
from noetl.testing.simulator.shrink import SECONDS_MAX, NotRepeated, lower_values, shrunk

FAULTS = tuple((stream, number) for number in range(1, 33) for stream in ("net", "crash"))
CULPRITS = {("net", 5), ("crash", 29)}


class Worlds:
    """Stands for the simulator: `judge` says what a run with some faults and a configuration breaks."""

    def __init__(self, judge, seconds_per_run=0.0):
        self.judge = judge
        self.clock = ClockByHand()
        self.runs = 0
        self._seconds_per_run = seconds_per_run

    def run(self, case):
        self.runs += 1
        self.clock.seconds += self._seconds_per_run
        configuration = Configuration(executions=8, size=12, servers=4, workers=6, trouble_seconds=24.5, slots=1)
        for name, value in case.overrides.items():
            setattr(configuration, name, value)
        strikes = FAULTS if case.only is None else tuple(one for one in FAULTS if one in case.only)
        broken = self.judge(set(strikes), configuration)
        violation = Violation(broken, "as planted") if broken else None
        return Verdict(case=case, configuration=configuration, violation=violation, strikes=strikes)

    def shrunk(self):
        return shrunk(self.run(Case(seed=7)), self.run, self.clock)


def test_only_the_faults_that_matter_are_left():
    worlds = Worlds(lambda strikes, configuration: "I3" if strikes >= CULPRITS else None)

    found = worlds.shrunk()

    assert set(found.verdict.case.only) == CULPRITS
    assert found.is_least
    assert found.verdict.case.seed == 7


def test_a_failure_without_any_fault_needs_none():
    worlds = Worlds(lambda strikes, configuration: "I9")

    found = worlds.shrunk()

    assert found.verdict.case.only == ()
    assert found.verdict.configuration == Configuration(trouble_seconds=1.0, slots=1, lease_seconds=10.0)


def test_a_world_gets_as_small_as_it_can_and_no_smaller():
    def judge(strikes, configuration):
        is_enough = configuration.executions >= 3 and configuration.trouble_seconds >= 9
        return "I3" if is_enough and strikes >= CULPRITS else None

    found = Worlds(judge).shrunk().verdict.configuration

    assert (found.executions, found.size, found.servers, found.workers) == (3, 1, 1, 1)
    assert 9 <= found.trouble_seconds < 10


def test_a_smaller_case_that_breaks_something_else_is_not_taken():
    def judge(strikes, configuration):
        if not strikes >= CULPRITS:
            return "I15"
        return "I3" if configuration.workers >= 2 else "I9"

    found = Worlds(judge).shrunk().verdict

    assert found.violation.invariant == "I3"
    assert set(found.case.only) == CULPRITS
    assert found.configuration.workers == 2


def test_faults_that_no_longer_strike_are_left_out_with_the_one_they_followed_from():
    class Chained(Worlds):
        def run(self, case):
            verdict = super().run(case)
            if ("net", 1) in verdict.strikes:
                return verdict
            return msgspec.structs.replace(verdict, strikes=verdict.strikes[-2:])

    worlds = Chained(lambda strikes, configuration: "I3" if ("crash", 32) in strikes else None)

    found = worlds.shrunk()

    assert found.verdict.case.only == (("crash", 32),)
    assert worlds.runs < 40


def test_it_stops_when_its_runs_are_spent(monkeypatch):
    monkeypatch.setattr(shrink, "RUNS_MAX", 12)
    worlds = Worlds(lambda strikes, configuration: "I3" if strikes >= CULPRITS else None)

    found = worlds.shrunk()

    assert (found.runs, worlds.runs) == (12, 1 + 12)
    assert not found.is_least
    assert CULPRITS < set(found.verdict.case.only) < set(FAULTS)


def test_it_stops_when_its_time_is_over():
    worlds = Worlds(lambda strikes, configuration: "I3" if strikes >= CULPRITS else None, seconds_per_run=5.0)

    found = worlds.shrunk()

    assert worlds.runs <= 1 + SECONDS_MAX / 5
    assert not found.is_least
    assert set(found.verdict.case.only) >= CULPRITS


def test_a_case_that_does_not_fail_again_is_said_to_be_none():
    worlds = Worlds(lambda strikes, configuration: "I3" if worlds.runs == 1 else None)

    with pytest.raises(NotRepeated, match="seed 7 broke I3"):
        worlds.shrunk()


@pytest.mark.parametrize(
    ("value", "least", "expected"),
    [(8, 1, [1, 4, 7]), (2, 1, [1]), (1, 1, []), (0.5, 0.0, [0.0]), (24.5, 1.0, [1.0, 12.0, 23.5])],
)
def test_numbers_are_lowered_to_the_least_then_by_half_then_by_one(value, least, expected):
    assert lower_values(value, least) == expected


def test_a_kept_case_is_read_as_it_was_written(tmp_path):
    case = Case(seed=7, shape="embedded", overrides={"executions": 2}, only=(("net", 5), ("crash", 29)))

    file = written(Regression(invariant="I3", why="a fence was missing", case=case), tmp_path / "kept")

    assert kept(tmp_path / "kept") == [file]
    assert file.name == "i3-embedded-7.json"
    assert read(file).case == case
