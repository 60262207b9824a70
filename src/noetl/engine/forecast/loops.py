"""How often the pipeline of a step runs, and how many of its runs one after the other.

The collection is rendered as `loop.in` is, in the same scope, if the workload alone decides it. A nest is followed
element by element. Of a parallel loop as many iterations run at once as its window has room for: n of them, each of at
most t seconds, are over after ceil(n / window) times t, since every free place is taken at once.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from noetl.dsl.model import Loop, Step
from noetl.engine import scopes
from noetl.engine.commands import Around
from noetl.engine.forecast.bounds import NOTHING, ONCE, Bound, largest, times, together, unknown
from noetl.engine.forecast.known import Known, Unknown, reads_in
from noetl.engine.looping import WINDOW_MAX
from noetl.engine.values import Fault, fault
from noetl.references import is_reference

ELEMENTS_MAX = 10_000  # of an outer loop, whose inner collections are looked at one by one


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """A loop at its worst."""

    iterations: Bound  # pipelines in all
    rounds: Bound  # of those, one after the other
    fault: str = ""  # why its collection cannot be made, whatever happens


NO_LOOP = Rounds(iterations=ONCE, rounds=ONCE)


def rounds_of(step: Step, known: Known) -> Rounds:
    """Of a step, with or without a loop."""
    return _rounds(step, step.loop, known, []) if step.loop else NO_LOOP


def window_of(loop: Loop) -> int:
    """How many iterations may be under way at once."""
    return min(loop.max_in_flight or WINDOW_MAX, WINDOW_MAX) if loop.is_parallel else 1


def _rounds(step: Step, loop: Loop, known: Known, around: list[Around]) -> Rounds:
    try:
        elements = _elements(step, loop, known, around)
    except Unknown as found:
        nobody_knows = unknown(f'the number of iterations of step "{step.name}" depends on {found.words}')
        return Rounds(iterations=nobody_knows, rounds=nobody_knows)
    except Fault as found:
        return Rounds(iterations=NOTHING, rounds=NOTHING, fault=found.error.message)
    count, window = len(elements), window_of(loop)
    in_turn = Bound(math.ceil(count / window))
    if loop.inner is None:
        return Rounds(iterations=Bound(count), rounds=in_turn)
    if count > ELEMENTS_MAX:
        reason = f'step "{step.name}" has loops within {count:,} iterations, and {ELEMENTS_MAX:,} are looked into'
        return Rounds(iterations=unknown(reason), rounds=unknown(reason))
    inner = [
        _rounds(step, loop.inner, known, [*around, Around(iterator=loop.iterator, index=i, total=count, element=one)])
        for i, one in enumerate(elements)
    ]
    return Rounds(
        iterations=together(one.iterations for one in inner),
        rounds=times(largest(one.rounds for one in inner), in_turn)
        if loop.is_parallel
        else together(one.rounds for one in inner),
        fault=next((one.fault for one in inner if one.fault), ""),
    )


def _elements(step: Step, loop: Loop, known: Known, around: list[Around]) -> Any:
    """What the loop runs over. Raises Unknown; Fault where it is nothing that a loop can run over (LP-02)."""
    more: dict[str, Any] = scopes.iterators(around)
    if around:
        more["iter"] = scopes.iteration(around, {})
    if "input" in loop.collection.reads:
        more["input"] = _input(step, loop, known)
    found = known.value(loop.collection, more)
    if is_reference(found):
        raise Unknown(["the length of a stored list"])
    if isinstance(found, list | tuple | range):
        return found
    raise fault("type", f"loop.in needs a list or a range, but got {type(found).__name__}", loop.place)


def _input(step: Step, loop: Loop, known: Known) -> dict[str, Any]:
    """Of a step's input what `loop.in` reads; what an arc brings along is known in the run only."""
    found: dict[str, Any] = {}
    for read in reads_in(loop.collection.parts):
        if read.name != "input":
            continue
        key = read.parts[0].key if read.parts else None
        if key not in step.input:
            raise Unknown([".".join(map(str, read.path))])
        found[str(key)] = known.value(step.input[str(key)])
    return found
