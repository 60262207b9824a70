"""A call that a tool turns down before it starts anything."""

from __future__ import annotations

from noetl.engine.output import Output, failure


class Refused(Exception):
    """Why a call cannot be run as it stands; the message is for people."""

    def __init__(self, kind: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable

    @property
    def output(self) -> Output:
        return failure(self.kind, str(self), retryable=self.retryable)
