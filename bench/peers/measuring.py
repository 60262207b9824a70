"""Figures of peers: their programs started, their rounds read, their memory watched, their processes ended."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.measure import Taken, counting, repeated
from bench.peers.installing import NotInstalled, bytecode_written, installed
from bench.peers.processes import started
from bench.peers.table import PEERS, SIZES, Peer, Size

PROGRAMS = Path(__file__).parent / "programs"
WORD = "ROUND "  # as programs/rounds.py says it
SECONDS_MAX = 900.0
LOOK_SECONDS, HELLO_LOOK_SECONDS = 0.5, 0.02
IN_MILLISECONDS = ("W1", "W4")  # the others: so many in a second
COLD, LOOP_OF_REQUESTS = "W4", "W5"
NO_REPORTS_HOME = {
    "DO_NOT_TRACK": "1",
    "SCARF_ANALYTICS": "false",
    "DAGSTER_DISABLE_TELEMETRY": "1",
    "NO_PROXY": "*",
    "no_proxy": "*",
}


class PeerFigure(NamedTuple):
    """One workload of one peer: the median of its rounds, or why there is none."""

    peer: str
    workload: str
    value: float
    unit: str
    low: float
    high: float
    rounds: int
    peak_mebibytes: float | None
    error: str | None


class PeerRounds(NamedTuple):
    """The rounds of a workload that count."""

    seconds: list[float]
    peak_mebibytes: float | None


class Failed(Exception):
    """A workload that a peer did not get through."""


def measured(names: Sequence[str], workloads: Sequence[str], rounds: int, share: float = 1.0) -> Iterator[PeerFigure]:
    """The figures of these peers, one workload after another; a peer is passed over where it has no such thing.
    `share`: so much of each workload's size, to see whether a peer works at all.

    Raises ValueError, before anything is measured, for a name that is not in the table.
    """
    if unknown := [name for name in names if name not in PEERS]:
        raise ValueError(f"no such peer: {', '.join(unknown)}; there are {', '.join(PEERS)}")
    if unknown := [workload for workload in workloads if workload not in SIZES]:
        raise ValueError(f"no such workload: {', '.join(unknown)}; there are {', '.join(SIZES)}")
    for name in names:
        for workload in workloads:
            if workload in PEERS[name].workloads:
                yield figure_of(name, PEERS[name], workload, rounds, share)


def figure_of(name: str, peer: Peer, workload: str, rounds: int, share: float = 1.0) -> PeerFigure:
    usual = peer.sizes.get(workload, SIZES[workload])
    size = usual._replace(items=max(1, round(usual.items * share)))
    try:
        environment = installed(name, peer)
        if workload == COLD:
            taken = cold_rounds(environment, peer, rounds)
        else:
            taken = warm_rounds(environment, peer, workload, size, rounds)
    except (NotInstalled, Failed, OSError) as error:  # OSError: a program that is not there
        return PeerFigure(name, workload, 0.0, unit_of(workload), 0.0, 0.0, 0, None, str(error))
    return told(name, workload, size.items, taken)


def told(name: str, workload: str, items: int, taken: PeerRounds) -> PeerFigure:
    is_time = workload in IN_MILLISECONDS
    values = [seconds * 1000 / items if is_time else items / seconds for seconds in taken.seconds]
    return PeerFigure(
        name,
        workload,
        statistics.median(values),
        unit_of(workload),
        min(values),
        max(values),
        len(values),
        taken.peak_mebibytes,
        None,
    )


def unit_of(workload: str) -> str:
    return "ms" if workload in IN_MILLISECONDS else "/s"


# --- a program that runs for all rounds ------------------------------------------------------------------------------


def warm_rounds(environment: Path, peer: Peer, workload: str, size: Size, rounds: int) -> PeerRounds:
    command = [str(environment / "bin" / "python"), "rounds.py", peer.module, workload, "--rounds", str(rounds)]
    command += ["--count", str(size.items), "--in-flight", str(size.in_flight)]
    with http_server(workload) as url:
        program = run([*command, "--url", url], peer, LOOK_SECONDS)
    lines = [line.removeprefix(WORD) for line in program.lines if line.startswith(WORD)]
    if not lines:
        raise Failed("it ended well, but gave no figure")
    taken = [Taken(found["seconds"], found["foreign_cores"]) for found in map(json.loads, lines)]
    return PeerRounds(counting(taken, rounds).found, program.peak_mebibytes)


@contextmanager
def http_server(workload: str) -> Iterator[str]:
    """What W5 asks: a process of its own, so that it shares nobody's interpreter."""
    if workload != LOOP_OF_REQUESTS:
        yield ""
        return
    command = [sys.executable, "-m", "bench.http_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip() if server.stdout else ""
        finally:
            server.terminate()


# --- a new process each round ----------------------------------------------------------------------------------------


def cold_rounds(environment: Path, peer: Peer, rounds: int) -> PeerRounds:
    """The first warms the disk's cache and is watched for its memory, which would slow down the others."""
    words = [word.format(programs=PROGRAMS) for word in peer.hello] or ["python", f"{peer.module}.py"]
    command = [str(environment / "bin" / words[0]), *words[1:]]
    mebibytes = run(command, peer, HELLO_LOOK_SECONDS).peak_mebibytes
    return PeerRounds(repeated(lambda: run(command, peer).seconds, rounds).found, mebibytes)


# --- one program -----------------------------------------------------------------------------------------------------


class Ended(NamedTuple):
    """A program that ended well."""

    seconds: float
    peak_mebibytes: float | None
    lines: list[str]


def run(command: Sequence[str], peer: Peer, look_seconds: float | None = None) -> Ended:
    """Raises Failed."""
    variables = bytecode_written() | NO_REPORTS_HOME | peer.variables
    began = time.perf_counter()
    with started(command, PROGRAMS, variables) as program:
        try:
            program.wait(SECONDS_MAX, look_seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"not done within {SECONDS_MAX:.0f} s") from None
        seconds = time.perf_counter() - began
        if program.return_code:
            raise Failed(f"ended with {program.return_code}: {program.complaint()}")
        return Ended(seconds, program.peak_mebibytes, program.lines())
