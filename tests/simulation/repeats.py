"""Same seed, same run: some seeds are run twice, in processes that order their sets differently, and their whole traces
must have the same hash."""

import os
import subprocess
import sys
from itertools import islice

from noetl.testing.simulator.case import SEEDS_PER_BASE, SHAPES, Case
from noetl.testing.simulator.runs import run

HASH_SEEDS = ("0", "random")
STRIDE = 37  # so that small and large worlds are among them


def differing(base: int, count: int, jobs: int) -> list[str]:
    """Of so many seeds, those whose two runs differ."""
    words = [sys.executable, "-m", "tests.simulation.repeats", str(base), str(count)]
    begun = []
    for hash_seed in HASH_SEEDS:
        environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
        begun.append(subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True))
    first, second = (process.communicate()[0].splitlines() for process in begun)
    if any(process.returncode for process in begun) or len(first) != count or len(second) != count:
        return ["the runs that were to repeat did not end"]
    print(f"{count} seeds run twice, under other orders of sets: {sum(map(str.__ne__, first, second))} differ")
    return [f"does not repeat: {one} / {other}" for one, other in zip(first, second, strict=True) if one != other]


def cases(base: int):
    number = 0
    while True:
        yield Case(seed=base * SEEDS_PER_BASE + number * STRIDE, shape=SHAPES[number % len(SHAPES)])
        number += 1


if __name__ == "__main__":
    for case in islice(cases(int(sys.argv[1])), int(sys.argv[2])):
        verdict = run(case, is_traced=True)
        print(case.shape, case.seed, verdict.trace_hash, verdict.turns, flush=True)
