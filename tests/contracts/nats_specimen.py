"""kind: nats for the tool suite, on a server of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats as client_library

from noetl.testing.hands import call, hands
from noetl.testing.services import running_nats
from noetl.testing.tool_suite import PLANTED_SECRET, Entry, Specimen
from noetl.tools import nats
from tests.tools.sockets import connections_to

LATE_SECONDS = 0.2
NOWHERE = "nats://127.0.0.1:1"


@asynccontextmanager
async def nats_specimen(folder: Path) -> AsyncIterator[Specimen]:
    with running_nats() as url:
        service = await client_library.connect(url)
        asked: list[str] = []

        async def never_answers(message: object) -> None:
            asked.append("once")

        await service.subscribe("silent", cb=never_answers)
        await service.flush()

        def ask(operation: str, place: str = url, **fields: object) -> object:
            secret = {"url": place, "token": PLANTED_SECRET}
            return call(nats.KIND, auth="lab", credentials={"lab": secret}, operation=operation, **fields)

        stored = {"bucket": "numbers", "key": "one", "create_bucket": True}
        yield Specimen(
            kind=nats.KIND,
            make=nats.make,
            hands=hands(),
            good=ask("publish", subject="numbers", value=1, delivery="core"),
            expected=None,
            final=ask("kv_get", bucket="no_such_bucket", key="one"),
            retryable=ask("kv_get", NOWHERE, bucket="numbers", key="one"),
            late=ask("request", subject="silent", wait_seconds=LATE_SECONDS),
            endless=ask("request", subject="silent", wait_seconds=600),
            is_under_way=lambda: bool(asked),
            with_secret=(
                ask("kv_put", value=PLANTED_SECRET, **stored),
                ask("kv_get", NOWHERE, bucket="numbers", key="one"),
                ask("kv_get", f"nats://{PLANTED_SECRET}@127.0.0.1:1", bucket="numbers", key="one"),
                ask("kv_get", f"http://{PLANTED_SECRET}@127.0.0.1:1/", bucket="numbers", key="one"),
                ask("publish", subject="no stream", value=PLANTED_SECRET),
                ask("request", subject="nobody", value=PLANTED_SECRET),
            ),
            left_over=lambda: connections_to(url),
        )
        await service.close()


NATS = Entry(name="nats", open=nats_specimen)
