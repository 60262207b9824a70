"""What goes wrong on NATS, as the output of the task.

An exception in, one `Output` out: its kind, whether another attempt may help, and whether anyone can know that nothing
happened on the other side. Messages name the server's place and what the task named, and never a value.
"""

from __future__ import annotations

import os
import socket
import ssl

import nats.errors
import nats.js.errors

from noetl.engine.output import Output, failure
from noetl.messaging.connection import Broken, Unsecured

WRONG_REVISION = (10071, 10164)  # the server's codes for a last sequence that is another
NO_AUTHORITY = ("authorization", "authentication", "permissions violation", "user jwt", "account")
FAULTS = (nats.errors.Error, OSError, ssl.SSLError)  # a TimeoutError is an OSError
JETSTREAM = nats.js.errors


def connect_failure(fault: Exception, place: str, seconds: float) -> Output:
    """Nothing was asked of the server yet."""
    said = str(fault).lower()
    if isinstance(fault, Unsecured):
        message = (
            f"{place} does not offer TLS, which is demanded off this machine; tls: false in the credential gives it up"
        )
        return failure("connection", message)
    if isinstance(fault, ssl.SSLCertVerificationError):
        message = f"the certificate of {place} is not trusted: {fault.verify_message}; a CA of your own goes into ca"
        return failure("connection", message)
    if isinstance(fault, ssl.SSLError):
        return failure("connection", f"{place} does not speak TLS that is understood here")
    if isinstance(fault, nats.errors.AuthorizationError) or any(word in said for word in NO_AUTHORITY):
        return failure("auth", f"{place} refuses the credential")
    if isinstance(fault, TimeoutError):
        message = f"no connection to {place} within {seconds:g} s (timeout.connect)"
        return failure("timeout", message, retryable=True)
    return failure("connection", f"cannot connect to {place}: {reason_of(fault)}", retryable=True)


def reason_of(fault: Exception) -> str:
    if isinstance(fault, socket.gaierror):
        return "its name could not be looked up"
    if isinstance(fault, OSError):
        return os.strerror(fault.errno) if fault.errno and fault.errno > 0 else "no connection"
    return described(fault)


def failure_of(fault: Exception, place: str, what: str) -> Output:
    """`what` says what was asked: kv_get of orders/1."""
    if isinstance(fault, JETSTREAM.NotFoundError):
        return failure("not_found", f"{what}: {missing(fault)}")
    if isinstance(fault, JETSTREAM.NoStreamResponseError):
        message = f"{what}: no stream takes that subject; make one, or publish with delivery: core"
        return failure("not_found", message)
    if isinstance(fault, nats.errors.NoRespondersError):
        return failure("not_found", f"{what}: nobody answers that subject now", retryable=True)
    if isinstance(fault, JETSTREAM.KeyWrongLastSequenceError) or getattr(fault, "err_code", None) in WRONG_REVISION:
        return failure(
            "db_conflict", f"{what}: the key was changed meanwhile, or is there already: its revision is another"
        )
    if isinstance(fault, JETSTREAM.ServiceUnavailableError):
        message = f"{what}: {place} has no JetStream, or none that answers now"
        return failure("server_error", message, retryable=True)
    if isinstance(fault, JETSTREAM.ServerError):
        return failure("server_error", f"{what}: {described(fault)}", retryable=True)
    if isinstance(fault, nats.errors.MaxPayloadError):
        return failure("limit", f"{what}: the value is larger than {place} takes in one message; use object_put")
    if isinstance(fault, JETSTREAM.DigestMismatchError):
        return failure("ref_corrupt", f"{what}: the object is damaged: its SHA-256 is another")
    if isinstance(
        fault, Broken | nats.errors.ConnectionClosedError | nats.errors.StaleConnectionError | ConnectionError
    ):
        message = f"{what}: the connection to {place} broke"
        return failure("connection", message, retryable=True, is_definite=False)
    if isinstance(fault, TimeoutError):
        return failure("timeout", f"{what}: no answer of {place} in time", retryable=True, is_definite=False)
    return failure("client_error", f"{what}: {described(fault)}")


def missing(fault: Exception) -> str:
    if isinstance(fault, JETSTREAM.KeyNotFoundError):
        return "there is no such key"
    if isinstance(fault, JETSTREAM.BucketNotFoundError):
        return "there is no such bucket; create_bucket: true makes it when something is put"
    if isinstance(fault, JETSTREAM.ObjectNotFoundError):
        return "there is no such object"
    return described(fault)


def described(fault: Exception) -> str:
    """The server's own words, or the name of what the library found wrong."""
    words = getattr(fault, "description", None) or str(fault).removeprefix("nats: ")
    return str(words or type(fault).__name__)[:300]
