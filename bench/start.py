"""W4: a new process runs a playbook of one step and ends, as everybody who types `noetl run` waits for it."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench import workloads
from bench.measure import Rounds, repeated, timed
from bench.report import Figure
from bench.spawning import BARE_PYTHON, IMPORTING_PYTHON, NOETL, ended_cpu_seconds, spawned

STARTS_PER_ROUND = 3  # a start is short: take more of them


class Starts(NamedTuple):
    """Milliseconds, taken in turns."""

    known_home: float
    known_home_cpu: float
    new_home: float
    bare: float
    importing: float


def figures(rounds: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hello.yaml"
        file.write_text(workloads.chain(1), encoding="utf-8")
        once = starts(Path(folder), file)
        once()
        taken: Rounds[Starts] = repeated(once, rounds if rounds == 1 else rounds * STARTS_PER_ROUND)
    bare = "`python -c pass`"
    yield taken.figure(
        "W4",
        "`noetl run` of one step, a new process",
        "ms",
        lambda one: one.known_home,
        beside=bare,
        beside_value=lambda one: one.bare,
        cpu_ms_per_item=statistics.median(one.known_home_cpu for one in taken.found),
    )
    yield taken.figure(
        "W4 imports",
        "the same",
        "ms",
        lambda one: one.known_home,
        beside="`python -c 'import asyncio, sqlite3, jinja2'`",
        beside_value=lambda one: one.importing,
    )
    yield taken.figure(
        "W4 new home",
        "the same, in a home that is not there yet",
        "ms",
        lambda one: one.new_home,
        beside=bare,
        beside_value=lambda one: one.bare,
    )


def starts(folder: Path, file: Path) -> Callable[[], Starts]:
    bare, importing = spawned(BARE_PYTHON), spawned(IMPORTING_PYTHON)
    known, new_homes = hello(file, folder / "home"), (folder / f"home-{number}" for number in range(1_000_000))

    def once() -> Starts:
        new = hello(file, next(new_homes))
        cpu = ended_cpu_seconds()
        known_ms = timed(known) * 1000
        cpu_ms = (ended_cpu_seconds() - cpu) * 1000
        return Starts(known_ms, cpu_ms, timed(new) * 1000, timed(bare) * 1000, timed(importing) * 1000)

    return once


def hello(file: Path, home: Path) -> Callable[[], None]:
    return spawned([*NOETL, "run", str(file), "--format", "json"], NOETL_HOME=str(home))
