"""What the events of one execution add up to.

State is keyed by ids, never by step names: a step may run many times, and a graph may have cycles. Its size follows
what is in flight: a loop is a few counters, its window of jobs and the folds of its writes, whatever its length.

It is changed in one place (`apply.py`) and in place: replacing a mapping of a thousand jobs for every event would make
a loop quadratic. Nobody sees it half changed, because the pump applies a batch between two waits, and throws the state
away (the log has it) whenever a batch fails. What may be shared with a pipeline that is under way, ctx and other data,
is never changed but replaced (`patches.py`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.engine.events import Data, Envelope, Patch
from noetl.engine.merging import Fold, Stretch

RUNNING, WAITING, INCIDENT = "running", "waiting", "incident"
SUCCESS, FAILED, CANCELLED = "success", "failed", "cancelled"
ENDED_STATUSES = frozenset((SUCCESS, FAILED, CANCELLED))
SCHEDULED, STARTED, ENDED = "scheduled", "started", "ended"
ENGINE_VERSION = 1


class Token(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A claim on one run of a step. It carries the output of the step that sent it (RT-12, RT-14)."""

    id: int
    step: str
    args: dict[str, Data] = {}
    output: Envelope | None = None
    event: dict[str, Data] = {}  # the envelope of the boundary that sent it
    source_run: int = 0
    source_step: str = ""
    arc: int = -1
    priority: int = 0
    partition: Data = None
    is_denied: bool = False
    is_for_signal: bool = False


