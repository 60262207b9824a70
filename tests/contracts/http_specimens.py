"""The kinds http and resolve, as the suite of tools wants to see them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from noetl.testing.hands import ResultsInMemory, call, hands
from noetl.testing.tool_suite import PLANTED_SECRET, Entry, Specimen
from noetl.tools import http, resolve
from tests.tools.http_parts import raw_server, response

ANSWERS = {
    b"/good": response(b'{"id": 1}', Content_Type="application/json"),
    b"/missing": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    b"/busy": b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
    b"/private": b"HTTP/1.1 401 Who\r\nContent-Length: 0\r\n\r\n",
}
CREDENTIALS = {
    "bearer": {"token": PLANTED_SECRET},
    "basic": {"username": "me", "password": PLANTED_SECRET},
    "api_key": {"key": PLANTED_SECRET, "header": "X-Key"},
    "no_use": {"dsn": PLANTED_SECRET},
    "broken": {"token": f"{PLANTED_SECRET}\n"},
}


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One of ANSWERS; to any other path nothing, until the client goes away."""
    path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
    if path in ANSWERS:
        writer.write(ANSWERS[path])
    else:
        await reader.read()


@asynccontextmanager
async def open_http(_: Path) -> AsyncIterator[Specimen]:
    async with raw_server(answer) as server:
        yield Specimen(
            kind=http.KIND,
            make=http.make,
            hands=hands(),
            good=call(http.KIND, url=f"{server.url}/good"),
            expected={"id": 1},
            final=call(http.KIND, url=f"{server.url}/missing"),
            retryable=call(http.KIND, url=f"{server.url}/busy"),
            late=call(http.KIND, url=f"{server.url}/never", total_seconds=0.2),
            endless=call(http.KIND, url=f"{server.url}/never"),
            is_under_way=lambda: bool(server.open),
            with_secret=tuple(
                call(http.KIND, url=f"{server.url}/{path}", auth=name, credentials=CREDENTIALS, spec=spec)
                for name in CREDENTIALS
                for path in ("good", "private", "busy")
                for spec in ({}, {"stream": True})
            ),
            left_over=lambda: set(server.open),
        )


@asynccontextmanager
async def open_resolve(_: Path) -> AsyncIterator[Specimen]:
    results = ResultsInMemory()
    kept = results.keep(b'{"id": 1}')
    yield Specimen(
        kind=resolve.KIND,
        make=resolve.make,
        hands=hands(),
        good=call(resolve.KIND, results=results, ref=kept.as_data()),
        expected={"id": 1},
        final=call(resolve.KIND, results=results, ref="0" * 64),
    )


HTTP = Entry(name="http", open=open_http)
RESOLVE = Entry(
    name="resolve", open=open_resolve, without=frozenset(("retryable", "late", "endless", "with_secret"))
)  # it waits for nobody, and what it may not show the worker redacts
