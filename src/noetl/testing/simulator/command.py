"""noetl-sim: run worlds by their seeds, and say all that is known of one that fails.

    noetl-sim --seed 7                    one seed
    noetl-sim --seed 7 --count 500        and those that follow, until one fails
    noetl-sim --seed 7 --trace            with everything that happened
    noetl-sim --seed 7 --shrink           and, if it fails, the smallest case that still does
    noetl-sim --seed 7 --with JSON        with some of its configuration chosen, not drawn
    noetl-sim --seed 7 --mutant NAME      with a fault planted in the product
    noetl-sim --case FILE                 a case that was kept

The exit code is 1 if something did not hold that must.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.clock import SystemClock
from noetl.testing.simulator import regressions
from noetl.testing.simulator.case import CLUSTER, SHAPES, Case, Configuration, Verdict
from noetl.testing.simulator.regressions import Regression
from noetl.testing.simulator.runs import run
from noetl.testing.simulator.shrink import NotRepeated, shrunk

if (
    TYPE_CHECKING
):  # they change the product when they are planted: nothing of them is near a run that did not ask for one
    from noetl.testing.simulator.mutants.planting import Mutant

LINES_SHOWN = 30


def main(words: Sequence[str] | None = None) -> int:
    """Run what the words ask for; the exit code."""
    asked = parser().parse_args(words)
    with planting(asked.mutant) as mutant:
        return ran(asked, mutant)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="noetl-sim", description="Run simulated worlds by their seeds.")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--count", type=int, default=1, help="how many seeds, from that one on")
    made.add_argument("--shape", choices=SHAPES, help="cluster, unless a mutant does no harm there")
    made.add_argument("--case", type=Path, metavar="FILE", help="a kept case instead of a seed")
    made.add_argument("--trace", action="store_true", help="print everything that happened")
    made.add_argument("--shrink", action="store_true", help="look for the smallest case that fails, and keep it")
    made.add_argument("--with", dest="chosen", type=chosen, default={}, metavar="JSON", help="of the configuration")
    made.add_argument("--mutant", metavar="NAME", help="plant this fault in the product first")
    return made


def chosen(text: str) -> dict[str, Any]:
    """Fields of a configuration. Raises ValueError."""
    found = msgspec.json.decode(text.encode(), type=dict[str, Any])
    msgspec.convert(found, Configuration)
    if unknown := [name for name in found if name not in Configuration.__struct_fields__]:
        raise ValueError(f"a configuration has no {', '.join(unknown)}")
    return found


def planting(name: str | None) -> AbstractContextManager[Mutant | None]:
    if name is None:
        return nullcontext()
    from noetl.testing.simulator.mutants import MUTANTS, planted

    if name not in MUTANTS:
        parser().error(f"there is no mutant {name!r}; there are {', '.join(MUTANTS)}")
    return planted(name)


def ran(asked: argparse.Namespace, mutant: Mutant | None) -> int:
    faults = events = seeds = 0
    for case in cases(asked, mutant):
        verdict = run(case, is_traced=asked.trace)
        seeds, faults, events = seeds + 1, faults + verdict.faults, events + verdict.events
        if asked.trace:
            print(*verdict.trace, sep="\n")
        if verdict.violation is not None:
            tell(verdict, asked)
            return 1
    print(f"{seeds} seeds, {faults} faults, {events} events: nothing is broken")
    return 0


def cases(asked: argparse.Namespace, mutant: Mutant | None) -> Iterator[Case]:
    """A mutant's worlds are those in which it does harm, as where it is hunted."""
    if asked.case is not None:
        yield regressions.read(asked.case).case
        return
    shape = asked.shape or (mutant.shapes[0] if mutant else CLUSTER)
    for seed in range(asked.seed, asked.seed + asked.count):
        yield Case(seed=seed, shape=shape, overrides={**(mutant.overrides if mutant else {}), **asked.chosen})


def tell(verdict: Verdict, asked: argparse.Namespace) -> None:
    """All that is known of a failure, and what to do next."""
    if not asked.shrink:
        print(described(verdict, repeating(verdict.case, asked)))
        return
    try:
        found = shrunk(verdict, run, SystemClock())
    except NotRepeated as fault:
        print(described(verdict, repeating(verdict.case, asked)), fault, sep="\n")
        return
    smallest = found.verdict
    print(described(smallest, repeating(smallest.case, asked)))
    extent = "nothing smaller was found" if found.is_least else "there was no time to look further"
    print(f"{len(verdict.strikes)} faults were made {len(smallest.strikes)} in {found.runs} runs; {extent}")
    if not asked.mutant and smallest.violation is not None:
        invariant = smallest.violation.invariant
        file = regressions.written(Regression(invariant=invariant, why=regressions.UNEXPLAINED, case=smallest.case))
        print(f"kept as {file}: noetl-sim --case {file} --trace")


def described(verdict: Verdict, command: str) -> str:
    """What broke, where it was, and what happened before."""
    case, trace = verdict.case, run(verdict.case, is_traced=True).trace
    lines = [
        str(verdict.violation),
        f"seed {case.seed}, {case.shape}, commit {commit()}",
        f"configuration {msgspec.json.encode(verdict.configuration).decode()}",
        f"after {verdict.seconds:.1f} s; commits: {verdict.commits}, faults: {verdict.faults}",
        *(f"    {kind} {count}" for kind, count in sorted(verdict.counts.items())),
        f"the last {min(LINES_SHOWN, len(trace))} of {len(trace)} things that happened:",
        *trace[-LINES_SHOWN:],
        f"again: {command}",
    ]
    return "\n".join(lines)


def repeating(case: Case, asked: argparse.Namespace) -> str:
    """The command that runs this case again; of a smaller one, the command that finds it again."""
    words = ["noetl-sim", "--case", str(asked.case)] if asked.case else ["noetl-sim", "--seed", str(case.seed)]
    if not asked.case and (asked.mutant or case.shape != CLUSTER):
        words += ["--shape", case.shape]
    if asked.chosen:
        words += ["--with", shlex.quote(msgspec.json.encode(asked.chosen).decode())]
    if asked.mutant:
        words += ["--mutant", asked.mutant]
    is_smaller = asked.shrink and case.only is not None
    return " ".join((*words, "--shrink" if is_smaller else "--trace"))


def commit() -> str:
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        found = subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return found.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
