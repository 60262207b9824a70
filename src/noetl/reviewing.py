"""Executions explained: put together for a server, and asked in this process for `noetl why` and `noetl eval`.

A store that is only read needs no lock; it works while another process runs. Nothing is decided and nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec

from noetl.clock import Clock, SystemClock
from noetl.config import Settings
from noetl.control import reading
from noetl.control.catalog import Catalog
from noetl.control.diffing import diff as told_diff
from noetl.control.explaining import Explainer
from noetl.control.log_heads import Tags
from noetl.control.moments import Moments
from noetl.control.why import why as told_why
from noetl.embedded import kinds_of
from noetl.errors import ReferenceMissing
from noetl.references import Reference, reference_of
from noetl.results.contract import Readable
from noetl.results.stores import NoCredentials
from noetl.running import results_of
from noetl.stores.contract import Execution, Store
from noetl.stores.opening import opened_store

ReadResult = Callable[[int, Reference], Awaitable[Readable]]
Question = Callable[[Explainer, Execution], Coroutine[Any, Any, dict[str, Any]]]


def explainer_of(
    store: Store, catalog: Catalog, clock: Clock, read_result: ReadResult, tags: Tags | None = None
) -> Explainer:
    """Explains the executions of a store; what stands outside their logs is read as they may read it.

    `tags`: of a store that several servers write to.
    """

    async def fetch(execution_id: int, given: dict[str, Any]) -> Any:
        reference = reference_of(given)
        if reference is None:
            raise ReferenceMissing(str(given.get("locator", "")))
        return msgspec.json.decode(await (await read_result(execution_id, reference)).fetch(reference))

    return Explainer(Moments(store, clock, fetch, tags), catalog.known)


def why(settings: Settings, execution_id: int, step: str) -> dict[str, Any]:
    """Why a step ran, or did not."""
    return asyncio.run(_asked(settings, execution_id, lambda explainer, row: told_why(explainer, row, step)))


def diff(settings: Settings, before: int, after: int) -> dict[str, Any]:
    """Where two executions part, and what differs."""

    async def asked(explainer: Explainer, row: Execution) -> dict[str, Any]:
        store = explainer.moments.store
        return await told_diff(store, explainer.playbooks, row, await reading.row_of(store, after))

    return asyncio.run(_asked(settings, before, asked))


def evaluate(
    settings: Settings, execution_id: int, expression: str, at: int | None, place: dict[str, Any]
) -> dict[str, Any]:
    """What an expression gives at an event; `place`: step, run, iteration, task, those that are given."""
    return asyncio.run(
        _asked(settings, execution_id, lambda explainer, row: explainer.evaluate(row, expression, at, **place))
    )


async def _asked(settings: Settings, execution_id: int, question: Question) -> dict[str, Any]:
    results = results_of(settings, is_alone=False)

    async def read_result(_execution_id: int, reference: Reference) -> Readable:
        return await results.for_reading(reference, NoCredentials())

    try:
        async with opened_store(settings, is_changing=False) as store:
            clock = SystemClock()
            explainer = explainer_of(store, Catalog(store, kinds_of(settings), clock), clock, read_result)
            return await question(explainer, await reading.row_of(store, execution_id))
    finally:
        await results.close()
