"""Where traces go: an OpenTelemetry collector, over OTLP and HTTP. The library is the extra `otel`.

Comes in: settings, and the spans of `control/traces.py`. Goes out: batches, sent by the library's exporter from a
thread of its own, because it waits and retries there. Wires, and decides nothing. Without `otel.url` nothing is
imported; `traceparent` is taken in and passed on either way, as text.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

from noetl import __version__
from noetl.clock import Clock
from noetl.config import Settings
from noetl.control.metrics import Meters
from noetl.control.traces import Traces
from noetl.errors import MissingLibrary, Unreachable
from noetl.projections.spans import Span
from noetl.stores.contract import Store

EXPORT_SECONDS_MAX = 10.0
EXPORT_PATH = "/v1/traces"
NANOSECONDS = 1_000_000_000


def tracing(settings: Settings, store: Store, clock: Clock, meters: Meters, server: str) -> Tracing | None:
    """The traces of a server, if it is told where to send them."""
    if not settings.otel_url:
        return None
    collector = Collector(settings.otel_url, server)
    return Tracing(Traces(store, collector.send, clock, meters), collector)


class Tracing:
    """Traces under way; `told` is what to call after each commit."""

    def __init__(self, traces: Traces, collector: Collector) -> None:
        self.told = traces.told
        self.traces = traces
        self.collector = collector

    async def run(self) -> None:
        """Send until cancelled; then what is left, once, in a bounded time."""
        try:
            await self.traces.run()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(EXPORT_SECONDS_MAX):
                    await self.traces.flush()
            self.collector.close()


class Collector:
    """The exporter of the library, and our spans in its shape."""

    def __init__(self, url: str, server: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace.export import SpanExportResult
        except ImportError:
            raise MissingLibrary('otel.url needs: pip install "noetl[otel]"') from None
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())  # what failed, we say ourselves, once
        self.url = url if url.endswith(EXPORT_PATH) else url + EXPORT_PATH
        self._exporter = OTLPSpanExporter(endpoint=self.url, timeout=EXPORT_SECONDS_MAX)
        self._resource = Resource.create(
            {"service.name": "noetl", "service.version": __version__, "service.instance.id": server}
        )
        self._success = SpanExportResult.SUCCESS

    async def send(self, spans: list[Span]) -> None:
        """Hand them over. Raises Unreachable: the collector did not take them, and they are given up."""
        shaped = [readable(span, self._resource) for span in spans]
        if await asyncio.to_thread(self._exporter.export, shaped) is not self._success:
            raise Unreachable(f"the collector at {self.url} did not take {len(spans)} spans")

    def close(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # the library has no types there


def readable(span: Span, resource: Any) -> Any:
    """A span in the library's shape."""
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Status, StatusCode

    status = Status(StatusCode.OK) if span.error is None else Status(StatusCode.ERROR, span.error)
    return ReadableSpan(
        name=span.name,
        context=context(span.trace_id, span.span_id, is_remote=False),
        parent=context(span.trace_id, span.parent_id, is_remote=True) if span.parent_id else None,
        resource=resource,
        attributes=span.attributes,
        status=status,
        start_time=int(span.started_at * NANOSECONDS),
        end_time=int(max(span.started_at, span.ended_at) * NANOSECONDS),
    )


def context(trace_id: str, span_id: str, *, is_remote: bool) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote, TraceFlags(TraceFlags.SAMPLED))
