"""The effects ledger: what tools did in a simulated world, invocation by invocation. Nothing that happens in the world
takes a line out of it, so it knows what a log may have lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

OPEN, FINISHED, FAILED_BY_WORLD = "open", "finished", "failed_by_world"


class Invocation(msgspec.Struct, kw_only=True, gc=False):
    """One run of a tool. `state` stays open where its worker died, or gave it up."""

    seconds: float  # since the world began, by the loop
    node: str
    execution_id: int
    key: str  # idempotency key: <execution>:<run>:<iter>:<label>:<visit>.<definite answers before>
    task: str
    attempt: int
    input_digest: int
    saw: str | None = None  # whose result `_prev` was, where the task was given it
    gave: str | None = None  # whose result this is: what a later task's `saw` names
    state: str = OPEN
    ended_seconds: float = -1.0

    @property
    def task_run_id(self) -> str:
        """<execution>:<run>:<iter>:<label>:<visit>."""
        return self.key.rpartition(".")[0]

    @property
    def is_called(self) -> bool:
        """Of a task of the workbook: its tries are its caller's own matter, and only the last is recorded (TK-14)."""
        return self.task != self.task_run_id.rsplit(":", 2)[1]

    @property
    def is_finished(self) -> bool:
        return self.state == FINISHED


class Ledger:
    """All invocations, in the order in which they began."""

    def __init__(self) -> None:
        self.invocations: list[Invocation] = []
        self._by_execution: dict[int, list[Invocation]] = {}

    def begin(self, **fields: Any) -> Invocation:
        """A tool runs from now on."""
        line = Invocation(**fields)
        self.invocations.append(line)
        self._by_execution.setdefault(line.execution_id, []).append(line)
        return line

    def of(self, execution_id: int) -> list[Invocation]:
        """What was done for one execution."""
        return self._by_execution.get(execution_id, [])

    def is_disturbed(self, execution_id: int) -> bool:
        """Whether the world made a tool fail, so that the execution need not come to what its reference did."""
        return any(self.broken(execution_id))

    def broken(self, execution_id: int) -> Iterator[str]:
        """The task runs in which the world made a tool fail; that of its caller, for a task of the workbook."""
        return (line.task_run_id for line in self.of(execution_id) if line.state == FAILED_BY_WORLD)

    def runs(self, execution_id: int, task_run_id: str, attempt: int) -> int:
        """How often one attempt of a task was executed."""
        lines = self.of(execution_id)
        return sum(1 for line in lines if line.attempt == attempt and line.task_run_id == task_run_id)

    def __iter__(self) -> Iterator[Invocation]:
        return iter(self.invocations)

    def __len__(self) -> int:
        return len(self.invocations)
