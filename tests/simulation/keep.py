"""Find a small case for each fault that was fixed, and keep it: when worlds have changed, and the old ones are others.

python -m tests.simulation.keep NAME…
"""

import sys

import msgspec

from noetl.clock import SystemClock
from noetl.testing.simulator.case import Case, Verdict
from noetl.testing.simulator.mutants import MUTANTS, planted
from noetl.testing.simulator.regressions import FOLDER, Regression, read, written
from noetl.testing.simulator.runs import run
from noetl.testing.simulator.shrink import shrunk
from tests.simulation.mutants import cases

BASE = 21
SEEDS_MAX = 2_000


def keep(name: str) -> str:
    """What is kept of one mutant, in words."""
    found = next((case for case in cases(MUTANTS[name], BASE, SEEDS_MAX) if fails(name, case).violation), None)
    return f"{name}: not met in {SEEDS_MAX} seeds" if found is None else kept(name, found)


def kept(name: str, case: Case) -> str:
    found = fails(name, settled(name, case))
    verdict = shrunk(found, lambda tried: fails(name, tried), SystemClock()).verdict
    before = FOLDER / f"{name}.json"
    why = read(before).why if before.exists() else MUTANTS[name].meaning
    file = written(Regression(invariant=verdict.violation.invariant, why=why, case=verdict.case, mutant=name))
    return f"{file}: {len(verdict.strikes)} faults, {verdict.commits} commits, {verdict.violation}"


def settled(name: str, case: Case) -> Case:
    """The same with all that its seed drew of a configuration: other odds of drawing it make no other case of it."""
    return msgspec.structs.replace(case, overrides=msgspec.to_builtins(fails(name, case).configuration))


def fails(name: str, case: Case) -> Verdict:
    """What comes of a case with that fault planted; if it breaks as it should, only because of that."""
    with planted(name):
        verdict = run(case)
    if verdict.violation is None:
        return verdict
    is_caught = verdict.violation.invariant in MUTANTS[name].caught_by
    plain = run(case)
    if is_caught and plain.violation is None:
        return verdict
    plain.violation = None
    return plain


if __name__ == "__main__":
    for asked in sys.argv[1:]:
        print(keep(asked), flush=True)
