"""What goes wrong before there is an answer, as the output of the task.

An exception in, one `Output` out: its kind, whether another attempt may help, and whether anyone can know that nothing
happened on the other side. Messages name the host and never the URL, whose query may hold a secret.
"""

from __future__ import annotations

import os

import aiohttp

from noetl.engine.output import Output, failure
from noetl.errors import ResultError
from noetl.tools.http_auth import AuthFailed
from noetl.web.coding import OverLimit, Undecodable
from noetl.web.guard import Refused
from noetl.web.messages import Request

# what a request may end with instead of an answer; a TimeoutError is an OSError
FAULTS = (aiohttp.ClientError, OSError, Refused, AuthFailed, OverLimit, Undecodable, ResultError)


def failure_of(fault: Exception, request: Request, total_seconds: float | None) -> Output:
    """The output of a request that got no answer, or none that could be read."""
    host = request.target.host
    unreadable = _unreadable_body(fault)
    if unreadable is not None:
        return _failed(request, unreadable.kind, str(unreadable))
    if isinstance(fault, Refused):
        return _failed(request, "client_error", str(fault))
    if isinstance(fault, AuthFailed):
        return _failed(request, "auth", str(fault), retryable=fault.retryable)
    if isinstance(fault, OverLimit):
        return _failed(request, "limit", f"{host}: {fault}")
    if isinstance(fault, Undecodable):
        return _failed(request, "type", f"{host}: {fault}")
    if isinstance(fault, TimeoutError):
        message = _timeout_message(fault, request, total_seconds)
        return _failed(request, "timeout", message, retryable=True, is_definite=False)
    return _connection_failure(fault, request)


def _unreadable_body(fault: Exception) -> ResultError | None:
    """What went wrong in a result store: with the body of an answer, or with that of the request as it was sent."""
    cause = fault if isinstance(fault, ResultError) else fault.__cause__
    return cause if isinstance(cause, ResultError) else None


def _timeout_message(fault: TimeoutError, request: Request, total_seconds: float | None) -> str:
    host = request.target.host
    if isinstance(fault, aiohttp.ConnectionTimeoutError):
        return f"no connection to {host} within {request.connect_seconds:g} s (timeout.connect)"
    if isinstance(fault, aiohttp.ServerTimeoutError):
        return f"{host} sent nothing for {request.read_seconds:g} s (timeout.read)"
    limit = f"{total_seconds:g} s (timeout.total)" if total_seconds else "the time there was"
    return f"no answer of {host} within {limit}"


def _connection_failure(fault: Exception, request: Request) -> Output:
    where = f"{request.target.host}:{request.target.port}"
    if isinstance(fault, aiohttp.ClientConnectorCertificateError):
        message = (
            f"the certificate of {where} is not trusted: {fault.certificate_error}. "
            "If it is signed by a CA of your own, name its file in spec.verify"
        )
        return _failed(request, "connection", message)
    if isinstance(fault, aiohttp.ClientConnectorSSLError):
        return _failed(request, "connection", f"{where} does not speak TLS that is understood here")
    if isinstance(fault, aiohttp.ClientConnectorDNSError):
        return _failed(request, "connection", f"the name {request.target.host} could not be looked up", retryable=True)
    if isinstance(fault, aiohttp.ClientConnectorError):
        # asyncio puts the call into strerror: "Connect call failed ('127.0.0.1', 9)"
        reason = os.strerror(fault.os_error.errno) if fault.os_error.errno else "no connection"
        return _failed(request, "connection", f"cannot connect to {where}: {reason}", retryable=True)
    message = f"the connection to {where} broke before the whole answer was there"
    return _failed(request, "connection", message, retryable=True, is_definite=False)


def _failed(request: Request, kind: str, message: str, *, retryable: bool = False, is_definite: bool = True) -> Output:
    helper: dict[str, object] = {"status": None, "headers": {}, "request_id": None, "url": request.target.url}
    return failure(kind, message, retryable=retryable, is_definite=is_definite, helpers={"http": helper})
