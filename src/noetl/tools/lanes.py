"""A warm child with several questions under way: what a quick question waits for is not its child but the way there.

Questions in, each answered through its future; the child runs one at a time, oldest first. Two things make it worth
the while: asked one by one, a function that returns at once costs a wake-up of the worker and a commit of its own;
sixteen under way share both. Only questions that are known to be quick get others behind them (`lane_pool.Lanes`), and
what waits behind one that turns out slow is given back by the child unbegun (DROPPED), to be asked elsewhere.

The first that is unanswered is the one that may have begun, no other: if the child dies, is late, or says too much,
that one fails, and the others are asked again. A question that is withdrawn while it waits behind others may still be
run when its turn comes, for WITHDRAWN_SECONDS_MAX; its answer is not looked at. To end the child at once would be
wrong: it may be through with that question already, and what is behind would be run twice.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, cast

from noetl.tools.children import (
    ANSWER_HEADER,
    DROPPED,
    EXIT_SECONDS_MAX,
    QUESTION_HEADER,
    REUSABLE,
    AnswerTooLarge,
    ChildDied,
)
from noetl.tools.guard import Guard, how_it_ended

MICROSECONDS = 1_000_000
WITHDRAWN_SECONDS_MAX = 0.01  # more than quick code takes: a child that is not through by then is still in it


class Asked:
    """One question on its way. `pace` says which questions take about as long."""

    __slots__ = ("answer_bytes_max", "future", "lane", "pace", "question", "seconds", "seconds_expected")

    def __init__(self, question: bytes, pace: str, answer_bytes_max: int, seconds: float | None) -> None:
        self.question = question
        self.pace = pace
        self.answer_bytes_max = answer_bytes_max
        self.seconds = seconds
        self.seconds_expected = 0.0
        self.future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.lane: Lane | None = None

    @property
    def is_wanted(self) -> bool:
        return not self.future.done()


class Answered(NamedTuple):
    """What a pool learns of an answer."""

    pace: str
    seconds: float  # that it took
    unbegun: list[Asked]  # what waited behind it, and has to be asked again


class Lane(asyncio.Protocol):
    """One child and what is under way to it, oldest first."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        guard: Guard,
        questions_max: int,
        on_answer: Callable[[Lane, Answered], None],
    ) -> None:
        self.process = process
        self.guard = guard
        self.questions_left = questions_max
        self.under_way: deque[Asked] = deque()
        self.seconds_expected = 0.0  # of all that is under way
        self.is_over = False  # nothing more is asked; whoever serves it ends it
        self.fault: Exception | None = None  # why, if that is the fault of the oldest question
        self.gone = asyncio.Event()  # the process and all that it started are no more
        self._on_answer = on_answer
        self._loop = asyncio.get_running_loop()
        self._round = 0  # of questions: those of an earlier one the child leaves unbegun
        self._sending: list[bytes] = []
        self._received = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._resting: asyncio.Future[None] | None = None

    # --- the connection ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._watch = asyncio.create_task(self._watched())

    def connection_lost(self, exc: Exception | None) -> None:
        self.finish(ChildDied())

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        start = 0
        while not self.is_over and len(received) - start >= ANSWER_HEADER.size:
            length, flags, microseconds = ANSWER_HEADER.unpack_from(received, start)
            if not self.under_way or length > self.under_way[0].answer_bytes_max:
                self.finish(AnswerTooLarge())
                break
            end = start + ANSWER_HEADER.size + length
            if len(received) < end:
                break
            self._answered(bytes(received[end - length : end]), flags, microseconds / MICROSECONDS)
            start = end
        del received[:start]

    # --- asking ------------------------------------------------------------------------------------------------------

    def send(self, asked: Asked) -> None:
        asked.lane = self
        self.questions_left -= 1
        self.seconds_expected += asked.seconds_expected
        self.under_way.append(asked)
        if len(self.under_way) == 1:
            self._begin()
        if not self._sending:
            self._loop.call_soon(self._flush)  # what one turn of the loop asks goes in one system call
        self._sending += (QUESTION_HEADER.pack(len(asked.question), self._round), asked.question)

    def _flush(self) -> None:
        sending, self._sending = self._sending, []
        if not self.is_over:
            self.transport.write(b"".join(sending))

    def _begin(self) -> None:
        """The time of the oldest question counts from now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self.under_way:
            return
        asked = self.under_way[0]
        if not asked.is_wanted:
            self._timer = self._loop.call_later(WITHDRAWN_SECONDS_MAX, self.finish, None)
        elif asked.seconds is not None:
            self._timer = self._loop.call_later(asked.seconds, self.finish, TimeoutError())

    def _answered(self, answer: bytes, flags: int, seconds: float) -> None:
        asked = self.under_way.popleft()
        self.seconds_expected -= asked.seconds_expected
        if asked.is_wanted:
            asked.future.set_result(answer)
        self._begin()
        unbegun: list[Asked] = []
        if flags & DROPPED:
            self._round += 1
            unbegun = self.given_back()
        if not flags & REUSABLE or (self.questions_left <= 0 and not self.under_way):
            self.finish(None)
        self._on_answer(self, Answered(asked.pace, seconds, unbegun))

    def given_back(self) -> list[Asked]:
        """What is under way and will not be begun."""
        found = [asked for asked in self.under_way if asked.is_wanted]
        self.seconds_expected = 0.0
        self.under_way.clear()
        self._sending.clear()
        self._begin()
        return found

    # --- ending ------------------------------------------------------------------------------------------------------

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None and not self.is_over

    async def rested(self) -> None:
        """Wait until there is nothing under way, or it is over."""
        while self.under_way and not self.is_over:
            self._resting = self._loop.create_future()
            await self._resting

    def rest(self) -> None:
        """Let whoever waits for that look."""
        if self._resting is not None and not self._resting.done():
            self._resting.set_result(None)

    def stop(self, asked: Asked) -> None:
        """Nobody wants this question any more: if it may have begun, it must not go on."""
        if self.under_way and self.under_way[0] is asked:
            self.finish(None)

    def finish(self, fault: Exception | None) -> None:
        """It is over; `fault`: because of the oldest question."""
        if not self.is_over:
            self.is_over, self.fault = True, fault
            self.rest()

    async def end(self) -> None:
        """Kill the child and all that it started; then the oldest question fails, if it is to blame."""
        if self._timer is not None:
            self._timer.cancel()
        fault = self.fault
        if isinstance(fault, ChildDied) and not fault.args:  # nobody has said how
            fault = ChildDied(await self._how_it_died())
        self.transport.abort()
        await self.guard.end(self.process)
        await self._watch
        if fault is not None and self.under_way and self.under_way[0].is_wanted:
            self.under_way.popleft().future.set_exception(fault)
        self.gone.set()

    async def _watched(self) -> None:
        """A process that the child forked holds the socket too, so the end of the child may not end the stream."""
        await self.process.wait()
        self.transport.abort()

    async def _how_it_died(self) -> str:
        await asyncio.wait({self._watch}, timeout=EXIT_SECONDS_MAX)
        if self.process.returncode is None:
            return "closed its connection"
        return how_it_ended(self.process.returncode)


async def open_lane(
    process: asyncio.subprocess.Process,
    ours: socket.socket,
    guard: Guard,
    questions_max: int,
    on_answer: Callable[[Lane, Answered], None],
) -> Lane:
    """A lane to a child that was just started."""
    lane = Lane(process, guard, questions_max, on_answer)
    try:
        await asyncio.get_running_loop().create_connection(lambda: lane, sock=ours)
    except BaseException:
        ours.close()
        await guard.end(process)
        raise
    return lane
