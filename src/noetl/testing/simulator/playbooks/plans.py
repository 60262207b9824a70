"""What a generated playbook means, in the generator's own words: the generator makes plans, `playbook_text` writes them
down as YAML, and the reference run reads them. Nothing here knows the engine's model of a playbook.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from noetl.testing.simulator.playbooks.scripts import Script
from noetl.testing.simulator.playbooks.terms import Term, names_in

PYTHON, HTTP, NOOP, PLAYBOOK, RESOLVE, WORKBOOK = "python", "http", "noop", "playbook", "resolve", "workbook"
SCRIPTED = (PYTHON, HTTP)
TIMEOUT_SECONDS = 60.0  # of scripted tasks that say nothing else: a tool that hangs ends by it
GATE_KEY = "told_gate"  # what somebody outside writes to ctx to open the gates that wait for it
ROOMY_BYTES = 4096  # under this limit everything that has no ballast stays in the log


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """One write of a `set`."""

    path: str  # ctx.a, step.b, iter.c
    term: Term


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of a task's policy; no `when`: it is the else."""

    when: Term | None
    do: str
    to: str = ""
    attempts: int = 3
    backoff: str = "none"
    delay_seconds: float = 0.0
    writes: tuple[Write, ...] = ()

    @property
    def is_before_tool(self) -> bool:
        """TK-10: a skip that does not look at the output is asked before the tool runs."""
        return self.do == "skip" and self.when is not None and "output" not in names_in(self.when)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task. Its label is the only one of that name in its family."""

    label: str
    kind: str
    script: Script | None = None  # of a scripted kind
    input: dict[str, Term] = {}
    sees_previous: bool = False  # `_prev` is handed to the tool, which says in its result what it saw
    secret: int | None = None  # the number of the canary that the tool is given
    path: str = ""  # of a playbook task: the child
    called: Task | None = None  # of a workbook task: what it calls
    writes: tuple[Write, ...] = ()
    rules: tuple[Rule, ...] | None = None  # None: no policy
    fails_unmatched: bool = False
    timeout_seconds: float = TIMEOUT_SECONDS
    is_sync: bool = False


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """A loop, and the one inside it."""

    collection: Term | None  # a list; None: range(`count`)
    count: Term
    iterator: str
    is_parallel: bool = False
    in_flight_max: int | None = None
    is_local: bool = False
    reducers: dict[str, str] = {}
    inner: Loop | None = None

    @property
    def is_held(self) -> bool:
        """Whether writes wait for the end of the nest (SC-12)."""
        return self.is_parallel or (self.inner is not None and self.inner.is_held)


class Arc(msgspec.Struct, frozen=True, kw_only=True):
    """A way to another step; `handles_failure`: its condition speaks of the failure (RT-11)."""

    target: str
    when: Term | None = None
    handles_failure: bool = False
    writes: tuple[Write, ...] = ()
    args: dict[str, Term] = {}  # laid over those that the token has (RT-04)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step. `is_beside`: others may run at the same time, so a failure may cut them short anywhere."""

    name: str
    tasks: tuple[Task, ...]
    is_beside: bool
    opens_when: Term | None = None  # its admission gate: closed while this does not hold
    waits_for_signal: bool = False  # ST-06: closed until somebody outside opens it, which somebody surely does
    is_join: bool = False
    loop: Loop | None = None
    input: dict[str, Term] = {}
    writes: tuple[Write, ...] = ()
    is_inclusive: bool = False
    arcs: tuple[Arc, ...] = ()
    compensation: tuple[Task, ...] = ()
    is_best_effort: bool = False
    timeout_seconds: float | None = None
    deadline_seconds: float | None = None
    is_overdue: bool = False  # its only task always takes longer than the step may
    pool: str = ""
    priority: int = 0
    emits: tuple[str, ...] = ()  # boundaries at which it emits an event of its own
    is_planner: bool = False  # its only task gives steps (RT-08)
    planned: tuple[Step, ...] = ()  # those of its plan, the first of them first
    is_plan_bad: bool = False  # the plan is refused


def tasks_of(steps: Iterable[Step]) -> Iterator[Task]:
    """All tasks of steps, those of the steps they plan included, but none that a workbook has."""
    for step in steps:
        yield from step.tasks
        yield from step.compensation
        yield from tasks_of(step.planned)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One playbook."""

    path: str
    steps: dict[str, Step]
    entry: str
    workload: dict[str, Any]
    output_step: str = ""
    is_best_effort: bool = False
    payload_bytes_max: int = 0  # 0: the playbook does not say
    is_reference_first: bool = False

    @property
    def waits_for_signal(self) -> bool:
        return any(step.waits_for_signal for step in self.steps.values())

    @property
    def is_tight(self) -> bool:
        """Whether any payload may be kept outside the log, however small."""
        return self.is_reference_first or 0 < self.payload_bytes_max < ROOMY_BYTES


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """A main playbook and all it calls, each with its text; the main one is the first."""

    plans: dict[str, Plan]  # by path
    texts: dict[str, bytes]  # by path
    features: tuple[str, ...]  # what the generator was allowed to use

    @property
    def main(self) -> Plan:
        return next(iter(self.plans.values()))
