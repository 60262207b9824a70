"""python -m bench.peers dbos,luigi --workloads W1,W4 --rounds 1: measure peers; one line for each figure."""

from __future__ import annotations

import argparse
import sys

from bench.peers import PEERS, PeerFigure, measured
from bench.peers.table import SIZES


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.peers")
    parser.add_argument("names", help=f"comma list of: {', '.join(PEERS)}")
    parser.add_argument("--workloads", default=",".join(SIZES), help="comma list (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="undisturbed rounds of each (default: %(default)s)")
    parser.add_argument("--share", type=float, default=1.0, help="so much of each workload, to see whether it works")
    arguments = parser.parse_args()
    try:
        names, workloads = arguments.names.split(","), arguments.workloads.split(",")
        for figure in measured(names, workloads, arguments.rounds, arguments.share):
            print(line(figure), flush=True)
    except ValueError as error:
        parser.error(str(error))
    return 0


def line(figure: PeerFigure) -> str:
    start = f"{figure.peer:<15} {figure.workload:<3}"
    if figure.error is not None:
        return f"{start} {figure.error}"
    memory = "" if figure.peak_mebibytes is None else f"{figure.peak_mebibytes:8.0f} MiB"
    spread = f"[{figure.low:,.2f} .. {figure.high:,.2f}]"
    return f"{start} {figure.value:12,.2f} {figure.unit:<3} {spread:<26} {figure.rounds:2} rounds {memory}"


if __name__ == "__main__":
    sys.exit(main())
