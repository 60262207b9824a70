"""`noetl replay-test`: which past executions, read from the store of this machine, each judged by `replaying`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from noetl.clock import SystemClock
from noetl.config import Settings
from noetl.control import reading
from noetl.control.catalog import Catalog
from noetl.control.requests import RunRequest
from noetl.errors import InvalidPlaybook, NoetlError
from noetl.references import Reference
from noetl.rehearsal.past import Past, past_of
from noetl.rehearsal.replaying import UNKNOWN, Verdict, judged
from noetl.rehearsal.stage import Stage
from noetl.rehearsal.tools import AnsweredKinds
from noetl.results.stores import NoCredentials
from noetl.running import results_of
from noetl.stores.opening import opened_store


def replay_tests(
    settings: Settings, execution_ids: Sequence[int], edited: RunRequest, tell: Callable[[Verdict], None]
) -> None:
    """Judge each, one after another: what cannot be read or rehearsed is unknown, with the reason."""
    with Stage(settings) as stage:
        for execution_id in execution_ids:
            tell(_judged(settings, stage, execution_id, edited))


def _judged(settings: Settings, stage: Stage, execution_id: int, edited: RunRequest) -> Verdict:
    try:
        return judged(stage, asyncio.run(_read(settings, execution_id)), edited)
    except InvalidPlaybook:
        raise
    except NoetlError as error:
        return Verdict(execution_id=str(execution_id), path="", version=0, verdict=UNKNOWN, sentence=str(error))


async def _read(settings: Settings, execution_id: int) -> Past:
    results = results_of(settings, is_alone=False)

    async def fetch(_execution_id: int, reference: Reference) -> bytes:
        return await (await results.for_reading(reference, NoCredentials())).fetch(reference)

    try:
        async with opened_store(settings, is_changing=False) as store:
            catalog = Catalog(store, AnsweredKinds(settings), SystemClock())
            return await past_of(store, catalog, fetch, await reading.row_of(store, execution_id))
    finally:
        await results.close()