class Progress(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Where one pipeline is: the fold of its reported tasks, the checkpoint that a redelivery goes on from (TK-15)."""

    ctx: dict[str, Data]  # as it was when the job was made, plus the pipeline's own writes
    step: dict[str, Data] = {}
    iter: dict[str, Data] = {}  # scratch values of this iteration
    label: str | None = None  # the task that is next; None: at the beginning; "": at the end
    visits: dict[str, int] = {}
    attempt: int = 1
    answered: int = 0  # attempts of this visit that got a definite answer
    is_open: bool = False  # task.started of this attempt is recorded
    outputs: dict[str, Envelope] = {}  # by label, as recorded
    last: str = ""  # the label whose output is `output`
    previous_label: str = ""  # the label whose data is _prev …
    previous: list[Data] = []  # … or the value itself
    held: list[Patch] = []  # writes that wait for the end of a parallel loop
    ready_at: float = 0.0  # a retry waits until then
    task_runs: int = 0
    error: dict[str, Data] | None = None  # why it failed
    is_failed: bool = False
    child: dict[str, Data] | None = None  # what came back from a child execution


class Job(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One pipeline in flight: the unit that is leased."""

    progress: Progress
    pool: str = ""
    priority: int = 0
    waits_until: float = 0.0  # parked, until then
    child: dict[str, Data] | None = None  # parked, until this child has ended


class Loop(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A loop under way: iterations are started in index order, so finished = [0, next) - in_flight - again."""

    count: int
    items: list[Data] | None = None
    range: list[int] | None = None
    ref: dict[str, Data] | None = None
    iterator: str = ""
    is_parallel: bool = False
    is_local: bool = False
    is_best_effort: bool = False
    is_held: bool = False  # some loop of the nest is parallel: writes wait for the end of the outermost one
    has_inner: bool = False
    max_in_flight: int = 1
    reducers: dict[str, str] = {}
    next: int = 0
    in_flight: dict[int, int] = {}  # index → the run of its inner loop, or 0
    again: dict[int, int] = {}  # of a fork: those to be done once more, each with its inner loop or 0
    elements: dict[int, Data] = {}  # of iterations in flight, where inner loops are made from a stored list
    done: int = 0
    failed: int = 0
    error: dict[str, Data] | None = None  # of the first failure
    is_closed: bool = False  # no further iteration is started
    ctx: dict[str, Data] = {}  # what an iteration that begins now sees, where writes are held
    step: dict[str, Data] = {}
    data: dict[int, Data] = {}  # of finished iterations, while it is small
    data_bytes: int = 0
    inline_bytes_max: int = 0
    is_spilled: bool = False  # the data outgrew the limit: it is collected from the log at the end
    stretches: dict[int, Stretch] = {}
    starts: dict[int, int] = {}

    @property
    def is_over(self) -> bool:
        return not self.in_flight and (self.is_closed or self.following is None)

    @property
    def following(self) -> int | None:
        """The iteration that is started next, if any is left."""
        if self.again:
            return next(iter(self.again))
        return self.next if self.next < self.count else None

    def folds(self) -> dict[str, Fold]:
        """What all iterations wrote, once they have ended."""
        whole = next(iter(self.stretches.values()), None)
        return whole.folds if whole else {}


class Run(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A step run, or one instance of an inner loop."""

    id: int
    step: str
    phase: str = SCHEDULED
    args: dict[str, Data] = {}
    carried: Envelope | None = None  # the output that its token brought along
    output: Envelope | None = None  # its own, once it has ended; of a compensation: that of the run it undoes
    sources: list[str] = []
    ctx: dict[str, Data] = {}  # as it was when the run was scheduled
    step_values: dict[str, Data] = {}
    scheduled_at: float = 0.0
    started_at: float = 0.0
    deadline_at: float = 0.0
    timeout_seconds: float = 0.0
    priority: int = 0
    pool: str = ""
    partition: Data = None
    parent_run: int = 0
    parent_iter: int = -1
    compensates: int = 0
    has_loop: bool = False
    loop: Loop | None = None
    jobs: dict[int, Job] = {}
    error: dict[str, Data] | None = None
    boundary: str = ""  # the name of the event that ended it, until its arcs were evaluated
    boundary_seq: int = 0
    boundary_at: float = 0.0
    boundary_source: str = ""
    is_planning: bool = False

    @property
    def timeout_at(self) -> float:
        return self.started_at + self.timeout_seconds if self.timeout_seconds and self.started_at else 0.0


class Undoable(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A finished run that can be compensated (ST-12)."""

    run: int
    step: str
    args: dict[str, Data] = {}
    ctx: dict[str, Data] = {}  # and what its token brought: what its input is rendered with
    carried: Envelope | None = None
    output: Envelope | None = None
    step_values: dict[str, Data] = {}


class StepCount(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How often a step ran and how its latest run ended."""

    runs: int = 0
    status: str = ""


class State(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One execution."""

    execution_id: int
    seq: int = 0
    status: str = RUNNING
    path: str = ""
    version: int = 0
    sha: str = ""
    parent_execution_id: int | None = None
    parent_key: str | None = None
    depth: int = 0
    trace_id: str = ""
    forked_from: int = 0  # the execution whose log the beginning of this one is
    created_at: float = 0.0
    ended_at: float = 0.0
    workload: dict[str, Data] = {}
    workload_ref: dict[str, Data] | None = None  # where a large workload is kept; whoever folds a log fetches it
    ctx: dict[str, Data] = {}
    tokens: dict[int, Token] = {}
    runs: dict[int, Run] = {}
    last_run: int = 0
    last_token: int = 0
    outputs: dict[str, Envelope] = {}  # of each step, its latest
    counts: dict[str, StepCount] = {}
    undoable: list[Undoable] = []
    undoing: list[int] = []  # runs still to be compensated, next first
    sent: dict[str, list[str]] = {}  # target → dedupe keys of tokens it got
    planned: list[list[Any]] = []
    output: Envelope | None = None
    error: dict[str, Data] | None = None
    is_cancelled: bool = False
    is_failing: bool = False
    is_best_effort: bool = False
    is_compensating: bool = False
    incident: str = ""
    recoveries: int = 0  # in a row, with nothing between
    is_finished: bool = False  # workflow.finished is recorded

    @property
    def is_ended(self) -> bool:
        return self.status in ENDED_STATUSES


def written(state: State) -> bytes:
    """A state as bytes that `read` makes a state of again: for snapshots."""
    return msgspec.json.encode(_recorded(state))


def _recorded(state: State) -> State:
    """A state as the log alone gives it: a workload kept outside stays there."""
    return msgspec.structs.replace(state, workload={}) if state.workload_ref else state


def read(body: bytes) -> State:
    return msgspec.json.decode(body, type=State)


def canonical(state: State) -> bytes:
    """A whole state as bytes: two states are equal when these are."""
    return msgspec.json.encode(msgspec.to_builtins(_recorded(state), str_keys=True), order="deterministic")
