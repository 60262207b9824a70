"""python rounds.py MODULE WORKLOAD: run one workload on one peer, by that peer's own interpreter.

In comes a module of this folder, a workload, its size and how many rounds; out goes one line of JSON for each round
(seconds, and how many cores others used meanwhile), after WORD, because peers write to standard output too. A round
that others disturbed is run again, three times as many at most, as `bench.measure` does it; a single one is a trial.
It needs the standard library only, never our package.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from services import Job

WORD = "ROUND "
DISTURBED_CORES = 0.25
ROUNDS_FACTOR_MAX = 3
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
IDLE = slice(3, 5)  # of the fields of /proc/stat: idle, and idle while a disk works
OWN_TICKS = slice(11, 15)  # of a process's stat, after its name: user and system, its own and of children waited for
PARENT = 1


def main() -> int:
    arguments = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    threading.Thread(target=end_with_starter, daemon=True).start()
    workload = importlib.import_module(arguments.module).WORKLOADS[arguments.workload]
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        job = Job(arguments.count, arguments.in_flight, Path(folder), arguments.url)
        with workload(job) as once:
            run_rounds(once, arguments.rounds)
    return 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rounds")
    parser.add_argument("module")
    parser.add_argument("workload")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--in-flight", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--url", default="", help="what W5 asks")
    return parser.parse_args()


def end_with_starter() -> None:
    """Standard input ends with whoever started us, even if it was killed."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def run_rounds(once: Callable[[], None], rounds: int) -> None:
    undisturbed = 0
    for _ in range(1 if rounds == 1 else rounds * ROUNDS_FACTOR_MAX):
        busy, own, began = busy_seconds(), tree_seconds(), time.perf_counter()
        once()
        seconds = time.perf_counter() - began
        foreign_cores = max(0.0, (busy_seconds() - busy) - (tree_seconds() - own)) / seconds
        print(WORD + json.dumps({"seconds": seconds, "foreign_cores": foreign_cores}), flush=True)
        undisturbed += foreign_cores <= DISTURBED_CORES
        if undisturbed >= rounds:
            return


def busy_seconds() -> float:
    """CPU time that the whole machine has used so far; 0 where the system does not tell."""
    try:
        line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return 0.0
    ticks = [int(field) for field in line.split()[1:9]]
    return (sum(ticks) - sum(ticks[IDLE])) / TICKS_PER_SECOND


def tree_seconds() -> float:
    """CPU time that this process and everything below it has used so far."""
    fields = process_fields()
    ticks = 0
    for pid in descendants(os.getpid(), {pid: int(found[PARENT]) for pid, found in fields.items()}):
        ticks += sum(int(field) for field in fields.get(pid, ())[OWN_TICKS])
    return ticks / TICKS_PER_SECOND


def process_fields() -> dict[int, list[str]]:
    """What /proc says of each process, from its state on."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found[int(folder.name)] = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
    return found


def descendants(root: int, parents: dict[int, int]) -> set[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found, rest = set(), [root]
    while rest:
        pid = rest.pop()
        found.add(pid)
        rest += children.get(pid, ())
    return found


if __name__ == "__main__":
    sys.exit(main())
