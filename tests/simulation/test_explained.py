"""Logs of worlds in which everything goes wrong, explained: what is asked again is what was recorded."""

import gc
import warnings
from typing import Any, NamedTuple

import pytest

from noetl.control.catalog import Loaded, Text, playbook_of
from noetl.control.planning import extended
from noetl.engine.events import Event, decode
from noetl.engine.net import Net
from noetl.engine.state import State
from noetl.testing.simulator import runs
from noetl.testing.simulator.case import SHAPES, Case
from noetl.testing.simulator.tools import ScriptedKinds
from tests.engine.telling import disagreements, told

SEEDS = range(2000, 2012)  # as large as worlds get


class Played(NamedTuple):
    """What is left of a world."""

    logs: list[list[Event]]
    texts: list[Text]
    kinds: ScriptedKinds


def played(case: Case) -> Played:
    """Run a world; what it leaves undone when it ends is thrown away here, and not in the middle of another test."""
    gc.disable()
    try:
        return made(case)
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of coroutines that nobody waits for any more
            gc.collect()
        gc.enable()


def made(case: Case) -> Played:
    with runs.parsed_once():
        world = runs.made(case)
        with runs.quiet(world.checks.listener), runs.hooked(world):
            verdict = world.run()
    assert verdict.violation is None
    logs = [[decode(body) for body in world.view().bodies(row.id)] for row in world.rows()]
    return Played(logs, world.texts, world.kinds_of(world.outside))


@pytest.mark.spec("EV-05", "RT-02", "TK-06")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_decision_of_a_world_can_be_explained(seed, shape):
    world = played(Case(seed=seed, shape=shape))
    playbooks = {text.sha: (playbook_of(text, world.kinds), text) for text in world.texts}

    def books(state: State) -> tuple[Any, Any]:
        playbook, text = playbooks[state.sha or world.texts[0].sha]
        loaded = extended(Loaded(playbook, Net(playbook), text), state.planned, world.kinds)
        return loaded.playbook, loaded.net

    wrong, explained = [], 0
    for log in world.logs:
        for one in told(log, books, lambda _: {}):
            wrong += disagreements(one)
            explained += bool(one.said)

    assert wrong == []
    assert explained
