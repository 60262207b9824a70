"""Every transport passes the suite of transports."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from noetl.queues.direct import DirectTransport
from noetl.testing.nats_stage import on_nats
from noetl.testing.office import Office
from noetl.testing.services import running_nats
from noetl.testing.transport_suite import Connect, TransportSuite


class TestDirect(TransportSuite):
    @asynccontextmanager
    async def opened(self, office: Office) -> AsyncIterator[Connect]:
        async def connect(profile, token, clock):
            return DirectTransport(office, token=lambda: token, profile=profile, clock=clock, chance=lambda: 0.5)

        yield connect


@pytest.fixture(scope="session")
def nats_url() -> Iterator[str]:
    with running_nats() as url:
        yield url


@pytest.mark.xdist_group("transports")  # they share one server
class TestNats(TransportSuite):
    @pytest.fixture(autouse=True)
    def _on(self, nats_url: str) -> None:
        self.url = nats_url

    @asynccontextmanager
    async def opened(self, office: Office) -> AsyncIterator[Connect]:
        async with on_nats(self.url) as stage:
            await stage.server(office)
            yield stage.transport
