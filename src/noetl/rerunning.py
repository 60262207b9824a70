"""Many executions run again in this process: a few at a time, each by itself, whatever becomes of the others.

Comes in: requests. Goes out: a row for each as soon as it is known what became of it. Ctrl-C ends what is at work
cleanly; those that had begun can be resumed, the others had not begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from noetl.config import Settings
from noetl.control.desk import Started
from noetl.control.requests import Nobody, RerunRequest, rerun_row
from noetl.control.rerun import rerun
from noetl.embedded import Embedded, embedded
from noetl.errors import InvalidPlaybook, NoetlError
from noetl.running import interrupts, summed_up

TOGETHER = 8
NOT_BEGUN = "interrupted"
Row = dict[str, Any]
Tell = Callable[[Row], None]


def rerun_all(settings: Settings, requests: Sequence[RerunRequest], tell: Tell, wait_seconds: float = 0.0) -> bool:
    """Run all of them; True: it was interrupted. Raises InvalidPlaybook before anything has begun."""
    return asyncio.run(_all(settings, requests, tell, wait_seconds))


async def _all(settings: Settings, requests: Sequence[RerunRequest], tell: Tell, wait_seconds: float) -> bool:
    async with embedded(settings, Nobody(), wait_seconds) as parts:
        with interrupts(parts.interrupt):
            parts.work()
            for first in range(0, len(requests), TOGETHER):
                chunk = requests[first : first + TOGETHER]
                if await _chunk(parts, chunk, tell):
                    for request in requests[first + TOGETHER :]:
                        tell(rerun_row(request.execution_id, NOT_BEGUN))
                    return True
    return False


async def _chunk(parts: Embedded, requests: Sequence[RerunRequest], tell: Tell) -> bool:
    """Some at a time; True: it was interrupted."""
    is_interrupted = False
    begun = [(request, await _begun(parts, request)) for request in requests]
    for request, started in begun:
        if isinstance(started, str):
            tell(rerun_row(request.execution_id, "refused", error=started))
            continue
        is_interrupted = await parts.until_quiet(started.execution_id) or is_interrupted
        found = await summed_up(parts, started.execution_id, list(started.loaded.playbook.steps))
        tell(rerun_row(request.execution_id, found["status"], started.execution_id, started.is_new, found["error"]))
    return is_interrupted


async def _begun(parts: Embedded, request: RerunRequest) -> Started | str:
    """A fork under way, or why there is none."""
    try:
        started = await rerun(parts.desk, parts.access.read_by, request)
        if not started.is_new:
            await parts.resume(started.execution_id)
    except InvalidPlaybook:
        raise  # the text is the same for all of them
    except NoetlError as error:
        return str(error)
    return started
