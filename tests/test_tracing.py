"""Traces as a collector receives them: OTLP over HTTP, decoded by the library's own messages."""

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from noetl import tracing
from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.control.metrics import Meters
from noetl.control.requests import RunRequest
from noetl.errors import MissingLibrary, Unreachable
from noetl.projections.spans import Span
from noetl.testing.http_server import running_api
from noetl.traceparent import read
from noetl.tracing import Collector
from tests.control.parts import opened, text_of

CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
PLAYBOOK = """
workload: {{url: "{url}"}}
workflow:
  - step: start
    tool:
      - name: fetch
        kind: http
        input: {{url: "{{{{ workload.url }}}}/echo"}}
      - name: call
        kind: playbook
        input: {{path: below}}
"""
BELOW = """
workflow:
  - step: only
    tool:
      - {name: rest, kind: noop}
"""


class Receiver:
    """What was posted."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.status = 200
        self.requests: list[ExportTraceServiceRequest] = []
        self.paths: list[str] = []

    @property
    def spans(self):
        return {
            span.name: span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }


@contextmanager
def receiving() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            message = ExportTraceServiceRequest()
            message.ParseFromString(self.rfile.read(int(self.headers["content-length"])))
            receiver.requests.append(message)
            receiver.paths.append(self.path)
            self.send_response(receiver.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = Receiver(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def traced(parts, url):
    settings = Settings(home=parts.settings.home, store_url=parts.settings.store_url, otel_url=url)
    found = tracing.tracing(settings, parts.store, SystemClock(), Meters(), "server-1")
    parts.intake.observer = lambda *share: (found.told(*share), parts._committed(*share))
    return found


def parents(spans):
    """The name of each span's parent; its id, where it is none of these."""
    names = {span.span_id.hex(): name for name, span in spans.items()}
    return {name: names.get(parent := span.parent_span_id.hex(), parent) for name, span in spans.items()}


def attributes(span):
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


async def test_a_run_with_a_child_is_one_trace_that_goes_on_in_other_systems(tmp_path):
    place = read(CALLER)
    with receiving() as receiver, running_api() as api:
        async with opened(tmp_path) as parts:
            found = traced(parts, receiver.url)
            await parts.desk.register(RunRequest(data=text_of(BELOW, "below"), name="below.yaml"))
            request = RunRequest(
                data=text_of(PLAYBOOK.format(url=api.url)),
                name="trial.yaml",
                trace_id=place.trace_id,
                parent_span_id=place.span_id,
            )
            execution_id, _ = await parts.start(request)
            await parts.until_quiet(execution_id)
            await found.traces.flush()
            found.collector.close()
        (sent,) = api.requests()

    spans = receiver.spans
    assert set(spans) == {"trial", "start", "fetch", "call", "below", "only", "rest"}
    assert {span.trace_id.hex() for span in spans.values()} == {place.trace_id}
    assert parents(spans) == {
        "trial": place.span_id,
        "start": "trial",
        "fetch": "start",
        "call": "start",
        "below": "call",
        "only": "below",
        "rest": "only",
    }
    assert read(sent.headers["traceparent"]) == (place.trace_id, spans["fetch"].span_id.hex())
    assert attributes(spans["fetch"])["noetl.kind"] == "http"
    assert receiver.paths == ["/v1/traces"]


SPAN = Span(
    trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
    span_id="00f067aa0ba902b7",
    name="load",
    started_at=1000.25,
    ended_at=1001.5,
    attributes={"noetl.step": "load", "noetl.run": 3},
    error="timeout: too slow",
)


async def test_a_span_keeps_its_times_its_attributes_and_its_error():
    with receiving() as receiver:
        collector = Collector(f"{receiver.url}/v1/traces", "server-1")

        await collector.send([SPAN])
        collector.close()

    (span,) = receiver.spans.values()
    (resource,) = receiver.requests[0].resource_spans
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (1_000_250_000_000, 1_001_500_000_000)
    assert attributes(span) == {"noetl.step": "load", "noetl.run": 3}
    assert (span.status.code, span.status.message) == (2, "timeout: too slow")
    assert attributes(resource.resource)["service.instance.id"] == "server-1"
    assert receiver.paths == ["/v1/traces"]


async def test_a_collector_that_refuses_costs_the_spans_only():
    with receiving() as receiver:
        receiver.status = 400
        collector = Collector(receiver.url, "server-1")

        with pytest.raises(Unreachable, match="did not take 1 spans"):
            await collector.send([SPAN])
        collector.close()


async def test_a_run_is_not_slower_while_the_collector_is_away(tmp_path, monkeypatch):
    monkeypatch.setattr(tracing, "EXPORT_SECONDS_MAX", 0.5)
    async with opened(tmp_path) as parts:
        found = traced(parts, "http://127.0.0.1:9")  # the port of discard, where nobody listens
        running = asyncio.create_task(found.run())
        begun_at = time.monotonic()

        execution_id, _ = await parts.start(RunRequest(data=text_of(BELOW), name="trial.yaml"))
        await parts.until_quiet(execution_id)

        assert time.monotonic() - begun_at < tracing.EXPORT_SECONDS_MAX + 1.0
        assert parts.watched(execution_id).status == "success"
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)

    with pytest.raises(MissingLibrary, match=r'pip install "noetl\[otel\]"'):
        Collector("http://127.0.0.1:9", "server-1")


def test_without_a_collector_nothing_is_made(tmp_path):
    settings = Settings(home=tmp_path, store_url="sqlite:///x.db")

    assert tracing.tracing(settings, None, SystemClock(), Meters(), "server-1") is None
