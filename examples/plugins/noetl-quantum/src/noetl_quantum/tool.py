"""kind: quantum at work: a call in, one Output out, whatever happens.

The simulator blocks, so it runs in a thread of its own, and the worker's event loop goes on meanwhile. As many run at
once as the operator gives processes. A call that is cancelled or over its time stops its thread before it ends.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from noetl.engine.output import Output, failure
from noetl.tools.contract import Call, Hands
from noetl_quantum import SHOTS_MAX
from noetl_quantum.backends import NoSuchBackend, choose_backend
from noetl_quantum.circuit import Circuit, CircuitFault, read_circuit
from noetl_quantum.simulator import Measured, simulate

SHOTS_DEFAULT = 1_024
THREAD_NAME = "quantum"


class QuantumTool:
    """Runs the circuits of quantum tasks."""

    times_itself = True  # from when there is room for it, not while it waits

    def __init__(self, hands: Hands) -> None:
        self.slots = asyncio.Semaphore(hands.settings.process_slots)

    async def run(self, call: Call) -> Output:
        try:
            circuit = read_circuit(call.input.get("circuit"))
            backend = choose_backend(call.input.get("backend"), call.placement)
            shots = whole_number(call, "shots", SHOTS_DEFAULT, 1, SHOTS_MAX)
            seed = whole_number(call, "seed", None, 0, 2**63 - 1)
        except CircuitFault as fault:
            return failure("quantum.circuit", str(fault))
        except NoSuchBackend as fault:
            return failure("quantum.backend", str(fault))
        except ValueError as fault:
            return failure("type", str(fault))

        def work(stop: threading.Event) -> Measured:
            return simulate(circuit, precision=backend, shots=shots, seed=seed, is_stopped=stop.is_set)

        try:
            async with self.slots, asyncio.timeout(call.total_seconds):
                found = await in_thread(work)
        except TimeoutError:
            message = f"stopped: the circuit ran longer than {call.total_seconds:g} s (spec.timeout)"
            return failure("timeout", message, retryable=True, is_definite=False)
        return output_of(found, circuit, backend, shots)

    async def close(self) -> None:
        """Nothing is kept between calls."""


def output_of(found: Measured, circuit: Circuit, backend: str, shots: int) -> Output:
    helper = {"backend": backend, "qubits": circuit.qubits, "shots": shots, "depth": circuit.depth}
    data = {"counts": found.counts, "probabilities": found.probabilities}
    return Output(data=data, helpers={"quantum": helper})


def whole_number(call: Call, name: str, default: Any, least: int, most: int) -> Any:
    """A field that the checker has seen, unless a template made it. Raises ValueError."""
    value = call.input.get(name)
    if value is None:
        return default
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, but is {str(value)[:40]}")
    return value


async def in_thread(work: Callable[[threading.Event], Measured]) -> Measured:
    """Do blocking work beside the event loop; if this is cancelled, the work is told to stop and waited for."""
    stop = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix=THREAD_NAME) as thread:
        running = asyncio.get_running_loop().run_in_executor(thread, work, stop)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait({running})
            running.exception()  # Stopped, which nobody needs to hear of
            raise
