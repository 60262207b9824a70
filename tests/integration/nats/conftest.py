"""kind: nats on the session's server: a tool, one operation at a time, another client to look from outside."""

import hashlib

import nats as client_library
import pytest
import pytest_asyncio

from noetl.engine.output import Output
from noetl.testing.hands import call, hands, run
from noetl.tools import nats
from noetl.tools.contract import ToolSettings

SETTINGS = ToolSettings(result_bytes_max=1024 * 1024)


@pytest_asyncio.fixture
async def tool():
    made = nats.make(hands(settings=SETTINGS))
    yield made
    await made.close()


@pytest_asyncio.fixture
async def ask(tool, nats_url):
    """Do one operation on the server; `attempt` names the idempotency key."""
    numbers = iter(range(1_000_000))

    async def asked(operation, *, attempt=None, results=None, url=nats_url, **fields) -> Output:
        one = call(
            nats.KIND,
            auth="lab",
            credentials={"lab": {"url": url}},
            idempotency_key=attempt or f"{id(tool)}/{next(numbers)}",
            results=results,
            operation=operation,
            **fields,
        )
        return await run(tool, one)

    return asked


@pytest_asyncio.fixture
async def other(nats_url):
    """Another client of the same server."""
    client = await client_library.connect(nats_url)
    yield client
    await client.close()


@pytest.fixture
def place(request):
    """A name that no other test uses."""
    return hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12]
