"""The parts of one process over a store in a folder, and short ways to run playbooks in them."""

import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from noetl.config import Settings
from noetl.control.live import folded
from noetl.control.requests import Nobody, RunRequest
from noetl.embedded import Embedded, embedded
from noetl.engine.events import Event, name_of
from noetl.engine.state import State

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: {name}}}\n"


def text_of(body: str, name: str = "trial") -> bytes:
    """A playbook without its head, as bytes."""
    return (HEAD.format(name=name) + textwrap.dedent(body)).encode()


def settings_of(folder: Path) -> Settings:
    return Settings(home=folder, store_url=f"sqlite:///{folder / 'noetl.db'}")


class Hurried(Nobody):
    """Looks often whether a run has come to rest."""

    tick_seconds = 0.01


@asynccontextmanager
async def opened(folder: Path, is_working: bool = True) -> AsyncIterator[Embedded]:
    """The parts, with a worker that takes jobs."""
    async with embedded(settings_of(folder), Hurried()) as parts:
        if is_working:
            parts.work()
        yield parts


async def begin(parts: Embedded, body: str, folder: str = "", **payload: Any) -> int:
    """Start a playbook; gives its execution's id."""
    request = RunRequest(data=text_of(body), name="trial.yaml", folder=folder, payload=payload)
    execution_id, _ = await parts.start(request)
    return execution_id


async def run(parts: Embedded, body: str, folder: str = "", **payload: Any) -> int:
    """Run a playbook until it has ended or waits."""
    execution_id = await begin(parts, body, folder, **payload)
    await parts.until_quiet(execution_id)
    return execution_id


async def state_of(parts: Embedded, execution_id: int) -> State:
    """What the log says."""
    return await folded(parts.store, execution_id)


async def log_of(parts: Embedded, execution_id: int) -> list[Event]:
    return [event for _, event in await parts.store.events(execution_id, limit=100_000)]


async def names_of(parts: Embedded, execution_id: int) -> list[str]:
    return [name_of(event) for event in await log_of(parts, execution_id)]
