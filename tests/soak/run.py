"""Soak a deployment for as long as one likes. python -m tests.soak.run --deployment NAME --minutes N [--seed S]

Processes are killed and paused and services taken away while executions of every shape are asked for; then an
independent checker reads what is on record. Prints one line of figures; the exit code is 1 if a promise was broken, and
then the folder with the evidence stays and is named. The seed repeats the order of the faults, not their effects.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.soak import clusters, embedded
from tests.soak.figures import ROOT, Figures

SOAKS: dict[str, Callable[[Path, float, int], Figures]] = {"cluster": clusters.soak, "embedded": embedded.soak}
BOTH = "both"
SECONDS_PER_MINUTE = 60.0


def soak(deployment: str, minutes: float, seed: int) -> int:
    """Soak one deployment; the exit code."""
    folder = Path(tempfile.mkdtemp(prefix=f"noetl-soak-{deployment}-"))
    folder.chmod(0o755)  # tools may run as another user, and write to the ledger in it
    try:
        figures = SOAKS[deployment](folder / "world", minutes * SECONDS_PER_MINUTE, seed)
    except BaseException:
        print(f"soak {deployment}: it could not go on, seed {seed}; evidence in {folder}", file=sys.stderr)
        raise
    print(figures.line(), flush=True)
    if not figures.faults:
        shutil.rmtree(folder)
        return 0
    (folder / "reports.json").write_text(json.dumps(figures.reports, indent=1), encoding="utf-8")
    print(*figures.faults, f"evidence in {folder}", sep="\n", file=sys.stderr)
    return 1


def soak_both(minutes: float, seed: int) -> int:
    """Both at once, each in a process of its own; the exit code is the worse one."""
    words = [sys.executable, "-m", "tests.soak.run", "--minutes", str(minutes), "--seed", str(seed), "--deployment"]
    processes = [subprocess.Popen([*words, deployment], cwd=ROOT) for deployment in SOAKS]
    return max(process.wait() for process in processes)


def main() -> int:
    parser = argparse.ArgumentParser(description="Disturb a deployment and check that it kept its word.")
    parser.add_argument("--deployment", choices=(*SOAKS, BOTH), default=BOTH)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 2**31))
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing of it stays behind
    if chosen.deployment == BOTH:
        return soak_both(chosen.minutes, chosen.seed)
    return soak(chosen.deployment, chosen.minutes, chosen.seed)


if __name__ == "__main__":
    sys.exit(main())
