"""The envelope of a task: what a tool answers, and what templates read as `output` (TK-04).

A tool gives exactly one `Output`, whatever happens: a failure is data. `envelope` turns it into the mapping that goes
into the log and into templates.
"""

from __future__ import annotations

from typing import Any

import msgspec

# TK-19: the words error.kind may be; a plugin prefixes its own
ERROR_KINDS = frozenset(
    "connection timeout rate_limit auth not_found client_error server_error db_constraint db_conflict db_error "
    "exception exit_code template type limit ref_missing ref_corrupt ref_misuse ctx_conflict jump_limit worker_lost "
    "child_failed cancelled".split()
)


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """Why a task failed. The message is for people and holds no secret and no payload."""

    kind: str
    message: str
    retryable: bool = False
    details: dict[str, Any] = {}

    def as_data(self) -> dict[str, Any]:
        return {"kind": self.kind, "retryable": self.retryable, "message": self.message, "details": self.details}


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What one invocation of a tool came to."""

    data: Any = None
    ref: dict[str, Any] | None = None  # the payload, kept elsewhere (references.py)
    error: Error | None = None
    helpers: dict[str, Any] = {}  # the kind's own: {"http": {"status": 200, …}}
    meta: dict[str, Any] = {}
    retry_after_seconds: float | None = None  # what the other side asked to wait (TK-08)
    is_definite: bool = True  # False: nobody knows whether it happened (time-out, broken connection): the key stays
    logs: tuple[str, ...] = ()  # lines it printed

    @property
    def status(self) -> str:
        return "error" if self.error else "ok"


def failure(kind: str, message: str, *, retryable: bool = False, **fields: Any) -> Output:
    """An Output that says what went wrong; `details=`, `data=`, `helpers=`, … as fields."""
    details = fields.pop("details", {})
    return Output(error=Error(kind=kind, message=message, retryable=retryable, details=details), **fields)


def envelope(output: Output, meta: dict[str, Any]) -> dict[str, Any]:
    """The mapping of TK-04: `status`, `data`, `ref`, `error`, `meta`, and the kind's helper."""
    return {
        "status": output.status,
        "data": output.data,
        "ref": output.ref,
        "error": output.error.as_data() if output.error else None,
        "meta": {**output.meta, **meta},
        **output.helpers,
    }
