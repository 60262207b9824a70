"""Large results, read through the execution that made them.

A reference opens nothing by itself (security 23): it must stand in the log of an execution that the token may see. The
client names the event that holds it; of several in one event, which. What is sent is checked against the size and the
sha256 of the reference; a damaged one breaks off, so that nobody takes half of it for the whole.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import islice
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from noetl.api.executions import ONE, Seq
from noetl.api.operations import ANY, Call, Media, Operation
from noetl.api.problems import Refusal
from noetl.api.sight import execution_of
from noetl.control.exported_payloads import references_in
from noetl.identity.roles import VIEWER
from noetl.references import Reference
from noetl.results.contract import Readable

TAG = "results"
SHA = r"^[0-9a-f]{64}$"
REFERENCES_MAX = 1000  # that are looked at in one event
SAFE_MEDIA = ("application/json", "application/x-ndjson", "text/plain", "text/csv", "application/octet-stream")


class ResultQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    seq: Annotated[Seq, Meta(description="the event that holds the reference")]
    sha256: Annotated[str, Meta(pattern=SHA, description="which, of several")] | None = None


async def read_result(call: Call) -> Response:
    query: ResultQuery = call.query
    row = await execution_of(call)
    found = await call.parts.store.events(row.id, query.seq - 1, 1)
    references = list(islice(references_in(found[0][1]), REFERENCES_MAX)) if found and found[0][0] == query.seq else []
    reference = chosen(references, query)
    store = await call.parts.read_result(row.id, reference)
    return await sent(store, reference)


def chosen(references: list[Reference], query: ResultQuery) -> Reference:
    matching = [one for one in references if query.sha256 in (None, one.sha256)]
    if not matching:
        which = " with that sha256" if query.sha256 else ""
        raise Refusal(404, "no-reference", f"event {query.seq} of this execution holds no reference{which}")
    if len({one.locator for one in matching}) > 1:
        raise Refusal(400, "which-reference", f"event {query.seq} holds several references: name one by its sha256")
    return matching[0]


async def sent(store: Readable, reference: Reference) -> Response:
    """The payload in pieces. The first is read before anything is said, so that what is not there is a 404."""
    pieces = store.stream(reference)
    try:
        first = await anext(pieces)
    except StopAsyncIteration:
        first = b""
    media = reference.content_type.partition(";")[0].strip().lower()
    headers = {"Content-Disposition": "attachment"}  # never a page of ours, whatever it says it is
    if reference.bytes is not None:
        headers["Content-Length"] = str(reference.bytes)
    if reference.sha256 is not None:
        headers["ETag"] = f'"{reference.sha256}"'
    return StreamingResponse(joined(first, pieces), 200, headers, media if media in SAFE_MEDIA else ANY)


async def joined(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


OPERATIONS = (
    Operation(
        method="GET",
        path=f"{ONE}/results",
        role=VIEWER,
        summary="Read a large result that an event of the execution refers to",
        handler=read_result,
        tag=TAG,
        query=ResultQuery,
        answers={200: Media("*/*", "the payload, as it was stored")},
        refusals=(404, 413, 422, 502),
    ),
)
