"""Kind http at work: a call in, one output out.

The path of a call: http_request makes the request, http_auth signs it, noetl.web sends it through its guard, and
http_answer or http_failures makes the output. With `spec.stream` the body goes from the connection into the result
store and is never held; an answer that is an error is read as always. Loaded with the first http task.
"""

from __future__ import annotations

import asyncio

from noetl.engine.output import Output, failure
from noetl.references import Reference
from noetl.tools.contract import Call, Hands
from noetl.tools.http_answer import output_of, type_of
from noetl.tools.http_auth import signed, signed_anew
from noetl.tools.http_failures import FAULTS, failure_of
from noetl.tools.http_request import request_of, stream_bytes_max
from noetl.tools.web_files import open_client
from noetl.web.guard import Lookup, Refused, look_up
from noetl.web.messages import Answer, Request

MULTIPLE_CHOICES = 300  # the first status of those that are no success
UNAUTHORIZED = 401


class HttpTool:
    """Sends the requests of a worker's http tasks, many at once."""

    times_itself = True  # so that a time-out says of which host

    def __init__(self, hands: Hands, lookup: Lookup = look_up) -> None:
        self._clock = hands.clock
        self._client = open_client(hands.settings, lookup)

    async def run(self, call: Call) -> Output:
        try:
            request = request_of(call)
        except Refused as refused:
            return failure("client_error", str(refused))
        try:
            if call.total_seconds is None:  # a time-out that never comes costs as much as one that may
                answer, reference = await self._exchange(request, call)
            else:
                async with asyncio.timeout(call.total_seconds):
                    answer, reference = await self._exchange(request, call)
        except FAULTS as fault:
            return failure_of(fault, request, call.total_seconds)
        return await output_of(answer, reference, now=self._clock.now())

    async def _exchange(self, request: Request, call: Call) -> tuple[Answer, Reference | None]:
        auth = call.input.get("auth")
        sent = await signed(request, call, auth)
        received = await self._received(sent, call)
        if received[0].status == UNAUTHORIZED and auth is not None:
            anew = await signed_anew(request, call, auth, sent)
            if anew is not None:
                return await self._received(anew, call)
        return received

    async def _received(self, request: Request, call: Call) -> tuple[Answer, Reference | None]:
        """The answer with its body; or its head, and the reference to the body that was stored as it came in."""
        bytes_max = stream_bytes_max(call)
        async with self._client.open(request) as incoming:
            is_kept = bytes_max is not None and incoming.status < MULTIPLE_CHOICES and incoming.has_body
            if bytes_max is None or not is_kept:
                return await incoming.read(), None
            pieces = incoming.pieces(bytes_max)
            return incoming.head, await call.results.store_stream(pieces, type_of(incoming.head))

    async def close(self) -> None:
        await self._client.close()
