"""What roles that last have in common: the event loop they run on, and memory that stays.

uvloop where it is installed (the extra `fast`) and asyncio's own loop elsewhere: nothing but the speed differs.
Commands that end at once keep asyncio's, whose import they have paid for already.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def run(role: Coroutine[Any, Any, Result]) -> Result:
    """Run a role to its end."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(role)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def on_signal(number: int, handler: Callable[[], None]) -> Callable[[], object]:
    """Call a handler in this event loop when a signal comes; gives what takes that back.

    A loop that knows no signals, as that of Windows, hears of them from Python's own handler.
    """
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(number, handler)
    except NotImplementedError:
        before = signal.signal(number, lambda *_: loop.call_soon_threadsafe(handler))
        return lambda: signal.signal(number, before)
    return lambda: loop.remove_signal_handler(number)


def keep_what_is_there() -> None:
    """Modules, tables and parts stay to the end: the garbage collector need not look at them again and again."""
    gc.collect()
    gc.freeze()
