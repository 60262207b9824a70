"""Run one case, in a process that is prepared for it: the hooks of a world are in place while it runs, and gone after.

    verdict = run(Case(seed=7, shape="embedded"))

What is shared between runs is what no run can change: playbooks that were parsed.
"""

from __future__ import annotations

import gc
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from noetl import buggify
from noetl.control import catalog, planning, turn
from noetl.control.catalog import Text
from noetl.dsl.model import Playbook
from noetl.engine.commands import Incident
from noetl.engine.state import State
from noetl.testing.simulator.case import CLUSTER, Case, Verdict
from noetl.testing.simulator.cluster_world import ClusterWorld
from noetl.testing.simulator.embedded_world import EmbeddedWorld
from noetl.testing.simulator.world import World
from noetl.working import playbooks

RUNS_PER_COLLECTION = 20  # of everything; what a world leaves is young
ALL_GENERATIONS = 2
Parse = Callable[[Text, Any], Playbook]

_runs = 0


def run(case: Case, *, is_traced: bool = False) -> Verdict:
    """One world, from its seed to a verdict."""
    global _runs
    _runs += 1
    gc.disable()  # a collection runs what was left undone, at a moment that no seed decides
    try:
        return _lived(case, is_traced=is_traced)
    finally:
        clear_away(0 if _runs % RUNS_PER_COLLECTION else ALL_GENERATIONS)
        gc.enable()


def _lived(case: Case, *, is_traced: bool) -> Verdict:
    with parsed_once():
        world = made(case, is_traced=is_traced)
        with quiet(world.checks.listener), hooked(world):
            verdict = world.run()
    if (found := verdict.violation) is not None:
        found.__traceback__ = found.__context__ = found.__cause__ = None  # or it would hold on to the whole world
    return verdict


def clear_away(generation: int) -> None:
    """What is left of a world. A process that was killed between making a coroutine and waiting for it never does:
    Python says so when it forgets the coroutine, and that is no news here. While a world lives it still is."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="coroutine .* was never awaited", category=RuntimeWarning)
        gc.collect(generation)


def made(case: Case, *, is_traced: bool = False) -> World:
    return (ClusterWorld if case.shape == CLUSTER else EmbeddedWorld)(case, is_traced=is_traced)


@contextmanager
def replaced(owner: object, name: str, other: object) -> Iterator[None]:
    """Something else stands there for a while."""
    before = getattr(owner, name)
    setattr(owner, name, other)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def hooked(world: World) -> Iterator[None]:
    """Where the product asks whether to do the unusual thing, the world answers; and decisions may fail."""
    decide: Callable[..., Any] = getattr(turn, "decide")  # noqa: B009 - as it is there, not as it is exported

    def decide_or_fail(playbook: Any, net: Any, state: State, operation: Any, now: float) -> Any:
        if not isinstance(operation, Incident) and world.trouble.is_decision_broken():
            world.planted.add(state.execution_id)
            raise RuntimeError("a fault of the world, while deciding")
        return decide(playbook, net, state, operation, now)

    with replaced(buggify, "hook", world.trouble.point), replaced(turn, "decide", decide_or_fail):
        yield


@contextmanager
def quiet(handler: logging.Handler) -> Iterator[None]:
    """What the product logs goes to that handler, and nowhere else."""
    root = logging.getLogger("noetl")
    before, root.propagate = root.propagate, False
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.propagate = before


@contextmanager
def parsed_once() -> Iterator[None]:
    """A text that many nodes read is parsed for the first of them; a playbook never changes."""
    kept: dict[str, Playbook] = {}

    def remembering(parse: Parse) -> Parse:
        def remembered(text: Text, kinds: Any) -> Playbook:
            found = kept.get(text.sha)
            if found is None:
                found = kept[text.sha] = parse(text, kinds)
            return found

        return remembered

    known, checking = remembering(catalog.known_playbook), remembering(catalog.playbook_of)
    with (
        replaced(catalog, "known_playbook", known),
        replaced(catalog, "playbook_of", checking),
        replaced(planning, "playbook_of", checking),
        replaced(playbooks, "known_playbook", known),
    ):
        yield
