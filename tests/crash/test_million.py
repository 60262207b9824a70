"""Loops that are long, though not a million here (`make million` is): memory stays, speed stays, the log verifies."""

import sys

import pytest

from tests.crash.million import MODES, SHORT_COUNT, measure

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc"),
]
LONG_COUNTS = {"parallel, 100 in flight": 50_000, "parallel": 20_000, "sequential": 5_000}
GROWTH_MIB_MAX = 20  # of which the caches of SQLite, which fill up once, are about 12
TRIES_MAX = 3


@pytest.mark.spec("LP-10", "LP-08", "EV-05")
@pytest.mark.parametrize("mode", MODES)
def test_the_memory_of_a_loop_does_not_grow_with_its_length(mode, tmp_path):
    short = measure(SHORT_COUNT, mode, tmp_path / "short")
    long = measure(LONG_COUNTS[mode], mode, tmp_path / "long")

    assert short.faults + long.faults == []
    assert long.peak_mib - short.peak_mib < GROWTH_MIB_MAX
    assert long.verify_peak_mib - short.verify_peak_mib < GROWTH_MIB_MAX


@pytest.mark.spec("LP-10")
def test_ten_times_as_many_iterations_take_ten_times_as_long(tmp_path):
    """Within a fifth; the best of a few tries, since a machine has other things to do as well."""
    ratios = []
    for number in range(TRIES_MAX):
        short, long = (measure(count, "parallel", tmp_path / f"{number}-{count}") for count in (2_000, 20_000))
        ratios.append(long.rate / short.rate)
        if ratios[-1] > 0.8:
            break

    assert max(ratios) > 0.8, ratios
