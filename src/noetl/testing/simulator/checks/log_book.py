"""One execution, as its log tells it: what the invariants speak of, and nothing else.

Tokens, runs, loops and jobs in flight, ctx as the fold of its patches, and which attempts are recorded. It is filled
by `log_reading.py`, shares no rule with the engine, and knows no playbook but the windows of its loops. A move that is
not legal is a `Violation`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn

from noetl.engine import events as facts
from noetl.engine.events import Envelope, Event, Patch
from noetl.stores.contract import INCIDENT, RUNNING, WAITING
from noetl.testing.simulator.case import Violation
from noetl.testing.simulator.checks import edges
from noetl.testing.simulator.checks.job_book import JobBook, Recorded
from noetl.testing.simulator.checks.loop_book import LoopBook

Windows = Mapping[str, Mapping[str, tuple[int, ...]]]  # playbook: step: the windows of its loops, outermost first
Place = tuple[int, int]  # run, iter
TaskRun = tuple[int, int, str, int, int]  # run, iter, label, visit, attempt
RUN_ENDS = (facts.StepDone, facts.StepFailed, facts.StepCancelled, facts.LoopDone)


class TokenBook:
    __slots__ = ("output", "phase", "source_step", "step")

    def __init__(self, step: str, source_step: str = "", output: Envelope | None = None) -> None:
        self.step = step
        self.source_step = source_step
        self.output = output
        self.phase = "new"


class RunBook:
    """A step run, an inner loop, or the run of a compensation."""

    __slots__ = (
        "compensates",
        "has_loop",
        "is_failed",
        "loop",
        "moves",
        "output",
        "parent_iter",
        "parent_run",
        "phase",
        "received",
        "step",
    )

    def __init__(self, step: str, moves: edges.Moves, received: Envelope | None) -> None:
        self.step = step
        self.moves = moves
        self.phase = "new"
        self.received = received  # what its first task is handed
        self.output: Envelope | None = None
        self.has_loop = False
        self.loop: LoopBook | None = None
        self.parent_run = 0
        self.parent_iter = -1
        self.compensates = 0
        self.is_failed = False

    @property
    def is_ours_to_move(self) -> bool:
        """Whether it waits for the server and for nobody else: for a collection, a list, an element, a plan."""
        if self.loop is None:
            return self.has_loop or self.phase in ("ended", "planned")
        has_missing_inner = self.loop.has_inner and 0 in self.loop.in_flight.values()
        return self.phase == "ended" or self.loop.is_stuck or has_missing_inner


class LogBook:
    """See above. `seen` counts the moves of the log, `names` its events."""

    def __init__(self, execution_id: int, windows: Windows, seen: Counter[str], names: Counter[str]) -> None:
        self.execution_id = execution_id
        self.windows = windows
        self.seen = seen
        self.names = names
        self.head = 0
        self.now = 0.0  # when what is read now was committed
        self.times: list[float] = []  # of each event
        self.phase = "new"
        self.incident = "none"
        self.result = ""
        self.sha = ""
        self.ctx: dict[str, Any] = {}
        self.tokens: dict[int, TokenBook] = {}
        self.last_token = 0
        self.runs: dict[int, RunBook] = {}
        self.last_run = 0
        self.jobs: dict[Place, JobBook] = {}
        self.recorded: dict[TaskRun, Recorded] = {}
        self.events_under: Counter[tuple[int, int, int]] = Counter()  # run, iter, lease
        self.undoable: dict[int, Envelope | None] = {}
        self.undoing: list[int] = []
        self.compensations: set[int] = set()  # runs
        self.cancelled_at: float | None = None
        self.signalled: set[str] = set()  # paths that signals wrote to
        self.taken_up = 0  # times in a row, with nothing between

    def fail(self, invariant: str, message: str) -> NoReturn:
        where = f"execution {self.execution_id}, event {self.head}"
        raise Violation(invariant, f"{where}: {message}", self.execution_id, self.head)

    # --- what others ask ---------------------------------------------------------------------------------------------

    @property
    def is_ended(self) -> bool:
        return self.phase == "ended"

    @property
    def status(self) -> str:
        """What the list of executions must say."""
        if self.phase == "ended":
            return self.result
        if self.incident == "open":
            return INCIDENT
        return WAITING if self.tokens and not self.runs else RUNNING

    @property
    def is_ours_to_move(self) -> bool:
        """Whether a server owes it something, so that it may be without a job (I12)."""
        return any(run.is_ours_to_move for run in self.runs.values())

    # --- changing ----------------------------------------------------------------------------------------------------

    def move(self, event: Event) -> None:
        """I11: along a legal edge of an execution."""
        phase = edges.EXECUTION.after(self.phase, event, self.seen)
        if phase is None:
            self.fail("I11", f"{facts.name_of(event)} came while the execution is {self.phase}")
        self.phase = phase

    def move_incident(self, event: Event) -> None:
        phase = edges.INCIDENT.after(self.incident, event, self.seen)
        if phase is None:
            self.fail("I11", f"{facts.name_of(event)} came with incident {self.incident}")
        self.incident = phase

    def run_of(self, event: Event) -> RunBook:
        run = self.runs.get(event.run)
        if run is None:
            self.fail("I4", f"{facts.name_of(event)} of run {event.run}, which has ended or never began")
        return run

    def move_run(self, event: Event) -> RunBook:
        """I4, I11: along a legal edge of a run, so that it ends once."""
        run = self.run_of(event)
        phase = run.moves.after(run.phase, event, self.seen)
        if phase is None and run.moves is edges.RUN:
            phase = edges.PLANNER.after(run.phase, event, self.seen)
        if phase is None:
            invariant = "I4" if type(event) in RUN_ENDS else "I11"
            self.fail(invariant, f"{facts.name_of(event)} of run {event.run} ({run.step}), which is {run.phase}")
        run.phase = phase
        return run

    def new_run(self, event: Event, run: RunBook) -> None:
        if event.run != self.last_run + 1:
            self.fail("I5", f"run {event.run} began, but {self.last_run + 1} is next")
        self.last_run = event.run
        self.runs[event.run] = run

    def new_token(self, number: int, token: TokenBook) -> None:
        self.last_token = number or self.last_token + 1
        if self.last_token in self.tokens:
            self.fail("I5", f"token {self.last_token} was made twice")
        self.tokens[self.last_token] = token

    def move_token(self, number: int, step: str, event: Event) -> TokenBook:
        token = self.tokens.get(number)
        if token is None or token.step != step:
            self.fail("I5", f"{facts.name_of(event)} of step {step} names token {number}, which is not there")
        phase = edges.TOKEN.after(token.phase, event, self.seen)
        if phase is None:
            self.fail("I5", f"{facts.name_of(event)} of token {number}, which is {token.phase}")
        token.phase = phase
        if phase == "gone":
            del self.tokens[number]
        return token

    def write(self, patches: list[Patch]) -> None:
        for patch in patches:
            scope, *keys = patch.path.split(".")
            if scope == "ctx":
                self.ctx = _written(self.ctx, keys, patch.value)


def _written(data: Any, keys: list[str], value: Any) -> Any:
    """Data with one value put below a path of keys."""
    if not keys:
        return value
    below = data if isinstance(data, dict) else {}
    return {**below, keys[0]: _written(below.get(keys[0]), keys[1:], value)}
