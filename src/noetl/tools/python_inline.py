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
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

import msgspec

from noetl.tools.json_data import as_json
from noetl.tools.python_answer import Printed, encoded, error_of
from noetl.tools.python_code import MODULE_NAME, value_of
from noetl.tools.refused import Refused

Come = bytes | Exception  # what came of a question
decode = msgspec.json.Decoder().decode
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


class _Asked:
    """One question; its thread says when it began."""

    __slots__ = ("began_at", "future", "is_abandoned", "made", "question", "timer")

    def __init__(self, question: bytes, future: _Promised, made: Callable[[Come], Any]) -> None:
        self.question = question
        self.future = future
        self.made = made
        self.began_at: float | None = None
        self.is_abandoned = False
        self.timer: asyncio.TimerHandle | None = None

    def settle(self, come: Come) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.future.on_cancel = None
        try:
            self.future.set_result(self.made(come))
        except Exception as error:
            self.future.set_exception(error)


class _Promised(asyncio.Future[Any]):
    """An answer that can be given up."""

    on_cancel: Callable[[], None] | None = None  # None again when it is over: else the two would hold each other

    def cancel(self, msg: Any = None) -> bool:
        is_cancelled = super().cancel(msg)
        on_cancel, self.on_cancel = self.on_cancel, None
        if is_cancelled and on_cancel is not None:
            on_cancel()
        return is_cancelled


def as_it_is(come: Come) -> bytes:
    if isinstance(come, Exception):
        raise come
    return come


class Inline:
    """Runs code in threads of this process, as many at once as there are slots.

    The threads stay, and hand over what is done in one go: with a thread and a wake-up of the loop for each question,
    code that returns its input took 390 us where it takes 30 now, both on a busy machine.
    """

    def __init__(self, slots: int) -> None:
        self._slots_max = slots
        self._abandoned_count = 0
        self._asked: SimpleQueue[_Asked | None] = SimpleQueue()
        self._done: deque[tuple[_Asked, bytes]] = deque()
        self._is_told = False  # that something is done
        self._open_count = 0  # questions without an answer
        self._threads = 0

    async def ask(self, question: bytes, *, pace: str, answer_bytes_max: int, seconds: float | None) -> bytes:
        """One answer. `seconds` count from when a slot is free; TimeoutError: it took longer, and was abandoned."""
        return as_it_is(await self.promise(question, seconds, as_it_is))

    def promise(self, question: bytes, seconds: float | None, made: Callable[[Come], Any]) -> asyncio.Future[Any]:
        """The same without waiting: what is `made` of the answer, or of TimeoutError, is there when the future is."""
        if self._abandoned_count >= self._slots_max:
            raise Refused(
                "limit",
                f"all {self._slots_max} slots of inline code are held by code that ran over its time and cannot be "
                "stopped; restart the worker, or use spec.isolation process",
            )
        loop = asyncio.get_running_loop()
        future = _Promised(loop=loop)
        asked = _Asked(question, future, made)
        future.on_cancel = partial(self._abandon, asked)
        if seconds is not None:
            self._time(asked, seconds)
        self._open_count += 1
        if self._open_count > self._threads and self._threads < self._slots_max:
            self._start_thread(loop)
        self._asked.put(asked)
        return future

    def _abandon(self, asked: _Asked) -> None:
        """Nobody waits for it any more; if it has begun, it goes on and holds its slot."""
        if asked.timer is not None:
            asked.timer.cancel()
        if asked.began_at is not None:
            asked.is_abandoned = True
            self._abandoned_count += 1

    def close(self) -> None:
        """Let the threads end that can."""
        for _ in range(self._threads):
            self._asked.put(None)

    def _time(self, asked: _Asked, seconds: float) -> None:
        """Look again when it may be late: the time counts from its beginning, which only its thread knows."""
        loop = asyncio.get_running_loop()
        began_at = asked.began_at
        left = seconds if began_at is None else began_at + seconds - loop.time()
        if left > 0:
            asked.timer = loop.call_later(left, self._time, asked, seconds)
        elif not asked.future.done():
            self._abandon(asked)
            asked.settle(TimeoutError())

    # --- threads -----------------------------------------------------------------------------------------------------

    def _start_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        self._threads += 1
        name = f"{MODULE_NAME}_{self._threads}"
        # daemon: it cannot keep a worker from ending
        threading.Thread(target=self._work, args=(loop, name), name=name, daemon=True).start()

    def _work(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        printed = _PrintedByThread()
        while (asked := self._asked.get()) is not None:
            if asked.future.done():
                answer = b""  # nobody waits for it any more, and it has not begun
            else:
                asked.began_at = time.monotonic()
                answer = answered(decode(asked.question), name, printed)
            self._done.append((asked, answer))
            if not self._is_told:
                self._is_told = True
                with contextlib.suppress(RuntimeError):  # the worker has ended meanwhile
                    loop.call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        self._is_told = False
        while self._done:
            asked, answer = self._done.popleft()
            asked.began_at = None  # it holds no slot any more
            self._open_count -= 1
            if not asked.future.done():
                asked.settle(answer)
            if asked.is_abandoned:
                self._abandoned_count -= 1  # it has come to its end after all


class _PrintedByThread:
    """Where a thread's output goes, one stream for all its questions."""

    def __init__(self) -> None:
        self.open()

    def open(self) -> None:
        self.bytes = Printed()
        self.stream = io.TextIOWrapper(self.bytes, encoding="utf-8", errors="replace", write_through=True)
        _own.stream = self.stream


def answered(question: dict[str, Any], module_name: str, printed: _PrintedByThread) -> bytes:
    """Run the code and put what it came to into an answer."""
    _route_streams()
    data, error = b"null", None
    try:
        data = as_json(value_of(question, module_name), question["answer_bytes_max"])
    except BaseException as raised:  # whatever code may raise is its result
        error = error_of(raised, question["name"], question["code"])
    finally:
        sys.modules.pop(module_name, None)
    answer = encoded(data, error, printed.bytes)
    if printed.stream.closed:
        printed.open()
    return answer
