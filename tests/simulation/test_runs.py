"""One run leaves nothing behind: no hook, no world, and no word of what a killed process had begun."""

import gc
import warnings

from noetl.testing.simulator.case import EMBEDDED, Case
from noetl.testing.simulator.mutants import planted
from noetl.testing.simulator.runs import run
from noetl.testing.simulator.world import World

KILLED_BETWEEN = Case(seed=101726, shape=EMBEDDED)  # a process dies between making a coroutine and waiting for it


def test_coroutines_of_processes_that_were_killed_are_forgotten_without_a_word():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        verdict = run(KILLED_BETWEEN)
        gc.collect()

    assert verdict.violation is None
    assert [str(one.message) for one in told] == []


def test_a_world_that_broke_something_is_gone_when_its_verdict_is_there():
    before = worlds()

    with planted("answersfirst"):
        verdicts = [run(Case(seed=seed)) for seed in range(300_000, 300_400, 19)]

    assert any(verdict.violation for verdict in verdicts)
    assert worlds() <= before


def worlds() -> int:
    return sum(isinstance(one, World) for one in gc.get_objects())
