"""Moves that are rare in drawn worlds have scenes of their own."""

import pytest

from noetl.testing.simulator.checks.edges import EDGES
from tests.simulation.rare import SCENES, met


@pytest.mark.parametrize("move", SCENES)
def test_a_scene_makes_the_move_that_it_is_for(move):
    assert move in EDGES
    assert met(move)["edges"][move]
