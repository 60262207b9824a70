"""kind: nats at work: a call in, one operation on a shared connection, one Output out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from noetl.engine.output import Output, failure
from noetl.errors import ResultError
from noetl.messaging.connection import Connection
from noetl.messaging.server import Server, server_of
from noetl.messaging.signing import UnusableCredential
from noetl.secret import revealed
from noetl.tools import nats_keys, nats_objects, nats_streams
from noetl.tools.contract import Call, Hands
from noetl.tools.nats_connections import Connections
from noetl.tools.nats_failures import FAULTS, connect_failure, failure_of
from noetl.tools.nats_session import Operation, Session
from noetl.tools.refused import Refused

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
OPERATIONS: dict[str, Operation] = {**nats_keys.OPERATIONS, **nats_objects.OPERATIONS, **nats_streams.OPERATIONS}
NAMES = ("bucket", "key", "stream", "subject")


class NatsTool:
    """Does the operations of nats tasks."""

    def __init__(self, hands: Hands) -> None:
        self.bytes_max = hands.settings.result_bytes_max
        self.connections = Connections(hands.clock)

    async def run(self, call: Call) -> Output:
        given = call.input
        try:
            operation = operation_of(given)
            server, identity = await credential(call, given.get("auth"))
        except Refused as refused:
            return refused.output
        except UnusableCredential as fault:
            return failure("auth", str(fault))
        except LookupError as missing:
            return failure("auth", str(missing), retryable=bool(getattr(missing, "retryable", False)))
        seconds = call.connect_seconds or CONNECT_SECONDS
        try:
            connection = await self.connections.take(server, identity, seconds)
        except UnusableCredential as fault:
            return failure("auth", str(fault))
        except FAULTS as fault:
            return connect_failure(fault, server.place, seconds)
        try:
            return await self._operated(connection, server, operation, call)
        finally:
            self.connections.give_back(connection)

    async def close(self) -> None:
        await self.connections.close()

    async def _operated(self, connection: Connection, server: Server, operation: Operation, call: Call) -> Output:
        given, answer_seconds = call.input, call.read_seconds or ANSWER_SECONDS
        session = Session(
            client=connection.client,
            stream=connection.client.jetstream(timeout=answer_seconds),
            call=call,
            given=given,
            bytes_max=self.bytes_max,
            answer_seconds=answer_seconds,
        )
        what = said(given)
        try:
            return await connection.during(operation(session))
        except Refused as refused:
            return refused.output
        except ResultError as fault:
            return failure(fault.kind, f"{what}: {fault}", retryable=fault.retryable)
        except FAULTS as fault:
            if isinstance(fault, TimeoutError) and is_refused(connection, given):
                return failure("auth", f"{what}: {server.place} does not permit it to this credential")
            return failure_of(fault, server.place, what)
        except ValueError as fault:  # the library's word for a name that cannot be one
            return failure("client_error", f"{what}: {fault}"[:300])


def operation_of(given: Mapping[str, Any]) -> Operation:
    name = given.get("operation")
    if not isinstance(name, str) or name not in OPERATIONS:
        raise Refused("type", f'there is no operation "{str(name)[:40]}"; there are: {", ".join(OPERATIONS)}')
    return OPERATIONS[name]


async def credential(call: Call, name: object) -> tuple[Server, bytes]:
    """The server of the call's credential, and what tells its content from another's. Raises Refused, LookupError,
    UnusableCredential."""
    if not isinstance(name, str) or not name:
        raise Refused("auth", "auth must name the keychain entry of a NATS server")
    fields: dict[str, Any] = revealed(dict(await call.credentials.resolve(name)))
    identity = hashlib.sha256(msgspec.json.encode(fields, enc_hook=str, order="sorted")).digest()
    return server_of(name, fields), identity


def said(given: Mapping[str, Any]) -> str:
    """What was asked, for messages: `kv_get of orders/1`."""
    named = "/".join(str(given[name])[:80] for name in NAMES if given.get(name))
    return f"{given['operation']} of {named}" if named else str(given["operation"])


def is_refused(connection: Connection, given: Mapping[str, Any]) -> bool:
    """Whether the server said that something the call names is not permitted: it says so besides, and never answers."""
    names = [str(given[name]) for name in NAMES if given.get(name)]
    return any(name in refusal for refusal in connection.refusals for name in names)
