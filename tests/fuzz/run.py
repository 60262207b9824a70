"""Throw inputs at the front end: read → check → normalise, and print. python tests/fuzz/run.py [--inputs N] [--seed S]

`--target bodies`, or another of `targets.py`, throws them at that one instead. An exception, an answer over one second,
or more than 200 MiB is a failure: its seed and number are printed, its bytes are kept beside this file, and the exit
code is 1.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
import traceback
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from noetl.dsl.check import check
from noetl.dsl.findings import apply_edits, as_text
from noetl.dsl.normalize import normalize
from noetl.tools.registry import declarations
from tests.fuzz.inputs import make_input
from tests.fuzz.targets import TARGETS, input_of

SECONDS_MAX = 1.0
MEMORY_MIB_MAX = 200
CHUNK = 500


class Share(NamedTuple):
    """What came of a range of inputs."""

    inputs: int
    valid: int
    findings: int
    slowest_seconds: float
    memory_mib: float
    failures: list[str]


def run_one(data: bytes, flags: dict[str, bool]) -> tuple[int, bool]:
    """The whole way of one input, the printing and the repairs included."""
    result = check(data, "fuzz.yaml", declarations, **flags)
    for finding in result.findings:
        as_text(finding, result.source)
    apply_edits(result.source.text, result.findings)
    if result.is_valid:
        for draft in result.drafts:
            normalize(draft)
    return len(result.findings), result.is_valid and bool(result.drafts)


def run_share(seed: int, first: int, last: int) -> Share:
    """Inputs from first to last of a seed."""
    valid = findings = 0
    slowest = 0.0
    failures: list[str] = []
    for number in range(first, last):
        data, flags = make_input(seed, number)
        start = time.perf_counter()
        try:
            count, is_valid = run_one(data, flags)
        except Exception:
            failures.append(failed(seed, number, data, traceback.format_exc()))
            continue
        seconds = time.perf_counter() - start
        slowest = max(slowest, seconds)
        valid, findings = valid + is_valid, findings + count
        if seconds > SECONDS_MAX:
            failures.append(failed(seed, number, data, f"took {seconds:.2f} s"))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if memory > MEMORY_MIB_MAX:
        failures.append(f"seed {seed}, inputs {first} to {last}: {memory:.0f} MiB")
    return Share(last - first, valid, findings, slowest, memory, failures)


def failed(seed: int, number: int, data: bytes, what: str, ending: str = "yaml") -> str:
    kept = Path(__file__).parent / "failures"
    kept.mkdir(exist_ok=True)
    (kept / f"{seed}-{number}.{ending}").write_bytes(data)
    return f"seed {seed}, input {number}: {what}"


def run_target_share(name: str, seed: int, first: int, last: int) -> Share:
    """Inputs from first to last of a seed, for one of the targets."""
    slowest = 0.0
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder, TARGETS[name](Path(folder)) as target:
        for number in range(first, last):
            data = input_of(target, seed, number)
            start = time.perf_counter()
            try:
                target.attempt(data)
            except Exception:
                failures.append(failed(seed, number, data, traceback.format_exc(), f"{name}.json"))
            slowest = max(slowest, time.perf_counter() - start)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Share(last - first, last - first - len(failures), 0, slowest, memory, failures)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--target", choices=("playbooks", *TARGETS), default="playbooks")
    arguments = parser.parse_args()
    ranges = [
        (arguments.seed, first, min(first + CHUNK, arguments.inputs)) for first in range(0, arguments.inputs, CHUNK)
    ]
    start = time.perf_counter()
    with Pool(arguments.jobs) as pool:
        if arguments.target == "playbooks":
            shares = pool.starmap(run_share, ranges)
        else:
            shares = pool.starmap(run_target_share, [(arguments.target, *one) for one in ranges])
    failures = [failure for share in shares for failure in share.failures]
    print(*failures[:20], sep="\n")
    took = f"{time.perf_counter() - start:.0f} s"
    print(f"{arguments.target}, seed {arguments.seed}, {took}: {summary(shares)}, {len(failures)} failures")
    return 1 if failures else 0


def summary(shares: list[Share]) -> str:
    sums = [sum(share[column] for share in shares) for column in range(3)]
    slowest, memory = max(share.slowest_seconds for share in shares), max(share.memory_mib for share in shares)
    return f"{sums[0]:,} inputs, {sums[1]:,} valid, {sums[2]:,} findings, slowest {slowest:.3f} s, {memory:.0f} MiB"


if __name__ == "__main__":
    sys.exit(main())
