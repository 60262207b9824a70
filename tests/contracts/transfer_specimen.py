"""Kind transfer for the shared suite: from a server into the result store; tables are in tests/integration."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from noetl.testing.hands import call, hands
from noetl.testing.tool_suite import PLANTED_SECRET, Entry, Specimen
from noetl.tools import transfer
from noetl.tools.contract import Call
from tests.contracts.http_specimens import answer
from tests.tools.http_parts import raw_server

CREDENTIALS = {"api": {"token": PLANTED_SECRET}, "basic": {"username": "u", "password": PLANTED_SECRET}}
NOBODY = "http://127.0.0.1:1/rows"


def moving(url: str, total_seconds: float | None = None, **source: Any) -> Call:
    return call(
        transfer.KIND,
        source={"kind": "http", "format": "ndjson", "url": url, **source},
        target={"kind": "file"},
        credentials=CREDENTIALS,
        total_seconds=total_seconds,
    )


@asynccontextmanager
async def open_transfer(_: Path) -> AsyncIterator[Specimen]:
    async with raw_server(answer) as server:
        yield Specimen(
            kind=transfer.KIND,
            make=transfer.make,
            hands=hands(),
            good=moving(f"{server.url}/good"),
            expected=None,
            final=moving(f"{server.url}/missing"),
            retryable=moving(NOBODY),
            late=moving(f"{server.url}/never", total_seconds=0.2),
            endless=moving(f"{server.url}/never"),
            is_under_way=lambda: bool(server.open),
            with_secret=tuple(
                moving(f"{server.url}/{path}", auth=name)
                for name in CREDENTIALS
                for path in ("good", "private", "busy")
            ),
            left_over=lambda: set(server.open),
        )


TRANSFER = Entry(name="transfer", open=open_transfer)
