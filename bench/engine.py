"""The embedded engine: W1, W2, W3, each round in a new process and a new home; their memory and bytes on disk."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from bench import limits, workloads
from bench.child import Errand, one_round
from bench.machine import peak_in
from bench.measure import Rounds, repeated
from bench.pairs import Pair, costs, rate
from bench.report import Figure
from bench.spawning import environment

STEPS = 200
ITERATIONS, IN_FLIGHT = 2_000, 100
WORKFLOWS, STEPS_EACH = 500, 3
ROWS_PER_COMMIT = 100  # of the yardstick of what can be batched
ROWS_ALONE = f"SQLite alone, as many rows, {ROWS_PER_COMMIT} a commit"
OWN_STATUS = [sys.executable, "-c", "import sys; sys.stdout.write(open('/proc/self/status').read())"]


def figures(
    rounds: int, *, steps: int = STEPS, iterations: int = ITERATIONS, workflows: int = WORKFLOWS
) -> Iterator[Figure]:
    """Every figure of the embedded engine."""
    one = chain(rounds, steps)
    yield one.figure(
        "W1",
        f"chain of {steps} no-op steps",
        "ms/step",
        lambda pair: pair.ours.seconds / steps * 1000,
        beside="1 SQLite commit of 1 row a step",
        beside_value=lambda pair: pair.bare_seconds / steps * 1000,
        **costs(one, steps),
    )
    two = loop(rounds, iterations)
    yield rate("W2", f"loop of {iterations:,} no-ops, {IN_FLIGHT} in flight", two, iterations, ROWS_ALONE)
    three = many(rounds, workflows)
    yield rate("W3", f"{workflows} workflows of {STEPS_EACH} steps at once", three, workflows, ROWS_ALONE)
    yield from memory({"W1": one, "W2": two, "W3": three})
    yield disk("disk W1", "bytes on disk per step of W1", one, steps)
    yield disk("disk W2", "bytes on disk per no-op task of W2", two, iterations)


def chain(rounds: int, steps: int) -> Rounds[Pair]:
    """A step must be on disk before the next one begins: one commit of one row is the least."""
    errand = Errand(text=workloads.chain(steps), warm_up_text=workloads.chain(5))
    return repeated(lambda: Pair(one_round(errand), limits.sqlite(steps, 1)), rounds)


def loop(rounds: int, iterations: int) -> Rounds[Pair]:
    return beside_rows(Errand(text=workloads.loop(iterations, IN_FLIGHT), warm_up_text=workloads.loop(50, 10)), rounds)


def many(rounds: int, workflows: int) -> Rounds[Pair]:
    text = workloads.chain(STEPS_EACH)
    return beside_rows(Errand(text=text, warm_up_text=text, executions=workflows), rounds)


def beside_rows(errand: Errand, rounds: int) -> Rounds[Pair]:
    """Beside as many rows as it has events."""

    def once() -> Pair:
        ours = one_round(errand)
        return Pair(ours, limits.sqlite(ours.events, ROWS_PER_COMMIT))

    return repeated(once, rounds)


def memory(rounds: dict[str, Rounds[Pair]]) -> Iterator[Figure]:
    bare = bare_interpreter_mebibytes()
    for name, taken in rounds.items():
        yield taken.figure(
            f"memory {name}",
            f"peak of the process of {name}",
            "MiB",
            lambda pair: pair.ours.peak_mebibytes,
            beside="a bare interpreter",
            beside_value=lambda _: bare,
        )


def bare_interpreter_mebibytes() -> float:
    """0 where there is no /proc."""
    done = subprocess.run(OWN_STATUS, env=environment(), capture_output=True, text=True, check=False)
    return peak_in(done.stdout)


def disk(name: str, title: str, rounds: Rounds[Pair], count: int) -> Figure:
    return rounds.figure(name, title, "B", lambda pair: pair.ours.disk_bytes / count)
