"""What can be written as a circuit, and what is said of what cannot."""

import math

import pytest

from noetl_quantum.circuit import GATES_MAX, Circuit, CircuitFault, Gate, read_circuit


def test_a_text_and_a_list_say_the_same():
    text = read_circuit("H 0  # both at once\n\nrx(pi/2) 1; cx 0, 1\nmeasure 1 0")
    listed = read_circuit(
        [{"gate": "h", "qubits": 0}, {"gate": "rx", "angle": math.pi / 2, "qubits": [1]}, "cx 0 1", "measure 1 0"]
    )

    assert text == listed
    assert text.gates[1] == Gate(name="rx", qubits=(1,), angle=math.pi / 2)
    assert (text.qubits, text.measured, text.depth) == (2, (1, 0), 2)


def test_without_a_measurement_all_qubits_are_measured():
    assert read_circuit("h 2").measured == (0, 1, 2)
    assert read_circuit("h 2\nmeasure").measured == (0, 1, 2)


@pytest.mark.parametrize(
    ("angle", "radians"),
    [("pi", math.pi), ("-pi/4", -math.pi / 4), ("3*pi/2", 1.5 * math.pi), ("0.25", 0.25), ("-1e-3", -0.001)],
)
def test_an_angle_is_a_number_or_a_part_of_pi(angle, radians):
    assert read_circuit(f"rz({angle}) 0").gates[0].angle == pytest.approx(radians)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "the circuit has no gate"),
        ([], "the circuit has no gate"),
        ("measure", "the circuit has no gate on a qubit"),
        (7, "a circuit is a text or a list of gates, but this is int"),
        ("h 0\nhadamard 1", 'line 2: there is no gate "hadamard"'),
        ("cx 0", "line 1: cx is on 2 qubits, but names 1"),
        ("cx 1 1", "line 1: cx names a qubit twice"),
        ("rx 0", "line 1: rx needs an angle"),
        ("h(pi) 0", "line 1: h has no angle"),
        ("rx(__import__('os')) 0", "line 1: \"rx(__import__('os')) 0\" is no gate"),
        ("rx(pi/0) 0", 'line 1: "pi/0" is no angle'),
        ("h 20", "the simulator has 20 qubits, 0 to 19; the circuit uses 20"),
        ("measure 0\nx 0", "line 2: x is on a qubit that was measured before"),
        ("measure\nx 0", "line 2: x is on a qubit that was measured before"),
        ("h 0\nmeasure 0 0", "line 2: measure names a qubit twice"),
        ("h 0\nmeasure 0\nmeasure 0", "a qubit is measured twice"),
        ([{"gate": "h", "on": 0}], "gate 1: a gate is a text such as cx 0 1, or a mapping"),
        ([{"gate": "h", "qubits": [True]}], "gate 1: qubits are numbers from 0"),
        (["x 0"] * (GATES_MAX + 1), "a circuit may have 10000 gates, but this has 10001"),
    ],
)
def test_what_is_no_circuit_is_refused_with_its_place(written, message):
    with pytest.raises(CircuitFault) as refused:
        read_circuit(written)

    assert str(refused.value).startswith(message)


def test_the_depth_counts_layers_and_not_gates():
    circuit = Circuit(
        qubits=3,
        gates=(Gate(name="h", qubits=(0,)), Gate(name="h", qubits=(1,)), Gate(name="cx", qubits=(1, 2))),
        measured=(0,),
    )

    assert circuit.depth == 2
