"""Circuits at work: a vector of 2^n amplitudes, changed gate by gate, then measured many times at once.

A circuit in, counts and probabilities out. It blocks, so it belongs into a thread; between two gates it asks whether
it shall stop, so that a cancelled task holds a thread no longer than one gate takes.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from noetl_quantum.circuit import TURNS, Circuit, Gate

PRECISIONS = {"single": np.complex64, "double": np.complex128}
OUTCOMES_SHOWN_MAX = 1_024
PROBABILITY_MIN = 1e-9  # less is rounding
ROOT = math.sqrt(0.5)

Matrix = tuple[complex, complex, complex, complex]  # by rows
MATRICES: dict[str, Matrix] = {
    "h": (ROOT, ROOT, ROOT, -ROOT),
    "x": (0, 1, 1, 0),
    "y": (0, -1j, 1j, 0),
    "z": (1, 0, 0, -1),
    "s": (1, 0, 0, 1j),
    "t": (1, 0, 0, cmath.exp(0.25j * math.pi)),
}


class Stopped(Exception):
    """It was asked to stop."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a circuit; an outcome has a digit per measured qubit, the first on the left."""

    counts: dict[str, int]
    probabilities: dict[str, float]  # the likeliest outcomes first


def simulate(
    circuit: Circuit, *, precision: str, shots: int, seed: int | None, is_stopped: Callable[[], bool]
) -> Measured:
    """Run a circuit. Raises Stopped."""
    state: Any = np.zeros((2,) * circuit.qubits, dtype=PRECISIONS[precision])
    state[(0,) * circuit.qubits] = 1
    for gate in circuit.gates:
        if is_stopped():
            raise Stopped
        apply(gate, state)
    return measured(circuit, state, shots, np.random.default_rng(seed))


def apply(gate: Gate, state: Any) -> None:
    """Change a state by a gate, in place."""
    view = np.moveaxis(state, gate.qubits, range(len(gate.qubits)))  # the gate's own qubits come first
    if gate.name == "cx":
        view[1] = view[1, ::-1].copy()
    elif gate.name == "cz":
        view[1, 1] *= -1
    elif gate.name == "swap":
        view[0, 1], view[1, 0] = view[1, 0].copy(), view[0, 1].copy()
    else:
        a, b, c, d = turned(gate) if gate.name in TURNS else MATRICES[gate.name]
        zero, one = view[0].copy(), view[1].copy()
        view[0] = a * zero + b * one
        view[1] = c * zero + d * one


def turned(gate: Gate) -> Matrix:
    """The matrix of a rotation."""
    half = gate.angle / 2
    cos, sin = math.cos(half), math.sin(half)
    if gate.name == "rx":
        return cos, -1j * sin, -1j * sin, cos
    if gate.name == "ry":
        return cos, -sin, sin, cos
    return cmath.exp(-1j * half), 0, 0, cmath.exp(1j * half)


def measured(circuit: Circuit, state: Any, shots: int, chance: np.random.Generator) -> Measured:
    others = tuple(qubit for qubit in range(circuit.qubits) if qubit not in circuit.measured)
    kept = sorted(circuit.measured)
    likely = (state.real.astype(np.float64) ** 2 + state.imag.astype(np.float64) ** 2).sum(axis=others)
    likely = np.transpose(likely, [kept.index(qubit) for qubit in circuit.measured]).reshape(-1)
    likely /= likely.sum()
    found = chance.multinomial(shots, likely)
    digits = len(circuit.measured)
    best = np.argsort(-likely, kind="stable")[:OUTCOMES_SHOWN_MAX]
    return Measured(
        counts={outcome(index, digits): int(found[index]) for index in np.flatnonzero(found)},
        probabilities={
            outcome(index, digits): round(float(likely[index]), 9) for index in best if likely[index] > PROBABILITY_MIN
        },
    )


def outcome(index: Any, digits: int) -> str:
    return format(int(index), f"0{digits}b")
