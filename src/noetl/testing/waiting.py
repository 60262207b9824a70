"""Waiting for what others do, where it can only be looked at again and again: bounded, and no longer than needed."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

LOOK_SECONDS = 0.005
WAIT_SECONDS_MAX = 60.0


async def until(is_so: Callable[[], Any | Awaitable[Any]], seconds_max: float = WAIT_SECONDS_MAX) -> Any:
    """What a look found, as soon as it found something. Raises TimeoutError."""
    async with asyncio.timeout(seconds_max):
        while True:
            found = is_so()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(LOOK_SECONDS)
