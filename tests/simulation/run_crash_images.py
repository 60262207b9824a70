"""Try many crash images. python tests/simulation/run_crash_images.py [--images N] [--seed S]

Prints one line of figures; the exit code is 1 if an image showed a fault. Every 100 images the work is recorded anew,
in a process that ends somewhere else. An image with a fault is kept in a folder, which is named, to be looked at.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from tests.simulation import crash_workload
from tests.simulation.crash_trial import Verdict, tried
from tests.simulation.crash_workload import FULL, OFF, recorded

IMAGES_PER_RECORDING = 100
STOPS = (4, 22)  # the first and the last of the first process's commits to stop it after
WORDS_MAX = 500


async def verdicts_of(seeds: range, synchronous: str) -> list[Verdict]:
    """Those of one recording."""
    first, last = STOPS
    crash_workload.COMMITS_BEFORE_THE_STOP = first + seeds[0] // IMAGES_PER_RECORDING % (last - first + 1)
    with tempfile.TemporaryDirectory() as name:
        recording = await recorded(Path(name), synchronous)
    return [await tried(recording, seed) for seed in seeds]


def kept(verdict: Verdict) -> Path:
    """The image of a verdict, in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix=f"noetl-crash-image-{verdict.image.seed}-"))
    verdict.image.write(folder)
    return folder


def line_of(verdicts: list[Verdict], seconds: float) -> str:
    failed = sum(bool(verdict.faults) for verdict in verdicts)
    acknowledged = sum(len(verdict.image.acknowledged) for verdict in verdicts)
    unsynced = sum(verdict.image.unsynced for verdict in verdicts)
    calls = sum(verdict.calls for verdict in verdicts)
    return (
        f"crash images: {len(verdicts)} tried, {failed} failed, {acknowledged} acknowledged operations looked for, "
        f"{unsynced} unsynced writes kept, torn or lost, {calls} calls to finish, {seconds:.0f} s"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Cut the power at random moments and see what is left.")
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first image")
    parser.add_argument("--forgetful", action="store_true", help="let SQLite sync nothing: nearly all must fail")
    chosen = parser.parse_args()
    began_at, verdicts = time.monotonic(), list[Verdict]()
    end = chosen.seed + chosen.images
    for first in range(chosen.seed, end, IMAGES_PER_RECORDING):
        seeds = range(first, min(end, first + IMAGES_PER_RECORDING))
        verdicts += asyncio.run(verdicts_of(seeds, OFF if chosen.forgetful else FULL))
    failed = [verdict for verdict in verdicts if verdict.faults]
    if not chosen.forgetful:
        for verdict in failed:
            print(f"{kept(verdict)}  {verdict}"[:WORDS_MAX], file=sys.stderr)
    print(line_of(verdicts, time.monotonic() - began_at))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
