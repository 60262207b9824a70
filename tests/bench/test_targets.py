"""Targets: every workload has one, and verdicts follow from value, ratio, or both."""

import pytest

from bench.report import Figure
from bench.targets import GROWTH, TARGETS, verdict_of

WORKLOADS = ["W1", "W2", "W3", "W4", "W5", "W6 process", "W6 inline", "W7", "W7 memory", "W7 replay", "W7 verify", "W8"]
CLUSTER = ["cluster W1", "cluster W2", "cluster W3", "cluster W4", "cluster W5", "cluster second worker"]
WHOLE = ["memory W1", "memory W2", "memory W3", "disk W2", "cluster memory"]


def figure(name: str, value: float, beside: float | None = None) -> Figure:
    beside_rounds = [] if beside is None else [beside]
    return Figure(name=name, title="", unit="", rounds=[value], beside_rounds=beside_rounds)


@pytest.mark.parametrize("name", [*WORKLOADS, *CLUSTER, *WHOLE])
def test_every_workload_has_a_target(name: str) -> None:
    assert TARGETS[name].bounds


@pytest.mark.parametrize("size", ["1,000,000 iterations", "10,000 live executions", "200 steps", "200 KiB of ctx"])
def test_growth_is_judged_up_to_the_largest_size(size: str) -> None:
    judged = [name for name in GROWTH if size in name]

    assert judged


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (figure("W2", 12_000), "met"),
        (figure("W2", 11_999), "not met"),
        (figure("W1", 0.39, beside=0.1), "met"),  # either will do: the value
        (figure("W1", 0.60, beside=0.4), "met"),  # or the ratio
        (figure("W1", 0.60, beside=0.3), "not met"),
        (figure("W5", 6_000, beside=9_000), "met"),  # both are wanted
        (figure("W5", 6_000, beside=12_000), "not met"),
        (figure("W5", 4_000, beside=5_000), "not met"),
        (figure("W8", 1_000), "not met"),  # a ratio is wanted, and there is none
        (figure("SQLite 1", 3_000), ""),
    ],
)
def test_a_verdict_follows_from_the_target(measured: Figure, verdict: str) -> None:
    assert verdict_of(measured) == verdict


def test_a_figure_that_could_not_be_measured_is_not_judged() -> None:
    broken = Figure(name="W2", title="", unit="/s", rounds=[], error="RuntimeError")

    assert verdict_of(broken) == ""
