"""What is asked of a run, what comes back, and who may watch it meanwhile."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from noetl.engine.events import Event
from noetl.projections.progress import Progress


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What `noetl run` asks for: a text, or a path of the catalog."""

    data: bytes | None = None
    name: str = ""
    folder: str = ""
    beside: dict[str, str] = {}  # files of a folder that nobody here can see, by name: what it calls
    path: str | None = None
    version: int | None = None
    payload: dict[str, Any] = {}
    is_legacy: bool = False
    is_upstream: bool = False
    request_key: str | None = None
    wait_seconds: float = 0.0
    trace_id: str = ""  # 32 hexadecimal digits, where the caller is part of a trace; "": a new one
    parent_span_id: str = ""  # of the caller's span, 16 digits (`noetl.traceparent.read`)
    rerun_of: int = 0  # the execution that it does again


class RerunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for. At most one of `from_step`, `at` and `is_from_failed`; none: from the beginning."""

    execution_id: int
    from_step: str = ""
    is_from_failed: bool = False  # from the step whose failure no arc handled
    at: int = 0
    is_whole: bool = False  # of a step whose loop failed: all of it anew, not only what is left to do
    set: dict[str, Any] = {}  # dotted names
    data: bytes | None = None  # another text of the playbook
    name: str = ""
    is_legacy: bool = False
    is_upstream: bool = False
    request_key: str | None = None


def rerun_row(
    execution_id: int,
    status: str,
    new: int | None = None,
    is_new: bool = False,
    error: dict[str, Any] | str | None = None,
) -> dict[str, Any]:
    """What became of one of many that were to run again: its new execution, or why there is none."""
    return {
        "execution_id": str(execution_id),
        "new_execution_id": None if new is None else str(new),
        "is_new": is_new,
        "status": status,
        "error": {"kind": "refused", "message": error} if isinstance(error, str) else error,
    }


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended, or that it was interrupted."""

    summary: dict[str, Any]
    is_interrupted: bool = False
    runs_on: str = ""  # the server where it goes on, though nobody watches it any more
    is_undone: bool = False  # what its steps did was compensated


class Observer(Protocol):
    """Whoever watches a run. Called on the loop's thread, after each commit."""

    tick_seconds: float

    def started(
        self, execution_id: int, playbook_name: str, file: str, step_names: list[str], so_far: Progress | None = None
    ) -> None:
        """Before anything new is committed; `so_far` is what the log of one that goes on has come to."""
        ...

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None: ...

    def printed(self, execution_id: int, step: str, task: str, line: str) -> None: ...

    def stopping(self, tasks_in_flight: int) -> None: ...

    def unserved(self, reason: str) -> None:
        """A job is ready, and nobody is there to take it; told by a server elsewhere."""
        ...

    def tick(self) -> None: ...


class Nobody:
    """An observer that does not look."""

    tick_seconds = 1.0

    def started(
        self, execution_id: int, playbook_name: str, file: str, step_names: list[str], so_far: Progress | None = None
    ) -> None: ...

    def committed(self, execution_id: int, first_seq: int, events: list[Event]) -> None: ...

    def printed(self, execution_id: int, step: str, task: str, line: str) -> None: ...

    def stopping(self, tasks_in_flight: int) -> None: ...

    def unserved(self, reason: str) -> None: ...

    def tick(self) -> None: ...
