"""Faults planted in the product on purpose: whoever checks must catch every one, or the check is worth nothing.

    with planted("nofence"):
        run(Case(seed=7))

There is at least one for each invariant of the protocol (§11), each a mistake that could be made. Nothing of them is
near a run that did not ask for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from noetl.testing.simulator.mutants import engine, fixed, leases, pump, sweeps, worker
from noetl.testing.simulator.mutants.planting import Mutant, Planting

ROOMS = (pump, leases, sweeps, engine, worker, fixed)
MUTANTS: dict[str, Mutant] = {mutant.name: mutant for room in ROOMS for mutant in room.MUTANTS}


@contextmanager
def planted(name: str) -> Iterator[Mutant]:
    """The product with that fault, until the end of the block. Raises LookupError."""
    mutant = MUTANTS.get(name)
    if mutant is None:
        raise LookupError(f"there is no mutant {name!r}; there are {', '.join(MUTANTS)}")
    planting = Planting()
    try:
        mutant.plant(planting)
        yield mutant
    finally:
        planting.take_back()
