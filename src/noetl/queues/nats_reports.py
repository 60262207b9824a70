"""The reports of one worker on their way: those that are ready together go together, and are answered together.

Reports in, a word for each out. All that is to go to one server is one message; what comes while as many messages as
may be are under way goes with the next. So a worker with one job waits for nobody, and one with hundreds sends few
messages, each of which its server commits in one go: a message costs both sides together some 300 µs, whatever is in
it. A message that is not answered is sent again as its reports, each still under its own number, to their homes no
more but to any server.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from noetl.engine.commands import Report
from noetl.errors import Unreachable
from noetl.messaging.pauses import Pauses
from noetl.queues import wire

MESSAGE_BYTES_WANTED = 256 * 1024  # one report that is larger goes alone
UNDER_WAY_MAX = 2  # messages to one server: while one is committed, the next is read

Send = Callable[[str, list[msgspec.Raw]], Awaitable[list[str]]]


class Waiting(msgspec.Struct, eq=False):
    """Reports that are sent in one message, and where their words go."""

    reports: list[msgspec.Raw]
    size_bytes: int
    words: asyncio.Future[list[str]]


class Reports:
    """See above. `send` asks one server, "" any, and gives a word for each report; raises Unreachable."""

    def __init__(
        self,
        send: Send,
        *,
        home: Callable[[int], str],
        message_bytes_max: Callable[[], int],
        pauses: Callable[[], Pauses],
    ) -> None:
        self._send = send
        self._home = home
        self._message_bytes_max = message_bytes_max
        self._pauses = pauses
        self._waiting: dict[str, deque[Waiting]] = {}  # by server
        self._under_way: dict[str, int] = {}  # messages, by server
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order they were begun: it shows when they stop
        self.on_outage: Callable[[str], None] = lambda _why: None

    async def deliver(self, reports: list[Report]) -> list[str]:
        """Until each is answered. Raises PayloadTooLarge; Unauthenticated, Forbidden: nobody will ever take them."""
        helpings = list(self._helpings(reports)) if reports else []
        if len(helpings) == 1:
            return await self._answered(*helpings[0])
        parts = await asyncio.gather(*(self._answered(*helping) for helping in helpings), return_exceptions=True)
        return [word for words in parts for word in _told(words)]

    def _helpings(self, reports: list[Report]) -> Iterable[tuple[str, list[msgspec.Raw], int]]:
        """What goes in one message each, in order: of one home, and not too large."""
        helping: list[msgspec.Raw] = []
        home, size_bytes, wanted = "", 0, self._bytes_wanted()
        for report in reports:
            raw, server = wire.body_of(report), self._home(report.lease)
            size = len(raw)
            is_full = size_bytes + size > wanted or len(helping) == wire.REPORTS_MAX
            if helping and (server != home or is_full):
                yield home, helping, size_bytes
                helping, size_bytes = [], 0
            home, size_bytes = server, size_bytes + size
            helping.append(raw)
        yield home, helping, size_bytes

    async def _answered(self, server: str, reports: list[msgspec.Raw], size_bytes: int) -> list[str]:
        pauses = None
        while True:
            waiting = Waiting(reports, size_bytes, asyncio.get_running_loop().create_future())
            self._waiting.setdefault(server, deque()).append(waiting)
            if len(self._waiting[server]) == 1:
                asyncio.get_running_loop().call_soon(self._go, server)  # with whatever else is ready by then
            try:
                return await waiting.words
            except Unreachable as outage:
                self.on_outage(str(outage))
                if not server:
                    pauses = pauses or self._pauses()
                    await pauses.wait()
                server = ""

    def _bytes_wanted(self) -> int:
        return min(MESSAGE_BYTES_WANTED, self._message_bytes_max() // 2)

    def _go(self, server: str) -> None:
        """Send what waits, if a message may go now."""
        waiting = self._waiting.get(server)
        while waiting and self._under_way.get(server, 0) < UNDER_WAY_MAX:
            if message := self._next_message(waiting):
                self._under_way[server] = self._under_way.get(server, 0) + 1
                task = asyncio.get_running_loop().create_task(self._carry(server, message))
                self._tasks[task] = None
                task.add_done_callback(lambda task: self._carried(server, task))
        if not waiting:
            self._waiting.pop(server, None)

    def _next_message(self, waiting: deque[Waiting]) -> list[Waiting]:
        """As much as fits, from what waited longest on; nothing of what nobody waits for any more."""
        message: list[Waiting] = []
        size_bytes, count, wanted = 0, 0, self._bytes_wanted()
        while waiting:
            one = waiting[0]
            size_bytes, count = size_bytes + one.size_bytes, count + len(one.reports)
            if message and (size_bytes > wanted or count > wire.REPORTS_MAX):
                break
            waiting.popleft()
            if not one.words.done():
                message.append(one)
        return message

    async def _carry(self, server: str, message: list[Waiting]) -> None:
        reports = [report for one in message for report in one.reports]
        try:
            words = await self._send(server, reports)
        except asyncio.CancelledError:
            for one in message:
                one.words.cancel()
            raise
        except Exception as fault:  # whoever waits gets it
            for one in message:
                if not one.words.done():
                    one.words.set_exception(fault)
                    one.words.exception()
            return
        for one in message:
            given, words = words[: len(one.reports)], words[len(one.reports) :]
            if not one.words.done():
                one.words.set_result(given)

    def _carried(self, server: str, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._under_way[server] -= 1
        if not self._under_way[server]:
            del self._under_way[server]
        self._go(server)


def _told(words: list[str] | BaseException) -> list[str]:
    if isinstance(words, BaseException):
        raise words
    return words
