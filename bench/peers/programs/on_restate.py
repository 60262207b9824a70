"""Restate: its server, one node with its own settings, and this module as the service, by hypercorn.

A step is a journalled side effect (`run_typed`).
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import restate
from services import Job, answer_of, free_port, running, until

service = restate.Service("bench")


async def nothing() -> int:
    return 1


async def in_company(count: int, in_flight: int, start: Callable[[], Any]) -> int:
    """At most `in_flight` at once, by Restate's own way of waiting."""
    live: list[Any] = []
    waiting = count
    while waiting or live:
        begun = min(waiting, in_flight - len(live))
        live += [start() for _ in range(begun)]
        waiting -= begun
        _, rest = await restate.wait_completed(*live)
        live = list(rest)
    return count


@service.handler()
async def chained(context: restate.Context, wanted: dict[str, Any]) -> int:
    for _ in range(wanted["count"]):
        await context.run_typed("nothing", nothing)
    return int(wanted["count"])


@service.handler()
async def spread(context: restate.Context, wanted: dict[str, Any]) -> int:
    return await in_company(wanted["count"], wanted["in_flight"], lambda: context.run_typed("nothing", nothing))


@service.handler()
async def asked(context: restate.Context, wanted: dict[str, Any]) -> int:
    async with aiohttp.ClientSession() as session:

        async def get() -> Any:
            async with session.get(wanted["url"]) as answer:
                return await answer.json()

        return await in_company(wanted["count"], wanted["in_flight"], lambda: context.run_typed("get", get))


app = restate.app(services=[service])


@contextmanager
def engine(folder: Path) -> Iterator[str]:
    """Server and service; gives the address that takes requests."""
    ingress, admin, node, port = (free_port() for _ in range(4))
    with (
        running([sys.executable, "-m", "hypercorn", "on_restate:app", "-b", f"127.0.0.1:{port}"], folder, port=port),
        running(server(folder), folder, port=ingress, variables=settings(ingress, admin, node)),
    ):
        until(lambda: is_deployed(admin, port), "Restate knows the service")
        yield f"http://127.0.0.1:{ingress}/bench"


def server(folder: Path) -> list[str]:
    """The program is where npm put it: one package for each platform."""
    modules = Path(sys.prefix) / "node" / "node_modules" / "@restatedev"
    return [str(next(modules.glob("restate-server-*/bin/restate-server"))), "--base-dir", str(folder)]


def settings(ingress: int, admin: int, node: int) -> dict[str, str]:
    return {
        **os.environ,
        "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ingress}",
        "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{admin}",
        "RESTATE_BIND_ADDRESS": f"127.0.0.1:{node}",
        "RESTATE_ADVERTISED_ADDRESS": f"http://127.0.0.1:{node}",
        "RESTATE_LISTEN_MODE": "tcp",
        "RESTATE_ADMIN__DISABLE_WEB_UI": "true",
        "RESTATE_DISABLE_TELEMETRY": "true",
        "RESTATE_LOG_FILTER": "error",
    }


def is_deployed(admin: int, port: int) -> bool:
    try:
        answer_of(f"http://127.0.0.1:{admin}/deployments", {"uri": f"http://127.0.0.1:{port}"})
    except OSError:
        return False
    return True


@contextmanager
def handled(job: Job, handler: str) -> Iterator[Callable[[], None]]:
    """One request to a handler that does it all."""
    with engine(job.folder) as address:

        def once(count: int) -> None:
            wanted = {"count": count, "in_flight": job.in_flight, "url": job.url}
            assert answer_of(f"{address}/{handler}", wanted) == count

        once(20)
        yield lambda: once(job.count)


@contextmanager
def workflows(job: Job) -> Iterator[Callable[[], None]]:
    loop = asyncio.new_event_loop()

    async def all_of_them(address: str, count: int) -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def one() -> None:
                async with session.post(f"{address}/chained", json={"count": 3}) as answer:
                    assert await answer.json() == 3

            await asyncio.gather(*(one() for _ in range(count)))

    with engine(job.folder) as address:
        loop.run_until_complete(all_of_them(address, 20))
        yield lambda: loop.run_until_complete(all_of_them(address, job.count))


WORKLOADS = {
    "W1": lambda job: handled(job, "chained"),
    "W2": lambda job: handled(job, "spread"),
    "W3": workflows,
    "W5": lambda job: handled(job, "asked"),
}

if __name__ == "__main__":  # W4: nothing runs before, so the server's start is part of it
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as hello, engine(Path(hello)) as at:
        answer_of(f"{at}/chained", {"count": 1})
