"""The API against its own OpenAPI document: no 5xx and no answer that is not documented, whatever is sent.

Positive and negative data for every operation, over a real socket. Streams are left out: they do not end, and have
tests of their own.
"""

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from noetl.api.openapi import document
from noetl.api.sight import EXECUTION_ID
from noetl.api.table import OPERATIONS
from tests.api.site import HELLO, WAITING, Site, site

EXAMPLES_MAX = 12
# A schema says what a body looks like, not that its text is a playbook or that its step exists.
MEANING = [schemathesis.checks.positive_data_acceptance]
KNOWN_IDS = ("1", "2")
schema = schemathesis.openapi.from_dict(document(one for one in OPERATIONS if not one.is_stream))


@schemathesis.serializer("application/x-ndjson")
def as_lines(_context, value):
    """An exported execution is lines; any data is one line, which is none."""
    return value if isinstance(value, bytes) else json.dumps(value, default=str).encode()


@schema.hook
def map_path_parameters(context, path_parameters):
    """Half of the executions that are asked for exist."""
    given = str((path_parameters or {}).get("execution_id", ""))
    if EXECUTION_ID.fullmatch(given) and len(given) % 2:
        return {**path_parameters, "execution_id": KNOWN_IDS[len(given) % 4 // 2]}
    return path_parameters


@pytest.fixture(scope="module")
def running(tmp_path_factory) -> Iterator[Site]:
    """A server in a thread of its own: what asks it does not know about event loops."""
    found: list[Site] = []
    loop, ready, stopping = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with site(tmp_path_factory.mktemp("api")) as api:
            await api.run(HELLO)
            await api.run(WAITING)
            found.append(api)
            ready.set()
            await stopping.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert ready.wait(30)
        yield found[0]
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(30)
        loop.close()


@pytest.mark.slow
@pytest.mark.xdist_group("schemathesis")  # they share one server
@schema.parametrize()
@settings(max_examples=EXAMPLES_MAX, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_no_answer_is_a_fault_of_ours_or_undocumented(case, running):
    case.call_and_validate(base_url=running.url, headers=running.headers("admin"), timeout=20, excluded_checks=MEANING)
