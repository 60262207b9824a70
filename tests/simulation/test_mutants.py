"""Mutants: each changes the product and is taken back whole, and whoever checks catches them."""

import pytest

from noetl.control.shared_sitting import SharedSitting
from noetl.testing.simulator.case import RATES, SHAPES, Configuration
from noetl.testing.simulator.mutants import MUTANTS, ROOMS, planted
from noetl.testing.simulator.mutants.planting import Planting
from tests.simulation.mutants import hunted

INVARIANTS = [f"I{number}" for number in range(1, 16)]
QUICK = ("answersfirst", "cancelqueued", "runreuse")
SEEDS_MAX = 300


class Watched(Planting):
    """Remembers where something was put, and what was there before."""

    def __init__(self):
        super().__init__()
        self.places = []

    def put(self, owner, name, other):
        self.places.append((lambda: vars(owner)[name], vars(owner)[name]))
        super().put(owner, name, other)

    def put_row(self, table, key, made):
        self.places.append((lambda: table[key], table[key]))
        super().put_row(table, key, made)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_changes_the_product_and_is_taken_back(name):
    planting = Watched()

    MUTANTS[name].plant(planting)
    is_changed = [now() is not before for now, before in planting.places]
    planting.take_back()

    assert is_changed
    assert all(is_changed)
    assert all(now() is before for now, before in planting.places)


def test_a_mutant_is_taken_back_when_its_run_fails():
    judge = SharedSitting.judge
    seen = []

    def failing():
        seen.append(SharedSitting.judge)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), planted("nofence"):
        failing()

    assert seen[0] is not judge
    assert SharedSitting.judge is judge


def test_an_unknown_mutant_is_refused_with_the_names_there_are():
    with pytest.raises(LookupError, match="nofence"), planted("nosuchthing"):
        pass


def test_names_are_given_once_and_name_something():
    names = [mutant.name for room in ROOMS for mutant in room.MUTANTS]

    assert len(names) == len(set(names)) == len(MUTANTS) >= 24
    assert all(mutant.meaning and mutant.caught_by for mutant in MUTANTS.values())
    assert all(mutant.shapes and set(mutant.shapes) <= set(SHAPES) for mutant in MUTANTS.values())
    assert all(set(mutant.overrides) <= set(Configuration.__struct_fields__) for mutant in MUTANTS.values())
    assert all(set(mutant.overrides.get("rates", ())) <= set(RATES) for mutant in MUTANTS.values())


@pytest.mark.parametrize("invariant", INVARIANTS)
def test_every_invariant_has_a_mutant_that_breaks_it(invariant):
    assert any(invariant in mutant.caught_by for mutant in MUTANTS.values())


@pytest.mark.parametrize("name", QUICK)
def test_a_mutant_is_caught_within_a_few_hundred_seeds(name):
    hunt = hunted((name, 3, SEEDS_MAX))

    assert hunt.invariant in MUTANTS[name].caught_by
    assert hunt.seeds <= SEEDS_MAX
