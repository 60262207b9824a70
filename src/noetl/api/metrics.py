"""The numbers of a server, for Prometheus. `control.prometheus` makes the page; docs/observability.md explains it."""

from __future__ import annotations

from starlette.responses import Response

from noetl.api.operations import TEXT, Call, Media, Operation
from noetl.api.problems import Refusal


async def read_metrics(call: Call) -> Response:
    from noetl.control.prometheus import CONTENT_TYPE  # with the library, which other operations do without

    if call.parts.metrics is None:
        raise Refusal(503, "no-metrics", "this server does not measure itself")
    return Response(await call.parts.metrics.page(), headers={"content-type": CONTENT_TYPE})


OPERATIONS = (
    Operation(
        method="GET",
        path="/metrics",
        role="viewer",
        summary="Metrics, in the text format of Prometheus",
        handler=read_metrics,
        tag="operations",
        answers={200: Media(TEXT, "one line for each series")},
    ),
)
