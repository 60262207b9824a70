"""How cost grows: what one task costs beside many iterations, live executions, steps, and much ctx.

Every figure is the cost of a task at one size, beside that at the smallest; flat is what is wanted. A chain is timed
from the end of its first step to the end of its last, so that starting and ending an execution counts at no size.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from bench import workloads
from bench.child import Errand, Round, child
from bench.engine import IN_FLIGHT
from bench.measure import repeated
from bench.report import Figure
from bench.targets import GROWTH_SIZES, growth_name

ITERATIONS = 2_000
STEPS = 100
ROUNDS_OF_100_000 = 2  # each of them is long, and even out what disturbs
WARM_UP = workloads.loop(200, IN_FLIGHT)


class Size(NamedTuple):
    """One size: what is run, how many tasks a round of it has, and seconds of one of them."""

    errand: Errand
    tasks: int
    cost: Callable[[Round], float]


def figures(rounds: int) -> Iterator[Figure]:
    for what, size_of in SIZES.items():
        smallest: Figure | None = None
        for size in GROWTH_SIZES[what]:
            found = measured(growth_name(what, size), size_of(size), fewer(rounds, what, size))
            smallest = smallest or found
            beside = [smallest.median] * len(found.rounds)
            title = f"per task, {size:,} {what}"
            yield msgspec.structs.replace(
                found, title=title, beside=f"{GROWTH_SIZES[what][0]:,} {what}", beside_rounds=beside
            )


def fewer(rounds: int, what: str, size: int) -> int:
    return min(rounds, ROUNDS_OF_100_000) if what == "iterations" and size >= 100_000 else rounds


def measured(name: str, size: Size, rounds: int) -> Figure:
    """All rounds in one process: what is to live beside a task is made once."""
    with child(size.errand) as made:
        taken = repeated(made.round, rounds)
    return taken.figure(
        name,
        "",
        "ms",
        lambda one: size.cost(one) * 1000,
        cpu_ms_per_item=statistics.median(one.cpu_seconds for one in taken.found) / size.tasks * 1000,
        peak_mebibytes=max(one.peak_mebibytes for one in taken.found),
    )


def of_iterations(count: int) -> Size:
    errand = Errand(text=workloads.loop(count, IN_FLIGHT), warm_up_text=WARM_UP)
    return Size(errand, count, lambda one: one.seconds / count)


def of_live_executions(count: int) -> Size:
    errand = Errand(
        text=workloads.loop(ITERATIONS, IN_FLIGHT),
        warm_up_text=WARM_UP,
        waiting_text=workloads.WAITING,
        waiting=count,
    )
    return Size(errand, ITERATIONS, lambda one: one.seconds / ITERATIONS)


def of_steps(count: int) -> Size:
    times = max(GROWTH_SIZES["steps"]) // count  # so that every size is timed over as many steps
    errand = Errand(text=workloads.chain(count), warm_up_text=WARM_UP, steps=count, times=times)
    return Size(errand, count * times, lambda one: one.steps_seconds / times / (count - 1))


def of_ctx_beside_steps(kibibytes: int) -> Size:
    errand = Errand(text=workloads.chain_beside_ctx(STEPS, kibibytes), warm_up_text=WARM_UP, steps=STEPS)
    return Size(errand, STEPS, lambda one: one.steps_seconds / (STEPS - 1))


def of_ctx_beside_iterations(kibibytes: int) -> Size:
    errand = Errand(text=workloads.loop_beside_ctx(ITERATIONS, IN_FLIGHT, kibibytes), warm_up_text=WARM_UP)
    return Size(errand, ITERATIONS, lambda one: one.seconds / ITERATIONS)


SIZES: dict[str, Callable[[int], Size]] = {
    "iterations": of_iterations,
    "live executions": of_live_executions,
    "steps": of_steps,
    "KiB of ctx, steps": of_ctx_beside_steps,
    "KiB of ctx, iterations": of_ctx_beside_iterations,
}
