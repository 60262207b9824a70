"""Kill many runs, many times. python tests/crash/run.py [--rounds N] [--seed S]

Prints one line per round and a table at the end; the exit code is 1 if a promise was broken. A line names its seed:
`--rounds 1 --seed THAT` plays it again, though a kill falls where the machine's pace lets it.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from tests.crash.rounds import Cost, Outcome, play, undisturbed

BANDS = ((0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.01))


def line_of(outcome: Outcome) -> str:
    kills = "  ".join(
        f"{cost.moment:.2f}: {cost.events} events, {cost.jobs} jobs, {cost.repeats}/{cost.repeats_max} repeated"
        for cost in outcome.costs
    )
    return f"round {outcome.seed:4}  {'FAILED' if outcome.faults else 'ok'}  {kills or 'no kill: it was faster'}"


def table_of(outcomes: list[Outcome]) -> str:
    costs = [cost for outcome in outcomes for cost in outcome.costs]
    rows = [f"{'moment':12}{'kills':>7}{'jobs':>7}{'repeats':>9}{'expected at most':>18}{'worst':>7}"]
    for low, high in BANDS:
        rows.append(row_of(f"{low:.2f}–{min(high, 1.0):.2f}", [cost for cost in costs if low <= cost.moment < high]))
    rows.append(row_of("all", costs))
    failed = sum(bool(outcome.faults) for outcome in outcomes)
    return "\n".join([*rows, f"{len(outcomes)} rounds, {failed} failed"])


def row_of(name: str, costs: list[Cost]) -> str:
    jobs, repeats, most = (
        (sum(values) for values in zip(*(cost[2:] for cost in costs), strict=True)) if costs else "000"
    )
    worst = max((cost.repeats for cost in costs), default=0)
    return f"{name:12}{len(costs):7}{jobs:>7}{repeats:>9}{most:>18}{worst:>7}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill runs at random moments and see what is left of them.")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1000, help="of the first round")
    chosen = parser.parse_args()
    outcomes = []
    with tempfile.TemporaryDirectory() as place:
        model = undisturbed(Path(place) / "undisturbed")
        for seed in range(chosen.seed, chosen.seed + chosen.rounds):
            outcomes.append(play(seed, Path(place) / str(seed), model))
            print(line_of(outcomes[-1]), *outcomes[-1].faults, sep="\n      ", flush=True)
    print(table_of(outcomes))
    return 1 if any(outcome.faults for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
