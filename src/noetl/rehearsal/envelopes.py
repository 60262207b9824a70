"""An answer as a test writes it → the Output of a tool; and an Output → an answer, to be written down.

What an author leaves out is as the kind would have it: an error is retryable by its kind, an HTTP status of 400 and
more is an error, an answer has the kind's helper with nothing in it.
"""

from __future__ import annotations

from typing import Any

from noetl.dsl.kinds import Kind
from noetl.engine.output import Error, Output

RETRYABLE = frozenset(("connection", "timeout", "rate_limit", "server_error", "db_conflict", "worker_lost"))
INDEFINITE = frozenset(("timeout",))  # nobody knows whether it happened, so the idempotency key stays
HTTP_STATUSES = {
    "rate_limit": 429,
    "auth": 401,
    "not_found": 404,
    "client_error": 400,
    "server_error": 503,
}
SELECTORS = ("run", "iteration")
OWN_KEYS = ("data", "ref", "stored", "error", "takes", "retry_after", "definite", "logs", "meta")
DURATION = "duration_ms"  # of meta, in what a log has: how long it took then
Answer = dict[str, Any]


def output_of(answer: Answer, kind: Kind) -> Output:
    """What a tool of that kind gave, by the words of a test."""
    helpers = helpers_of(answer, kind)
    error = error_of(answer.get("error"), helpers, kind)
    return Output(
        data=answer.get("data"),
        ref=answer.get("ref"),
        error=error,
        helpers=helpers,
        retry_after_seconds=answer.get("retry_after"),
        is_definite=answer.get("definite", error is None or error.kind not in INDEFINITE),
        logs=tuple(answer.get("logs", ())),
    )


def helpers_of(answer: Answer, kind: Kind) -> dict[str, Any]:
    found = {name: value for name, value in answer.items() if name not in OWN_KEYS and name not in SELECTORS}
    if not kind.helper:
        return found
    given = found.get(kind.helper) or {}
    helper = {**dict.fromkeys(kind.helper_fields), **given}
    if kind.name == "http" and "status" not in given:
        error = answer.get("error")
        helper["status"] = HTTP_STATUSES.get(error.get("kind", "")) if error else 200
    if kind.name == "http" and not given.get("headers"):
        helper["headers"] = {}
    return {**found, kind.helper: helper}


def error_of(given: dict[str, Any] | None, helpers: dict[str, Any], kind: Kind) -> Error | None:
    if given is None:
        return _error_of_status(helpers) if kind.name == "http" else None
    word = str(given.get("kind", "exception"))
    return Error(
        kind=word,
        message=str(given.get("message", f"the test says: {word}")),
        retryable=bool(given.get("retryable", word in RETRYABLE)),
        details=given.get("details") or {},
    )


def _error_of_status(helpers: dict[str, Any]) -> Error | None:
    status = helpers["http"].get("status")
    if not isinstance(status, int) or status < 400:
        return None
    from noetl.tools.http_answer import KINDS, KINDS_OF_HUNDREDS

    word, is_retryable = KINDS.get(status) or KINDS_OF_HUNDREDS.get(status // 100, ("server_error", False))
    message = f"HTTP {status} from the test"
    return Error(kind=word, message=message, retryable=is_retryable, details={"status": status})


def answer_of(output: Output) -> Answer:
    """An output in the words of a test; `output_of` gives the same output again, for every kind."""
    answer: Answer = {}
    if output.error is not None:
        error = output.error
        answer["error"] = {"kind": error.kind, "message": error.message}
        if error.retryable != (error.kind in RETRYABLE):
            answer["error"]["retryable"] = error.retryable
        if error.details:
            answer["error"]["details"] = error.details
    if output.data is not None or (output.error is None and output.ref is None):
        answer["data"] = output.data
    if output.ref is not None:
        answer["ref"] = output.ref
    answer |= output.helpers
    if output.retry_after_seconds is not None:
        answer["retry_after"] = output.retry_after_seconds
    usual = output.error is None or output.error.kind not in INDEFINITE
    if output.is_definite != usual:
        answer["definite"] = output.is_definite
    return answer
