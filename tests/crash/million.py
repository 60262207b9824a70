"""Very long loops: how much memory they take, how fast they go, and whether their logs verify (LP-10).

python tests/crash/million.py [--count N] measures loops of N iterations beside short ones, prints a table, and leaves
with 1 if memory grew too much, a log is not in order, or an output is not the list that it should be.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

SHORT_COUNT = 1_000
GROWTH_MIB_MAX = 64
SEQUENTIAL_COUNT_MAX = 20_000  # one iteration after the other, each with a commit of its own
SECONDS_MAX = 3600
# Written at the end of the process, by itself: what its parent can ask for counts the parent's own memory too.
WATCHED = (
    "import atexit, sys; atexit.register(lambda: sys.stderr.write(open('/proc/self/status').read()));"
    "from noetl.cli.main import main; sys.exit(main())"
)
MODES = {
    "parallel, 100 in flight": "{mode: parallel, max_in_flight: 100}",
    "parallel": "{mode: parallel}",
    "sequential": "{mode: sequential}",
}
PLAYBOOK = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: long, path: tests/crash/long}
workload: {count: 0}
workflow:
  - step: each
    loop:
      in: "{{ range(workload.count) }}"
      iterator: number
      spec: SPEC
    tool: {kind: noop}
"""


class Measured(NamedTuple):
    """One loop, run and verified."""

    count: int
    seconds: float  # from its request to its end, as the log has it
    peak_mib: float  # of the process's own memory
    verify_peak_mib: float
    faults: list[str]

    @property
    def rate(self) -> float:
        return self.count / self.seconds


def measure(count: int, mode: str, folder: Path) -> Measured:
    """Run a loop of no-ops and verify its log."""
    folder.mkdir()
    playbook = folder / "long.yaml"
    playbook.write_text(PLAYBOOK.replace("SPEC", MODES[mode]))
    ran, peak = watched("run", str(playbook), "--set", f"count={count}", "--format", "json", home=folder / "home")
    summary = json.loads(ran.stdout)
    verified, verify_peak = watched("replay", summary["execution_id"], "--verify", home=folder / "home")
    faults = output_faults(count, summary)
    if verified.returncode:
        faults.append(f"replay --verify failed: {verified.stdout}")
    return Measured(count, summary["duration_ms"] / 1000, peak, verify_peak, faults)


def watched(*words: str, home: Path) -> tuple["subprocess.CompletedProcess[str]", float]:
    """Run a command; what it printed, and the most memory it had, in MiB."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *words],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        env={**os.environ, "NOETL_HOME": str(home)},
    )
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", done.stderr, re.MULTILINE)
    assert peak, done.stderr
    return done, int(peak[1]) / 1024


def output_faults(count: int, summary: dict) -> list[str]:
    """A long loop gives a reference to the list of what its iterations gave: here, nothing each."""
    output = summary["output"]
    faults = []
    if (summary["status"], output["loop"]["done"]) != ("success", count):
        faults.append(f"{summary['status']}, {output['loop']} of {count}")
    nulls = b"[" + b",".join([b"null"] * count) + b"]"
    if output["ref"] is None:
        return faults if output["data"] == [None] * count else [*faults, "the output is not the list of nulls"]
    meta = output["ref"]["meta"]
    if (meta["bytes"], meta["sha256"]) != (len(nulls), hashlib.sha256(nulls).hexdigest()):
        faults.append(f"the output refers to {meta}, which is not the list of {count} nulls")
    return faults


def line_of(mode: str, measured: Measured) -> str:
    return (
        f"{mode:24}{measured.count:>10}{measured.seconds:>9.1f} s{measured.rate:>9.0f}/s"
        f"{measured.peak_mib:>8.1f} MiB{measured.verify_peak_mib:>8.1f} MiB to verify"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure very long loops.")
    parser.add_argument("--count", type=int, default=1_000_000)
    count = parser.parse_args().count
    faults = []
    with tempfile.TemporaryDirectory() as place:
        for number, mode in enumerate(MODES):
            short = measure(SHORT_COUNT, mode, Path(place) / f"short{number}")
            print(line_of(mode, short), flush=True)
            most = min(count, SEQUENTIAL_COUNT_MAX) if mode == "sequential" else count
            long = measure(most, mode, Path(place) / f"long{number}")
            print(line_of(mode, long), flush=True)
            faults += [*short.faults, *long.faults]
            for grown in (long.peak_mib - short.peak_mib, long.verify_peak_mib - short.verify_peak_mib):
                if grown > GROWTH_MIB_MAX:
                    faults.append(f"{mode}: memory grew by {grown:.1f} MiB, and {GROWTH_MIB_MAX} are allowed")
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
