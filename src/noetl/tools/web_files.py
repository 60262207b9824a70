"""The web for tools of every kind: the one client behind the operator's guard, and small files that a tool needs.

An address in, its bytes out, or `Refused` as the task's error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from noetl.engine.output import Output
from noetl.tools.contract import Call, ToolSettings
from noetl.tools.http_answer import output_of
from noetl.tools.http_failures import FAULTS, failure_of
from noetl.tools.refused import Refused
from noetl.web import guard
from noetl.web.client import Client
from noetl.web.messages import CONNECT_SECONDS, READ_SECONDS, Request, checked_header

FETCH_SECONDS_MAX = 60.0


def open_client(settings: ToolSettings, lookup: guard.Lookup = guard.look_up) -> Client:
    """A client that reaches what the operator allows, and nothing else (security 7)."""
    rules = guard.Guard(settings.http_allow, is_loopback_allowed=settings.is_loopback_allowed)
    return Client(rules, lookup)


async def fetch_file(
    client: Client, url: str, headers: Mapping[str, str], call: Call, *, follows_redirects: bool, bytes_max: int
) -> bytes:
    """The whole file."""
    try:
        request = Request(
            method="GET",
            target=guard.target_of(url),
            headers={name.lower(): checked_header(name, value) for name, value in headers.items()},
            secret_headers=frozenset(name.lower() for name in headers),
            follows_redirects=follows_redirects,
            response_bytes_max=bytes_max,
            connect_seconds=call.connect_seconds or CONNECT_SECONDS,
            read_seconds=call.read_seconds or READ_SECONDS,
        )
    except guard.Refused as refused:
        raise Refused("client_error", str(refused)) from None
    try:
        async with asyncio.timeout(FETCH_SECONDS_MAX):
            answer = await client.send(request)
    except FAULTS as fault:
        raise _refused(failure_of(fault, request, FETCH_SECONDS_MAX)) from None
    if answer.status >= 300:
        raise _refused(await output_of(answer, now=0.0))
    return answer.body


def _refused(output: Output) -> Refused:
    error = output.error
    if error is None:
        return Refused("not_found", "the script's address leads elsewhere; name the final one, or pin it with sha256")
    return Refused(error.kind, f"the script could not be fetched: {error.message}", retryable=error.retryable)
