"""One run of the simulator: what repeats it, what it drew, and what came of it.

A `Case` is all that is needed to repeat a run. Its seed draws a `Configuration` first: a world in which some faults are
on and others off, because faults that are always on hide each other.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from noetl.testing.simulator.tape import Identity, Stream

CLUSTER, EMBEDDED = "cluster", "embedded"
SHAPES = (CLUSTER, EMBEDDED)
SEEDS_PER_BASE = 100_000  # fresh seeds are numbers below this, after a base that follows from the commit
EXECUTIONS = (1, 1, 1, 2, 2, 3, 4, 8)
STEPS_MAX = 12  # of all playbooks of a world, about
POISONED = 0.2  # the share of worlds in which some task kills whoever runs it, for ever
GROWN_AT = 1_000  # from this number on worlds are as large as they get: small ones fail small


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """`overrides`: fields of the configuration that are not drawn; `only`: the faults that may strike."""

    seed: int
    shape: str = CLUSTER
    overrides: dict[str, Any] = {}
    only: tuple[Identity, ...] | None = None


# Each class of faults, with the chance that a seed has it on, and its rate then: for each message, statement, …, or
# for each second of trouble where it is of a whole node.
RATES: dict[str, tuple[float, float]] = {
    # of messages
    "net.drop": (0.6, 0.06),
    "net.duplicate": (0.8, 0.7),
    "net.delay": (0.9, 0.9),
    "net.long_delay": (0.3, 0.01),
    # of the network, by the second
    "net.partition": (0.3, 0.15),
    "net.clog": (0.3, 0.15),
    "net.down": (0.2, 0.06),
    # of processes, by the second
    "server.kill": (0.6, 0.3),
    "server.pause": (0.4, 0.15),
    "worker.kill": (0.5, 0.20),
    "worker.pause": (0.3, 0.15),
    # of processes, at their weakest moments
    "server.kill_at_step": (0.6, 0.05),
    "worker.kill_at_tool": (0.6, 0.1),
    # of statements
    "store.statement_fails": (0.5, 0.05),
    "store.answer_lost": (0.5, 0.05),
    "store.slow": (0.85, 0.8),
    "store.disk_full": (0.5, 0.1),
    # of the store, by the second
    "store.down": (0.3, 0.06),
    "store.rewind": (0.3, 0.15),
    # of clocks, by the second
    "clock.jump": (0.3, 0.25),
    # of users
    "user.doubled": (0.3, 0.3),
    # of result stores
    "results.put_fails": (0.3, 0.3),
    "results.get_fails": (0.4, 0.5),
    "results.wrong_bytes": (0.4, 0.4),
    "results.swept": (0.5, 0.5),
    # of caches and of our own code
    "snapshot.lost": (0.5, 0.5),
    "engine.raises": (0.25, 0.03),
    "tool.hangs": (0.3, 0.08),
    "buggify": (0.7, 0.25),
    # later ones: whatever is drawn of a configuration is drawn in this order
    "store.cut": (0.3, 0.1),
    "store.stays_full": (0.2, 0.06),
    "user.registers": (0.3, 0.2),
}
OF_A_CLUSTER = frozenset(
    {"net.drop", "net.duplicate", "net.delay", "net.long_delay", "net.partition", "net.clog", "net.down"}
    | {"store.rewind", "store.down", "store.statement_fails", "store.answer_lost", "worker.kill", "worker.pause"}
    | {"store.cut"}
)


class Configuration(msgspec.Struct, kw_only=True):
    """What one seed drew."""

    servers: int = 1
    workers: int = 1
    slots: int = 4
    pools: int = 1
    executions: int = 1
    size: int = 1  # of playbooks
    lease_seconds: float = 10.0
    trouble_seconds: float = 20.0
    is_lasting: bool = True  # embedded: a server, or one run of the command line
    clock_offset_seconds_max: float = 0.0
    clock_rate_spread: float = 0.0  # 1.0: clocks run at half to twice their speed
    poison: int = 0  # about one task of so many kills its worker whenever it runs; 0: none does
    users_cancel: float = 0.0  # the share of executions that somebody cancels
    users_signal: float = 0.0
    users_rerun: float = 0.0
    rates: dict[str, float] = {}

    def rate(self, kind: str) -> float:
        return self.rates.get(kind, 0.0)


class Violation(Exception):
    """Something that must hold did not. `invariant`: I1 to I15 of the protocol, or what else was promised."""

    def __init__(self, invariant: str, message: str, execution_id: int = 0, seq: int = 0) -> None:
        super().__init__(f"{invariant}: {message}")
        self.invariant = invariant
        self.message = message
        self.execution_id = execution_id
        self.seq = seq


class Verdict(msgspec.Struct, kw_only=True):
    """What came of a case."""

    case: Case
    configuration: Configuration
    violation: Violation | None = None
    strikes: tuple[Identity, ...] = ()  # the faults that struck
    counts: Counter[str] = msgspec.field(default_factory=Counter)  # of those, by kind
    coverage: dict[str, dict[str, int]] = {}
    commits: int = 0
    events: int = 0
    turns: int = 0  # of the loop
    seconds: float = 0.0  # of virtual time
    trace: list[str] = []  # if it was asked for
    trace_hash: str = ""

    @property
    def faults(self) -> int:
        return sum(self.counts.values())


def configured(case: Case, stream: Stream) -> Configuration:
    """Draw the world of a case."""
    grown = min(1.0, 0.15 + case.seed % SEEDS_PER_BASE / GROWN_AT)
    executions = min(stream.pick(EXECUTIONS), max(1, round(EXECUTIONS[-1] * grown)))
    steps_max = max(1, round(STEPS_MAX * grown) // executions)  # many small ones or a few large ones
    drawn = Configuration(
        servers=stream.pick((1, 1, 2, 2, 3, 4)) if case.shape == CLUSTER else 1,
        workers=stream.integer(1, max(1, round(6 * grown))) if case.shape == CLUSTER else 1,
        slots=stream.integer(1, 8),
        pools=stream.pick((1, 1, 2, 3)) if case.shape == CLUSTER else 1,
        executions=executions,
        size=stream.integer(1, steps_max),
        lease_seconds=stream.pick((3.0, 5.0, 5.0, 10.0, 30.0)),
        trouble_seconds=stream.between(8.0, 26.0),
        is_lasting=stream.chance(0.7),
        clock_offset_seconds_max=stream.pick((0.0, 0.0, 5.0, 3600.0)),
        clock_rate_spread=stream.pick((0.0, 0.0, 0.02, 1.0)),
        users_cancel=stream.pick((0.0, 0.2, 0.5)),
        users_signal=stream.pick((0.0, 0.3)),
        users_rerun=stream.pick((0.0, 0.0, 0.3)),
        poison=stream.pick((1, 2, 3)) if stream.chance(POISONED) else 0,
        rates={},
    )
    for kind, (chance, rate) in RATES.items():
        is_on = stream.chance(chance)
        strength = stream.between(0.3, 2.0)
        if is_on and (case.shape == CLUSTER or kind not in OF_A_CLUSTER):
            drawn.rates[kind] = min(0.9, rate * strength)
    for name, value in case.overrides.items():
        setattr(drawn, name, value)
    return drawn
