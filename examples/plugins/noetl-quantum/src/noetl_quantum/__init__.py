"""kind: quantum — runs a circuit of gates on a simulator and counts what its qubits are measured as.

This module is what the entry point names: the declaration, which the checker, the schema and the worker read, and the
way to the tool. It imports neither numpy nor asyncio, so that looking at the declaration costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.dsl.kinds import INTEGER, LIST, TEXT, Field, Kind

if TYPE_CHECKING:
    from noetl.tools.contract import Hands, Tool

SHOTS_MAX = 1_000_000

KIND = Kind(
    name="quantum",
    summary="Runs a circuit of gates on a simulator and counts what its qubits are measured as.",
    fields=(
        Field(
            name="circuit",
            types=(TEXT, LIST),
            required=True,
            doc="The gates, one per line or item: h, x, y, z, s, t, rx(angle), ry(angle), rz(angle), cx, cz, swap, "
            "measure.",
        ),
        Field(name="shots", types=(INTEGER,), minimum=1, maximum=SHOTS_MAX, doc="Measurements; 1024 if left out."),
        Field(name="seed", types=(INTEGER,), minimum=0, doc="The same seed gives the same counts."),
        Field(
            name="backend",
            doc="single or double, the precision of the simulator. If left out, the playbook's "
            "executor.spec.policy.placement.quantum.backend is followed as far as possible, else double.",
        ),
    ),
    result="the counts of what was measured, and the probabilities of the likeliest outcomes",
    helper="quantum",
    helper_fields=("backend", "qubits", "shots", "depth"),
    error_kinds={
        "quantum.circuit": "the circuit cannot be read, or is larger than the simulator takes",
        "quantum.backend": "the task asks for a backend that there is not",
    },
)


def make(hands: Hands) -> Tool:
    from noetl_quantum.tool import QuantumTool

    return QuantumTool(hands)
