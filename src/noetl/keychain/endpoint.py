"""Asking a service for a secret: a request in, its answer out, or `CredentialUnavailable`.

The one HTTP client, with a guard of the caller's choice; redirects are not followed, so that a secret goes where it was
meant to go and nowhere else. Messages name the host, never a URL, a header or a body.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.secret import CredentialUnavailable
from noetl.web.guard import Guard, Lookup, Refused, look_up
from noetl.web.json_body import NotJson, parsed_json
from noetl.web.messages import Answer, Request

if TYPE_CHECKING:
    from noetl.web.client import Client

ANSWER_BYTES_MAX = 1024 * 1024
CONNECT_SECONDS = 5.0
READ_SECONDS = 20.0
TOTAL_SECONDS = 30.0
TOO_MANY, SERVER_FAULT = 429, 500


class OperatorsHosts(Guard):
    """Exactly the hosts that the operator named, on whatever network; metadata services never."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self._hosts = frozenset(hosts)
        super().__init__(tuple(self._hosts), is_loopback_allowed=False)

    def check_literal(self, host: str) -> None:
        if host not in self._hosts:
            raise Refused(f"{host} is not asked: the operator names {', '.join(sorted(self._hosts))}")
        super().check_literal(host)


class Endpoint:
    """Sends the keychain's own requests."""

    def __init__(self, guard: Guard, *, ca_file: str | None = None, lookup: Lookup = look_up) -> None:
        self._guard = guard
        self._ca_file = ca_file
        self._lookup = lookup
        self._client: Client | None = None

    async def ask(self, request: Request, what: str) -> Answer:
        """`what`: who is asked, for messages, such as `the token endpoint of credential "api"`."""
        from noetl.web.client import UNANSWERED, Client  # brings aiohttp, 200 ms that most keychains never need

        self._client = self._client or Client(self._guard, self._lookup)
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                return await self._client.send(bounded(request, self._ca_file))
        except Refused as refused:
            raise CredentialUnavailable(f"{what}: {refused}") from None
        except TimeoutError:
            host = request.target.host
            raise CredentialUnavailable(f"{what}: {host} did not answer in time", retryable=True) from None
        except UNANSWERED as fault:
            host = request.target.host
            message = f"{what}: no answer of {host} could be had ({type(fault).__name__})"
            raise CredentialUnavailable(message, retryable=True) from None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.close()


def bounded(request: Request, ca_file: str | None) -> Request:
    return msgspec.structs.replace(
        request,
        follows_redirects=False,
        verify=ca_file or True,
        response_bytes_max=ANSWER_BYTES_MAX,
        connect_seconds=CONNECT_SECONDS,
        read_seconds=READ_SECONDS,
    )


def refused_by(what: str, answer: Answer, why: str = "") -> CredentialUnavailable:
    """An answer that gives no secret."""
    is_passing = answer.status == TOO_MANY or answer.status >= SERVER_FAULT
    words = f" ({why})" if why else ""
    return CredentialUnavailable(f"{what} answered HTTP {answer.status}{words}", retryable=is_passing)


def mapping_in(what: str, answer: Answer) -> Mapping[str, Any]:
    """The JSON mapping of an answer."""
    try:
        data = parsed_json(answer.body)
    except NotJson:
        data = None
    if not isinstance(data, dict):
        raise CredentialUnavailable(f"{what} did not answer with a JSON mapping")
    return data
