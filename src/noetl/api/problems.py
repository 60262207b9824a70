"""How a request is refused: problem+json (RFC 9457) from the errors of `noetl.errors`, by one table.

A detail is the error's own message, which says what to do and holds no secret. What is not in the table is a fault of
ours: 500, with a trace id to look for in the log, and not a word of what broke.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from noetl import errors
from noetl.api.operations import PROBLEM
from noetl.control.inspecting import finding_rows

RETRY_SECONDS = 2
CHALLENGE = 'Bearer realm="noetl"'
log = logging.getLogger("noetl.api")


class Refusal(errors.RequestError):
    """A request that cannot be answered for a reason that only HTTP knows."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.headers = headers or {}


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong, for programs (`code`) and for people (`detail`)."""

    type: str
    title: str
    status: int
    code: str  # stable; the code of the first finding where a playbook does not check
    detail: str
    trace_id: str
    findings: list[dict[str, Any]] = []  # all of them, as `noetl check --format json` prints them


class Kind(msgspec.Struct, frozen=True):
    status: int
    code: str


# The nearest class of an error's ancestry that stands here decides.
KINDS: dict[type[BaseException], Kind] = {
    errors.InvalidPlaybook: Kind(422, "invalid-playbook"),
    errors.PlaybookError: Kind(422, "playbook"),
    errors.RequestError: Kind(400, "bad-request"),
    errors.UnknownExecution: Kind(404, "unknown-execution"),
    errors.UnknownPlaybook: Kind(404, "unknown-playbook"),
    errors.UnknownDocument: Kind(404, "unknown-document"),
    errors.WrongState: Kind(409, "wrong-state"),
    errors.TooOften: Kind(429, "too-often"),
    errors.Unauthenticated: Kind(401, "unauthenticated"),
    errors.Forbidden: Kind(403, "forbidden"),
    errors.PayloadTooLarge: Kind(413, "too-large"),
    errors.Unreachable: Kind(503, "unreachable"),
    errors.StoreBusy: Kind(503, "store-busy"),
    errors.KeychainBusy: Kind(503, "keychain-busy"),
    errors.KeychainUnusable: Kind(503, "keychain-unusable"),
    errors.DiskFull: Kind(503, "disk-full"),
    errors.MissingLibrary: Kind(422, "missing-library"),
    errors.UnusablePlugin: Kind(422, "unusable-plugin"),
    errors.ReferenceMissing: Kind(404, "ref_missing"),
    errors.ReferenceCorrupt: Kind(502, "ref_corrupt"),
    errors.ResultTooLarge: Kind(413, "limit"),
    errors.UnknownResultStore: Kind(422, "not_found"),
    errors.ResultStoreRefused: Kind(403, "auth"),
    errors.ResultStoreUnreachable: Kind(503, "connection"),
}
INTERNAL = Kind(500, "internal")


def kind_of(error: BaseException) -> Kind:
    if isinstance(error, Refusal):
        return Kind(error.status, error.code)
    return next((KINDS[one] for one in type(error).__mro__ if one in KINDS), INTERNAL)


def problem_of(error: BaseException, trace_id: str) -> Problem:
    """What may be said of an error."""
    kind = kind_of(error)
    if kind is INTERNAL:
        detail = "something broke in the server; its log has more under this trace id"
        return _problem(kind, kind.code, detail, trace_id)
    findings = finding_rows(error.findings) if isinstance(error, errors.InvalidPlaybook) else []
    code = next((str(row["code"]) for row in findings if row["severity"] == "error"), kind.code)
    return _problem(kind, code, str(error), trace_id, findings)


def _problem(
    kind: Kind, code: str, detail: str, trace_id: str, findings: list[dict[str, Any]] | None = None
) -> Problem:
    return Problem(
        type=f"urn:noetl:problem:{kind.code}",
        title=HTTPStatus(kind.status).phrase,
        status=kind.status,
        code=code,
        detail=detail,
        trace_id=trace_id,
        findings=findings or [],
    )


def refused(error: BaseException, trace_id: str) -> Response:
    """The answer to a request that failed."""
    problem = problem_of(error, trace_id)
    if problem.status == INTERNAL.status:
        log.error("request failed", exc_info=error, extra={"action": "request_failed", "trace_id": trace_id})
    return Response(msgspec.json.encode(problem), problem.status, headers_of(error, problem.status), PROBLEM)


def headers_of(error: BaseException, status: int) -> dict[str, str]:
    headers = dict(error.headers) if isinstance(error, Refusal) else {}
    if status == HTTPStatus.UNAUTHORIZED:
        headers.setdefault("WWW-Authenticate", CHALLENGE)
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        headers.setdefault("Retry-After", str(RETRY_SECONDS))
    return headers
