"""Level inline: a task's code inside the worker, in a thread. For authors who are trusted as the worker itself is.

There is no boundary: the code can read every secret the worker holds, and it has no limit of memory. Nor can a thread
be stopped: code that is over its time, or cancelled, is abandoned. It goes on, and holds its slot, until it ends by
itself; when abandoned code holds all slots, further tasks fail at once rather than wait for ever. What the
code's thread writes to standard output or error is kept, as a child's is; what its own threads write is not.

In and out are the same JSON as a child's (python_child.py), so a value means the same at every level, and code cannot
change what the engine holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import sys
import threading
from itertools import count
from typing import Any

from noetl.tools.json_data import as_json
from noetl.tools.python_answer import Printed, encoded, error_of
from noetl.tools.python_code import MODULE_NAME, value_of
from noetl.tools.refused import Refused

_own = threading.local()  # .stream: where this thread's output goes, if it runs a task's code


class _Routed(io.TextIOBase):
    """A standard stream of the worker's that gives the output of a task's thread to the task."""

    def __init__(self, original: Any) -> None:
        self.original = original

    def write(self, text: str) -> int:
        return int((getattr(_own, "stream", None) or self.original).write(text))

    def flush(self) -> None:
        (getattr(_own, "stream", None) or self.original).flush()

    def fileno(self) -> int:
        return int(self.original.fileno())

    def isatty(self) -> bool:
        return bool(self.original.isatty())


def _route_streams() -> None:
    for name in ("stdout", "stderr"):
        if not isinstance(getattr(sys, name), _Routed):
            setattr(sys, name, _Routed(getattr(sys, name)))


class Inline:
    """Runs code in threads of this process, as many at once as there are slots."""

    def __init__(self, slots: int) -> None:
        self._slots_max = slots
        self._slots = asyncio.Semaphore(slots)
        self._abandoned_count = 0
        self._numbers = count(1)

    async def ask(self, question: bytes, *, answer_bytes_max: int, seconds: float | None) -> bytes:
        """One answer. `seconds` count from when a slot is free; TimeoutError: it took longer, and was abandoned."""
        if self._abandoned_count >= self._slots_max:
            raise Refused(
                "limit",
                f"all {self._slots_max} slots of inline code are held by code that ran over its time and cannot be "
                "stopped; restart the worker, or use spec.isolation process",
            )
        await self._slots.acquire()
        ended = self._begin(question)
        ended.add_done_callback(lambda _: self._slots.release())
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(ended)
        except (TimeoutError, asyncio.CancelledError):
            self._abandon(ended)
            raise

    def _begin(self, question: bytes) -> asyncio.Future[bytes]:
        """Start the code; the future ends when it does."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[bytes] = loop.create_future()
        name = f"{MODULE_NAME}_{next(self._numbers)}"

        def work() -> None:
            answer = answered(json.loads(question), name)
            with contextlib.suppress(RuntimeError):  # the worker has ended meanwhile
                loop.call_soon_threadsafe(ended.set_result, answer)

        threading.Thread(target=work, name=name, daemon=True).start()  # daemon: it cannot keep a worker from ending
        return ended

    def _abandon(self, ended: asyncio.Future[bytes]) -> None:
        if ended.done():
            return
        self._abandoned_count += 1
        ended.add_done_callback(self._found)

    def _found(self, _: asyncio.Future[bytes]) -> None:
        self._abandoned_count -= 1


def answered(question: dict[str, Any], module_name: str) -> bytes:
    """Run the code and put what it came to into an answer."""
    printed = Printed()
    stream = io.TextIOWrapper(printed, encoding="utf-8", errors="replace", write_through=True)
    _route_streams()
    _own.stream = stream
    data, error = b"null", None
    try:
        value = value_of(question, module_name)
        data = as_json(value, question["answer_bytes_max"])
    except BaseException as raised:  # whatever code may raise is its result
        error = error_of(raised, question["name"], question["code"])
    finally:
        sys.modules.pop(module_name, None)
    return encoded(data, error, printed)
