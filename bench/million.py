"""W7: a loop of a million no-ops in one process: does its rate hold, does memory stay, how fast is its log read?"""

from __future__ import annotations

from collections.abc import Iterator

from bench import workloads
from bench.child import Errand, Round, one_round
from bench.engine import IN_FLIGHT, ITERATIONS
from bench.measure import Rounds, repeated
from bench.report import Figure
from bench.targets import growth_name

MILLION = 1_000_000


def figures(_rounds: int, iterations: int = MILLION) -> Iterator[Figure]:
    """One round, whatever is asked for: it has ten parts of its own."""
    errand = Errand(
        text=workloads.loop(iterations, IN_FLIGHT),
        warm_up_text=workloads.loop(ITERATIONS, IN_FLIGHT),
        is_verified=True,
    )
    taken = repeated(lambda: one_round(errand), 1)
    name = f"loop of {iterations:,} no-ops, {IN_FLIGHT} in flight"
    yield taken.figure(
        "W7",
        name,
        "/s",
        lambda one: iterations / one.seconds,
        beside=f"a loop of {ITERATIONS:,}, before it in the same process",
        beside_value=lambda one: ITERATIONS / one.warm_up_seconds,
        cpu_ms_per_item=taken.found[0].cpu_seconds / iterations * 1000,
        peak_mebibytes=taken.found[0].peak_mebibytes,
    )
    yield from parts(taken, iterations)


def parts(taken: Rounds[Round], iterations: int) -> Iterator[Figure]:
    (one,) = taken.found
    rates = [iterations / len(one.tenths) / seconds for seconds in one.tenths]
    for number, rate in enumerate(rates, 1):
        title = f"of that, up to {iterations * number // len(rates):,}"
        first = rates[0]
        name = "W7 end" if number == len(rates) else f"W7 tenth {number}"
        yield taken.figure(
            name,
            title,
            "/s",
            lambda _, rate=rate: rate,
            beside="its first tenth",
            beside_value=lambda _, first=first: first,
        )
    yield taken.figure("W7 memory", "growth of memory over the run", "MiB", lambda one: one.grown_mebibytes)
    yield taken.figure("W7 replay", "folding its log: events", "/s", lambda one: one.events / one.replay_seconds)
    yield taken.figure("W7 verify", "verifying its log: events", "/s", lambda one: one.events / one.verify_seconds)
    yield taken.figure(
        growth_name("iterations", MILLION),
        f"per task, of {iterations:,} iterations",
        "ms",
        lambda one: one.seconds / iterations * 1000,
        beside=f"of {ITERATIONS:,}",
        beside_value=lambda one: one.warm_up_seconds / ITERATIONS * 1000,
    )
