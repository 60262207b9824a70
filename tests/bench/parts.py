"""A small report to write pages and JSON from."""

from bench.machine import Machine
from bench.report import Figure, Part, PeerFigure, Report

MACHINE = Machine(
    system="Linux",
    architecture="x86_64",
    processor="Some Processor",
    cores=2,
    memory_gibibytes=24,
    python="CPython 3.11.7",
    sqlite="3.45.0",
    packages={"noetl": "0.1.0", "msgspec": "0.20.0"},
)
CHAIN = Figure(
    name="W1",
    title="chain of 200 no-op steps",
    unit="ms/step",
    rounds=[0.35, 0.33, 0.41],
    rounds_taken=5,
    rounds_clean=3,
    beside="1 SQLite commit of 1 row a step",
    beside_rounds=[0.28, 0.3, 0.29],
    cpu_ms_per_item=0.12,
    peak_mebibytes=41.5,
)
LOOP = Figure(
    name="W2",
    title="loop of 2,000 no-ops, 100 in flight",
    unit="/s",
    rounds=[9000.0, 10000.0, 9500.0],
    rounds_taken=3,
    rounds_clean=3,
    beside="SQLite alone",
    beside_rounds=[20000.0, 20000.0, 19000.0],
)
BROKEN = Figure(name="tools broke off", title="", unit="", rounds=[], error="RuntimeError")
PEERS = [
    PeerFigure(peer="dbos", workload="W1", value=2.8, unit="ms/step", low=2.7, high=2.9, rounds=5, peak_mebibytes=72.0),
    PeerFigure(peer="dbos", workload="W5", value=0, unit="/s", low=0, high=0, rounds=0, error="it did not start"),
]


def part(name: str, *figures: Figure, peers: list[PeerFigure] | None = None) -> Part:
    return Part(
        name=name,
        commit="0123456789",
        began_at="2026-01-02 03:04 UTC",
        seconds=1.5,
        figures=list(figures),
        peers=peers or [],
    )


def report(*parts: Part) -> Report:
    return Report(machine=MACHINE, parts=list(parts))
