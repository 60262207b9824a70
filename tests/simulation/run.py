"""Run many seeds and say what came of them: `make sim`, and a share of it in `make test`.

    python -m tests.simulation.run --seeds 5000 --pairs 50 --mutants --images 1000

Fresh seeds follow from the commit, so that every commit is tried with others. Beside drawn worlds there are some that
are led into a corner (`directed.py`), and scenes for moves that are too rare for any number of seeds to be sure of
(`rare.py`). Prints one table and a line of figures; ends with 1 if anything was violated, a mutant was not caught, a
run did not repeat, or something never happened at all.
"""

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import msgspec

from noetl.testing.simulator.case import SEEDS_PER_BASE, SHAPES, Case
from noetl.testing.simulator.command import described
from noetl.testing.simulator.coverage import Coverage
from noetl.testing.simulator.runs import run
from noetl.testing.simulator.world import EXPECTED
from tests.simulation import directed, mutants, rare, repeats
from tests.simulation.fleet import Failure, flown

SHOWN_MAX = 10


def main(words: list[str] | None = None) -> int:
    given = parsed(words)
    begun = time.monotonic()
    base = given.base if given.base is not None else base_of(commit())
    print(f"seeds {base * SEEDS_PER_BASE} and on, of commit {commit()[:12]}", flush=True)
    faults = [*swept(given, base)]
    if given.pairs:
        faults += repeats.differing(base, given.pairs, given.jobs)
    if given.mutants:
        faults += mutants.missed(base if given.mutants_base is None else given.mutants_base, given.jobs)
    if given.images:
        faults += images(base, given.images, given.jobs)
    for fault in faults[:SHOWN_MAX]:
        print(fault)
    print(f"{'failed' if faults else 'passed'} in {time.monotonic() - begun:.0f} s")
    return 1 if faults else 0


def swept(given: argparse.Namespace, base: int) -> Iterator[str]:
    """Fresh seeds of both shapes, and the scenes."""
    begun = time.monotonic()
    tally = flown(chain(cases(base, given.seeds), directed.cases(base, given.seeds)), given.jobs)
    seconds = time.monotonic() - begun
    coverage = Coverage(EXPECTED)
    coverage.add(tally.coverage)
    for move in rare.SCENES:
        coverage.add(rare.met(move))
    print(coverage.table())
    shapes = ", ".join(f"{count} {shape}" for shape, count in sorted(tally.seeds.items()))
    print(
        f"{shapes}: {tally.faults:,} faults, {tally.commits:,} commits, {tally.events:,} events, "
        f"{tally.seconds / 3600:,.0f} virtual hours, {len(tally.failures)} violations, in {seconds:.0f} s",
        flush=True,
    )
    yield from map(told, tally.failures[:SHOWN_MAX])
    yield from (f"violated {failure.invariant}: seed {failure.case.seed}" for failure in tally.failures[SHOWN_MAX:])
    if tally.faults < given.faults_min:
        yield f"only {tally.faults:,} faults struck, and {given.faults_min:,} are promised"
    if given.seeds >= given.covered_from:
        yield from (f"never happened: {name}" for name in coverage.zeros())


def images(base: int, count: int, jobs: int) -> list[str]:
    """Crash images of SQLite, each process with its share; those of them that showed a fault."""
    script = str(Path(__file__).with_name("run_crash_images.py"))
    share = -(-count // jobs)
    begun = [
        subprocess.Popen([sys.executable, script, "--images", str(share), "--seed", str(base + number * share)])
        for number in range(jobs)
    ]
    return ["crash images showed a fault" for process in begun if process.wait()]


def cases(base: int, count: int) -> Iterator[Case]:
    for number in range(count):
        for shape in SHAPES:
            yield Case(seed=base * SEEDS_PER_BASE + number, shape=shape)


def told(failure: Failure) -> str:
    """All that is known of a violation: its world is run once more for that."""
    case, verdict = failure.case, run(failure.case)
    words = [f"noetl-sim --seed {case.seed} --shape {case.shape} --trace", *overridden(case)]
    if verdict.violation is None:
        return f"violated {failure.invariant}, but not again: {case.shape}, seed {case.seed}: {failure.message}"
    return f"violated {described(verdict, ' '.join(words))}"


def overridden(case: Case) -> list[str]:
    """How the command is told what of a configuration was not drawn."""
    return [f"--with {shlex.quote(msgspec.json.encode(case.overrides).decode())}"] if case.overrides else []


def commit() -> str:
    """The commit of this tree; where there is no git, none."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "0"


def base_of(commit_hash: str) -> int:
    return int(commit_hash[:8], 16)


def parsed(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5000, help="fresh seeds of each shape")
    parser.add_argument("--base", type=int, help="instead of the one that follows from the commit")
    parser.add_argument("--pairs", type=int, default=0, help="seeds that are run twice, and must repeat")
    parser.add_argument("--mutants", action="store_true", help="planted faults, each of which must be caught")
    parser.add_argument("--mutants-base", type=int, help="of their seeds, where it is to be another one")
    parser.add_argument("--images", type=int, default=0, help="crash images of SQLite")
    parser.add_argument("--faults-min", type=int, default=0, help="so many must strike, all seeds together")
    parser.add_argument("--covered-from", type=int, default=1000, help="so many seeds must have seen everything")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="processes")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
