"""What is asked of the engine, what a worker is given, and what follows from events.

Operations come in through the pump and are decided one at a time. A `Work` is one job as a worker receives it: plain
data, complete, so that it can cross a process or a network. Changes are what the queue, other executions and the
result store must do once the events stand.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.engine.events import Data, Envelope, Event, Patch
from noetl.engine.state import Progress

Key = tuple[int, int, int]  # execution, run, iter
TIMEOUT = "timeout"  # the result of a child that nobody waits for any longer


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """Something asked of one execution."""

    execution_id: int


class Start(Operation, frozen=True, kw_only=True):
    path: str
    version: int
    sha: str
    payload: dict[str, Data] = {}
    folder: str = ""
    request_key: str | None = None
    parent_execution_id: int | None = None
    parent_key: str | None = None
    depth: int = 0
    trace_id: str = ""
    parent_span_id: str = ""
    rerun_of: int = 0


class Fork(Start, frozen=True, kw_only=True):
    """A new execution that begins with the log of another, up to a point, and goes on from there."""

    source_execution_id: int
    prefix: list[Event]
    workload: dict[str, Data] | None = None  # None: that of the source
    patches: list[Patch] = []
    reopened: int = 0  # the step run whose loop goes on with the iterations that are done (`engine.reopening`)


class Report(Operation, frozen=True, kw_only=True):
    """Events of one job, numbered within its lease. The last report of a lease ends with the job's end, or parks it."""

    run: int
    iter: int
    lease: int
    n: int
    events: list[Event]

    @property
    def key(self) -> Key:
        return self.execution_id, self.run, self.iter


class Cancel(Operation, frozen=True, kw_only=True):
    reason: str = ""


class Expire(Operation, frozen=True, kw_only=True):
    """A step run is over its time, or a job was lost too often."""

    run: int
    iter: int = -1
    kind: str = "timeout"
    message: str = ""
    lease: int = 0  # of a job that was lost: it counts only while that lease stands


class ChildEnded(Operation, frozen=True, kw_only=True):
    """To the parent: the child that a task waited for has ended, or could not be started."""

    run: int
    iter: int
    task: str
    key: str
    child_execution_id: int = 0
    result: str = "failed"
    output: Envelope | None = None
    error: dict[str, Data] | None = None


class Signal(Operation, frozen=True, kw_only=True):
    patches: list[Patch]


class Recover(Operation, frozen=True, kw_only=True):
    """A process takes the execution up again."""


class Collected(Operation, frozen=True, kw_only=True):
    """The list of a loop's data is stored; or why it cannot be made."""

    run: int
    ref: dict[str, Data] = {}
    error: dict[str, Data] | None = None


class Counted(Operation, frozen=True, kw_only=True):
    """How long the stored list is that a loop runs over; or why it cannot be read."""

    run: int
    iter: int = -1  # of an inner loop: the iteration it stands in
    ref: dict[str, Data] = {}
    count: int = 0
    error: dict[str, Data] | None = None


class ElementRead(Operation, frozen=True, kw_only=True):
    """The element that an inner loop's collection is made from; or why it cannot be read."""

    run: int
    iter: int
    element: Data = None
    error: dict[str, Data] | None = None


class Continue(Operation, frozen=True, kw_only=True):
    """Go on with a loop that has more to start than one decision may."""

    run: int


class Planned(Operation, frozen=True, kw_only=True):
    """What a planner returned was checked: the steps to add, or why not."""

    run: int
    steps: list[Any] = []
    error: dict[str, Data] | None = None


class Incident(Operation, frozen=True, kw_only=True):
    """The engine failed on this execution."""

    message: str


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration that a job stands in."""

    iterator: str
    index: int
    total: int
    element: Data = None


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One job, as a worker receives it."""

    execution_id: int
    run: int
    iter: int
    lease: int
    step: str
    sha: str
    folder: str = ""
    workload: dict[str, Data] = {}
    run_ctx: dict[str, Data] = {}  # ctx when the run was scheduled: what the step's input is rendered with
    args: dict[str, Data] = {}
    carried: Envelope | None = None  # the output of the step that sent the token
    around: list[Around] = []  # iterations it stands in, outermost first
    steps: dict[str, Envelope] = {}  # outputs of steps that have run, as far as this step reads them
    progress: Progress  # to be copied before it is folded on
    is_held: bool = False
    compensates: int = 0
    undone: Envelope | None = None  # of a compensation: the output of the run it undoes
    planned: list[list[Any]] = []
    is_started: bool = False  # step.started is recorded
    trace_id: str = ""

    @property
    def key(self) -> Key:
        return self.execution_id, self.run, self.iter


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from events, outside the log of this execution."""


class JobAdded(Change, frozen=True, kw_only=True):
    key: Key
    pool: str = ""
    priority: int = 0
    group: int = 0  # of a local loop: its run; all its jobs go to one worker


class JobGone(Change, frozen=True, kw_only=True):
    key: Key
    is_revoked: bool = False  # the server ended it: whoever works on it is to stop


class JobParked(Change, frozen=True, kw_only=True):
    key: Key
    until: float = 0.0
    is_for_child: bool = False


class JobReady(Change, frozen=True, kw_only=True):
    key: Key


class ChildWanted(Change, frozen=True, kw_only=True):
    """A task asks for a child execution."""

    key: Key
    task: str
    child: dict[str, Data]
    depth: int
    trace_id: str = ""
    parent_span_id: str = ""


class ParentTold(Change, frozen=True, kw_only=True):
    """An execution that somebody waits for has ended."""

    parent_execution_id: int
    parent_key: str
    child_execution_id: int
    result: str
    output: Envelope | None
    outputs: dict[str, Envelope]
    error: dict[str, Data] | None


class ChildrenCancelled(Change, frozen=True, kw_only=True):
    execution_id: int


class ChildDropped(Change, frozen=True, kw_only=True):
    """The task that waited for a child has ended without it."""

    parent_key: str


class ListWanted(Change, frozen=True, kw_only=True):
    """The data of a loop's iterations is to be stored as one list."""

    execution_id: int
    run: int


class CountWanted(Change, frozen=True, kw_only=True):
    """A loop runs over a stored list: how long is it?"""

    execution_id: int
    run: int
    iter: int
    ref: dict[str, Data]


class ElementWanted(Change, frozen=True, kw_only=True):
    """An inner loop needs the outer loop's element, which is in a stored list."""

    execution_id: int
    run: int
    iter: int


class MoreWanted(Change, frozen=True, kw_only=True):
    execution_id: int
    run: int


class TimerSet(Change, frozen=True, kw_only=True):
    """A step run must have ended by then; or the child that one of its tasks waits for."""

    execution_id: int
    run: int
    at: float
    message: str
    iter: int = -1
    task: str = ""
    child_key: str = ""


class PlanWanted(Change, frozen=True, kw_only=True):
    """What a planner returned is to be checked."""

    execution_id: int
    run: int
    data: Data


# What is followed in other executions within the batch that records it (TL-04).
LEADS_ON: frozenset[type[Change]] = frozenset((ChildWanted, ParentTold, ChildrenCancelled, ChildDropped))


class BlobMade(Change, frozen=True, kw_only=True):
    """Bytes that an event names: to be stored before it is committed."""

    data: bytes
    sha256: str
