"""python -m bench [--only PARTS] [--peers NAMES] [--output FILE] [--page FILE] [--from FILE]: measure, and say so.

A line for each figure goes to standard error as it is found; the JSON to --output, or to standard output; the tables
into the page. Whatever was measured, the exit code is 0: targets are told here, and not enforced.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from bench import machine, page, report
from bench.page import beside, number
from bench.report import Figure, Part, PeerFigure, Report
from bench.targets import verdict_of

# Each has `figures(rounds)`; imported when it is its turn.
PARTS = {
    "limits": "bench.limits",
    "front_end": "bench.front_end",
    "start": "bench.start",
    "embedded": "bench.engine",
    "tools": "bench.kinds",
    "growth": "bench.growth",
    "cluster": "bench.cluster",
    "million": "bench.million",
}
PEERS = "peers"
PEER_WORKLOADS = ("W1", "W2", "W3", "W4", "W5")
ROUNDS = 5
TERMINATED = 128 + signal.SIGTERM


def main(words: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    if arguments.only and PEERS in arguments.only and not arguments.peers:
        parser().error("--only peers needs their names: --peers dbos,restate,…")
    found = report.read(arguments.source) if arguments.source else measured(arguments)
    if arguments.page:
        page.rewrite(arguments.page, found)
    if arguments.output is None and arguments.page is None:
        print(report.as_text(found), end="")
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m bench", description="Measure NoETL on this machine.")
    made.add_argument(
        "--only", type=names_of([*PARTS, PEERS]), help=f"parts, with commas: {', '.join([*PARTS, PEERS])}"
    )
    made.add_argument("--peers", type=lambda text: text.split(","), default=[], help="peers to measure, with commas")
    made.add_argument("--rounds", type=int, default=ROUNDS, help=f"of each figure ({ROUNDS}); 1 is a trial")
    made.add_argument(
        "--output", type=Path, help="where the JSON goes; parts that it has and that are not measured stay"
    )
    made.add_argument("--page", type=Path, help="the page whose tables are written anew")
    made.add_argument("--from", dest="source", type=Path, help="measure nothing: write the page from this JSON")
    return made


def names_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(
                f"{', '.join(unknown)}: there is no such part; there are {', '.join(known)}"
            )
        return chosen

    return read


def measured(arguments: argparse.Namespace) -> Report:
    """Each part as it is done is kept, so that whoever is interrupted has the parts before."""
    output: Path | None = arguments.output
    found = report.read(output) if output and output.exists() and arguments.only else None
    for name in chosen(arguments):
        part = part_of(name, arguments)
        found = report.merged(found, Report(machine=machine.this_machine(), parts=[part]))
        if output:
            report.write(found, output)
    return found or Report(machine=machine.this_machine(), parts=[])


def chosen(arguments: argparse.Namespace) -> list[str]:
    parts = [name for name in PARTS if arguments.only is None or name in arguments.only]
    return [*parts, PEERS] if arguments.peers else parts


def part_of(name: str, arguments: argparse.Namespace) -> Part:
    began_at, began = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), time.monotonic()
    say(f"{name}:")
    figures, peers = [], []
    if name == PEERS:
        peers = [told_peer(figure) for figure in peers_figures(arguments.peers, arguments.rounds)]
    else:
        figures = [told(figure) for figure in figures_of(name, arguments.rounds)]
    seconds = round(time.monotonic() - began, 1)
    return Part(name=name, commit=machine.commit(), began_at=began_at, seconds=seconds, figures=figures, peers=peers)


def figures_of(name: str, rounds: int) -> Iterator[Figure]:
    """What a part gives; one that breaks says so in a figure, and the others are measured all the same."""
    try:
        yield from import_module(PARTS[name]).figures(rounds)
    except Exception as error:  # whatever it is: the other parts must not be lost to it
        traceback.print_exc()
        yield Figure(name=f"{name} broke off", title="", unit="", rounds=[], error=type(error).__name__)


def peers_figures(names: Sequence[str], rounds: int) -> Iterator[PeerFigure]:
    from bench import peers

    for figure in peers.measured(names, PEER_WORKLOADS, rounds):
        yield PeerFigure(**figure._asdict())


# --- on the terminal -------------------------------------------------------------------------------------------------


def told(figure: Figure) -> Figure:
    if figure.error:
        say(f"  {figure.name}: {figure.error}")
        return figure
    value = f"{number(figure.median):>9} {figure.unit:<8}"
    spread = f"[{number(figure.low)} … {number(figure.high)}]"
    say(f"  {figure.name:<32} {value} {spread:<22} {verdict_of(figure):<8} {beside(figure)}")
    return figure


def told_peer(figure: PeerFigure) -> PeerFigure:
    value = figure.error or f"{number(figure.value)} {figure.unit} [{number(figure.low)} … {number(figure.high)}]"
    say(f"  {figure.peer} {figure.workload}: {value}")
    return figure


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # so that what was started is ended
    sys.exit(main())
