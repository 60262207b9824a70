"""A circuit as its author wrote it → a circuit that can be run.

In: text with a gate per line (`h 0`, `rx(pi/2) 1`, `cx 0 1`, `measure 0 1`; # begins a remark), or a list of such
texts and of mappings (`{gate: rx, angle: 1.57, qubits: [1]}`). Out: a Circuit, or CircuitFault with the place.
Nothing is computed here, and nothing is evaluated: an angle is a number, or a multiple or a part of pi.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec

QUBITS_MAX = 20  # a state of 2^20 complex numbers, 16 MiB
GATES_MAX = 10_000
FIXED = {"h": 1, "x": 1, "y": 1, "z": 1, "s": 1, "t": 1, "cx": 2, "cz": 2, "swap": 2}  # gate: how many qubits
TURNS = ("rx", "ry", "rz")
MEASURE = "measure"
GATES = (*FIXED, *TURNS, MEASURE)

LINE = re.compile(r"(?P<gate>[a-z]+)\s*(?:\((?P<angle>[^()]*)\))?(?P<qubits>(?:[\s,]+\d{1,4})*)\s*", re.ASCII)
ANGLE = re.compile(
    r"\s*(?P<sign>[+-]?)\s*(?:(?P<number>\d+(?:\.\d*)?(?:e[+-]?\d{1,3})?)|(?:(?P<times>\d+(?:\.\d+)?)\s*\*\s*)?pi"
    r"(?:\s*/\s*(?P<part>\d+(?:\.\d+)?))?)\s*",
    re.ASCII,
)


class CircuitFault(Exception):
    """Why a circuit cannot be run; the message says where."""


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """One gate and the qubits it is on."""

    name: str
    qubits: tuple[int, ...]
    angle: float = 0.0


class Circuit(msgspec.Struct, frozen=True, kw_only=True):
    """Gates in order, then a measurement."""

    qubits: int
    gates: tuple[Gate, ...]
    measured: tuple[int, ...]  # in the order of the outcome's digits

    @property
    def depth(self) -> int:
        """The number of layers, if gates on different qubits happen at once."""
        level = [0] * self.qubits
        for gate in self.gates:
            layer = 1 + max(level[qubit] for qubit in gate.qubits)
            for qubit in gate.qubits:
                level[qubit] = layer
        return max(level, default=0)


def read_circuit(written: object) -> Circuit:
    """The circuit of a text or a list. Raises CircuitFault."""
    gates: list[Gate] = []
    measured: list[int] | None = None
    for place, item in items_of(written):
        gate = read_gate(place, item)
        if gate.name == MEASURE:
            measured = [*(measured or ()), *gate.qubits] if gate.qubits else []
            continue
        if measured is not None and (not measured or set(measured) & set(gate.qubits)):
            raise CircuitFault(f"{place}: {gate.name} is on a qubit that was measured before; measure at the end")
        gates.append(gate)
    return whole(gates, measured or [])


def items_of(written: object) -> list[tuple[str, object]]:
    if isinstance(written, str):
        lines = (line.partition("#")[0].strip() for line in written.replace(";", "\n").splitlines())
        items: list[tuple[str, object]] = [(f"line {number}", line) for number, line in enumerate(lines, 1) if line]
    elif isinstance(written, Sequence):
        items = [(f"gate {number}", item) for number, item in enumerate(written, 1)]
    else:
        raise CircuitFault(f"a circuit is a text or a list of gates, but this is {type(written).__name__}")
    if not items:
        raise CircuitFault("the circuit has no gate")
    if len(items) > GATES_MAX:
        raise CircuitFault(f"a circuit may have {GATES_MAX} gates, but this has {len(items)}")
    return items


def whole(gates: list[Gate], measured: list[int]) -> Circuit:
    qubits = 1 + max((qubit for gate in gates for qubit in gate.qubits), default=-1)
    qubits = max(qubits, 1 + max(measured, default=-1))
    if not qubits:
        raise CircuitFault("the circuit has no gate on a qubit")
    if qubits > QUBITS_MAX:
        raise CircuitFault(
            f"the simulator has {QUBITS_MAX} qubits, 0 to {QUBITS_MAX - 1}; the circuit uses {qubits - 1}"
        )
    if len(set(measured)) < len(measured):
        raise CircuitFault("a qubit is measured twice")
    return Circuit(qubits=qubits, gates=tuple(gates), measured=tuple(measured) or tuple(range(qubits)))


def read_gate(place: str, item: object) -> Gate:
    if isinstance(item, str):
        return read_line(place, item)
    if not isinstance(item, dict) or not set(item) <= {"gate", "qubits", "angle"}:
        raise CircuitFault(f"{place}: a gate is a text such as cx 0 1, or a mapping of gate, qubits and angle")
    qubits = item.get("qubits", [])
    qubits = qubits if isinstance(qubits, list) else [qubits]
    if not all(type(qubit) is int and qubit >= 0 for qubit in qubits):
        raise CircuitFault(f"{place}: qubits are numbers from 0")
    return checked(place, str(item.get("gate", "")), tuple(qubits), item.get("angle"))


def read_line(place: str, line: str) -> Gate:
    match = LINE.fullmatch(line.strip().lower())
    if match is None:
        raise CircuitFault(f'{place}: "{line.strip()[:40]}" is no gate; write for example h 0, rx(pi/2) 1 or cx 0 1')
    qubits = tuple(int(word) for word in match["qubits"].replace(",", " ").split())
    return checked(place, match["gate"], qubits, match["angle"])


def checked(place: str, name: str, qubits: tuple[int, ...], angle: Any) -> Gate:
    if name not in GATES:
        raise CircuitFault(f'{place}: there is no gate "{name[:40]}"; there are: {", ".join(GATES)}')
    wanted = 1 if name in TURNS else FIXED.get(name, len(qubits))
    if len(qubits) != wanted:
        raise CircuitFault(f"{place}: {name} is on {wanted} qubit{'s' * (wanted != 1)}, but names {len(qubits)}")
    if len(set(qubits)) < len(qubits):
        raise CircuitFault(f"{place}: {name} names a qubit twice")
    if (angle is not None) != (name in TURNS):
        raise CircuitFault(f"{place}: {name} " + ("needs an angle" if name in TURNS else "has no angle"))
    return Gate(name=name, qubits=qubits, angle=0.0 if angle is None else angle_of(place, angle))


def angle_of(place: str, given: object) -> float:
    """A number of radians, or pi with a factor before it and a part after it: -3*pi/4."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        return float(given)
    match = ANGLE.fullmatch(given) if isinstance(given, str) else None
    if match is None or (match["part"] and not float(match["part"])):
        raise CircuitFault(f'{place}: "{str(given)[:40]}" is no angle; write radians, or pi/2, -pi/4, 3*pi/2')
    size = (
        float(match["number"]) if match["number"] else math.pi * float(match["times"] or 1) / float(match["part"] or 1)
    )
    return -size if match["sign"] == "-" else size
