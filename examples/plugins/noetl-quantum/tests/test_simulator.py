"""The simulator obeys the rules of the trade: known states, gates that undo one another, chances that add up."""

import math

import pytest

from noetl_quantum.circuit import read_circuit
from noetl_quantum.simulator import Stopped, simulate


def probabilities(text, precision="double"):
    return simulate(read_circuit(text), precision=precision, shots=1, seed=1, is_stopped=lambda: False).probabilities


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h 0; cx 0 1", {"00": 0.5, "11": 0.5}),
        ("h 0; cx 0 1; cx 1 2", {"000": 0.5, "111": 0.5}),
        ("x 0; swap 0 2; measure 0 1 2", {"001": 1.0}),
        ("x 0; h 1; measure 1 0", {"01": 0.5, "11": 0.5}),
        ("h 0; z 0; h 0", {"1": 1.0}),
        ("h 0; s 0; s 0; h 0", {"1": 1.0}),
        ("h 0; t 0; t 0; t 0; t 0; h 0", {"1": 1.0}),
        ("h 0; x 1; h 1; cz 0 1; h 0; h 1; measure 1", {"0": 0.5, "1": 0.5}),
        ("y 0", {"1": 1.0}),
        ("rx(pi) 0", {"1": 1.0}),
        ("ry(pi/2) 0", {"0": 0.5, "1": 0.5}),
        ("h 0; rz(pi) 0; h 0", {"1": 1.0}),
    ],
)
def test_a_circuit_gives_the_chances_that_the_books_give(text, expected, precision):
    assert probabilities(text, precision) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("angle", [0.1, 1.0, 2.5])
def test_a_turn_leaves_the_chance_of_its_half_angle(angle):
    assert probabilities(f"rx({angle}) 0")["1"] == pytest.approx(math.sin(angle / 2) ** 2)


def test_counts_add_up_and_a_seed_repeats_them():
    circuit = read_circuit("h 0; h 1; ry(0.3) 2")

    first, again, other = (
        simulate(circuit, precision="double", shots=500, seed=seed, is_stopped=lambda: False).counts
        for seed in (1, 1, 2)
    )

    assert sum(first.values()) == 500
    assert first == again != other


def test_it_stops_between_two_gates():
    with pytest.raises(Stopped):
        simulate(read_circuit("h 0"), precision="double", shots=1, seed=1, is_stopped=lambda: True)
