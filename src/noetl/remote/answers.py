"""Refusals of a server, as the errors that they were there: problem+json in, an error of `noetl.errors` out.

The server's own words are kept, and with the class come its exit code and what the command line makes of it. A problem
that no table here knows is judged by its status: the server may be newer.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec

from noetl import errors

PROBLEM = "application/problem+json"
URN = "urn:noetl:problem:"
CLASSES: dict[str, type[errors.NoetlError]] = {
    "playbook": errors.PlaybookError,
    "bad-request": errors.RequestError,
    "unknown-execution": errors.UnknownExecution,
    "unknown-playbook": errors.UnknownPlaybook,
    "unknown-document": errors.UnknownDocument,
    "wrong-state": errors.WrongState,
    "too-often": errors.TooOften,
    "unauthenticated": errors.Unauthenticated,
    "forbidden": errors.Forbidden,
    "too-large": errors.PayloadTooLarge,
    "unreachable": errors.Unreachable,
    "store-busy": errors.StoreBusy,
    "keychain-busy": errors.KeychainBusy,
    "keychain-unusable": errors.KeychainUnusable,
    "disk-full": errors.DiskFull,
    "missing-library": errors.MissingLibrary,
    "unusable-plugin": errors.UnusablePlugin,
    "ref_missing": errors.ReferenceMissing,
    "ref_corrupt": errors.ReferenceCorrupt,
    "limit": errors.ResultTooLarge,
    "not_found": errors.UnknownResultStore,
    "auth": errors.ResultStoreRefused,
    "connection": errors.ResultStoreUnreachable,
}
INVALID = "invalid-playbook"
PASSING = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, 504)


class Problem(msgspec.Struct, kw_only=True):
    """What a server says is wrong; of what it may say more, nothing is needed here."""

    type: str
    detail: str
    trace_id: str = ""
    findings: list[dict[str, Any]] = []


class Refused(errors.InvalidPlaybook):
    """A playbook that the server's checker refused: its findings as the server wrote them."""

    def __init__(self, problem: Problem) -> None:
        super().__init__("", "", problem.findings)
        self.args = (problem.detail,)


def error_of(status: int, content_type: str, content: bytes) -> errors.NoetlError | None:
    """The error that an answer stands for; None: it is no answer of a NoETL server."""
    if content_type.partition(";")[0].strip() != PROBLEM:
        return None
    try:
        problem = msgspec.json.decode(content, type=Problem)
    except msgspec.MsgspecError:
        return None
    kind = problem.type.removeprefix(URN)
    if kind == INVALID:
        return Refused(problem)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return errors.InternalError(f"{problem.detail}: {problem.trace_id}")
    passing = errors.Unreachable if status in PASSING else errors.RequestError
    return _made(CLASSES.get(kind, passing), problem.detail)


def _made(kind: type[errors.NoetlError], message: str) -> errors.NoetlError:
    """An error with a message that was made elsewhere; what its own would be made from stayed there."""
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    return error
