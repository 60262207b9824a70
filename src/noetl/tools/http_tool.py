"""Kind http at work: a call in, one output out.

The path of a call: http_request makes the request, http_auth signs it, http_client sends it through http_guard and
reads the answer through http_coding, http_answer or http_failures makes the output. Loaded with the first http task.
"""

from __future__ import annotations

import asyncio

from noetl.engine.output import Output, failure
from noetl.tools.contract import Call, Hands
from noetl.tools.http_answer import Answer, output_of
from noetl.tools.http_auth import Signer
from noetl.tools.http_client import Client
from noetl.tools.http_failures import FAULTS, failure_of
from noetl.tools.http_guard import Guard, Lookup, Refused, look_up
from noetl.tools.http_request import Request, request_of

UNAUTHORIZED = 401


class HttpTool:
    """Sends the requests of a worker's http tasks, many at once."""

    def __init__(self, hands: Hands, lookup: Lookup = look_up) -> None:
        settings = hands.settings
        self._clock = hands.clock
        self._client = Client(Guard(settings.http_allow, is_loopback_allowed=settings.is_loopback_allowed), lookup)
        self._signer = Signer(hands, self._client)

    async def run(self, call: Call) -> Output:
        try:
            request = request_of(call)
        except Refused as refused:
            return failure("client_error", str(refused))
        try:
            async with asyncio.timeout(call.total_seconds):
                answer = await self._exchange(request, call.input.get("auth"))
        except FAULTS as fault:
            return failure_of(fault, request, call.total_seconds)
        return await output_of(answer, now=self._clock.now())

    async def _exchange(self, request: Request, auth: object) -> Answer:
        signed = await self._signer.signed(request, auth)
        answer = await self._client.send(signed)
        if answer.status == UNAUTHORIZED and auth is not None and await self._signer.can_renew(auth, signed):
            answer = await self._client.send(await self._signer.signed(request, auth))
        return answer

    async def close(self) -> None:
        await self._client.close()
