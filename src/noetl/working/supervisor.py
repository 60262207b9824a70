"""The processes of one worker: as many as are wanted, each started anew when it dies, all ended together.

A process that dies is followed by another, after a pause that grows while they keep dying. The first signal is passed
on and waited for; the second kills. SIGHUP asks how many are wanted now: more are started, or some drain and end. No
process outlives this one: each holds a pipe whose end it notices. Nothing is forked from a running loop.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from noetl.chance import SYSTEM
from noetl.clock import Clock, SystemClock
from noetl.config import Settings
from noetl.errors import OperatorError
from noetl.logs import logging_to_stderr
from noetl.messaging.pauses import Pauses
from noetl.runner.waiting import first_of
from noetl.tools.guard import how_it_ended
from noetl.working.orders import Orders, Word, encode_orders

COMMAND = (sys.executable, "-P", "-m", "noetl.working.child")  # -P: nothing beside the user is imported
PAUSE_SECONDS_FIRST, PAUSE_SECONDS_MAX = 0.2, 30.0
STEADY_SECONDS = 60.0  # one that lived so long was a good one: the next pause is short again
GRACE_SECONDS = 15.0  # beyond the drain: then a process is killed
SIGNALS = (signal.SIGTERM, signal.SIGINT)

log = logging.getLogger("noetl.worker")


class Refused(OperatorError):
    """No process can be a worker: the words are those of the first that said so."""

    def __init__(self, word: Word) -> None:
        super().__init__(word.refused)
        self.exit_code = word.exit_code  # type: ignore[misc]  # of what it said, not of this class


class Place:
    """One process, and the next one when it dies."""

    def __init__(self, orders: Orders, command: Sequence[str], clock: Clock, on_word: Callable[[Place, Word], None]):
        self.orders = orders
        self.command = command
        self.clock = clock
        self.on_word = on_word
        self.is_ready = False
        self.process: asyncio.subprocess.Process | None = None
        self._leaving = asyncio.Event()
        self._pauses = Pauses(clock, SYSTEM.random, first_seconds=PAUSE_SECONDS_FIRST, most_seconds=PAUSE_SECONDS_MAX)

    async def run(self) -> None:
        """Keep a process here until told to leave."""
        while not self._leaving.is_set():
            began_at = self.clock.monotonic()
            code = await self._live()
            if self._leaving.is_set():
                return
            facts = {"action": "worker_process_died", "exit_code": code}
            log.warning("a worker process %s; another is started", how_it_ended(code), extra=facts)
            if self.clock.monotonic() - began_at > STEADY_SECONDS:
                self._pauses.reset()
            await first_of(self._pauses.wait(), self._leaving.wait())

    async def _live(self) -> int:
        """Start a process and wait for its end."""
        pipe = asyncio.subprocess.PIPE
        # A group of its own: Ctrl-C reaches this process alone, which passes it on once.
        process = await asyncio.create_subprocess_exec(*self.command, stdin=pipe, stdout=pipe, process_group=0)
        self.process = process
        try:
            if self._leaving.is_set():
                process.kill()
            await self._converse(process)
            return await process.wait()
        finally:
            self.process, self.is_ready = None, False

    async def _converse(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - both are pipes
        with suppress(ConnectionError):  # it is dead already
            process.stdin.write(encode_orders(self.orders))
            await process.stdin.drain()
        while line := await process.stdout.readline():
            word = msgspec.json.decode(line, type=Word)
            self.is_ready = word.is_ready
            self.on_word(self, word)

    @property
    def is_leaving(self) -> bool:
        return self._leaving.is_set()

    def leave(self) -> None:
        """Let the process drain, and start no other."""
        self._leaving.set()
        self.signal(signal.SIGTERM)

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)


class Supervisor:
    """See above. `on_ready` is told how many processes take jobs: when all do, and after each change of the number."""

    def __init__(
        self,
        settings: Settings,
        *,
        drain_seconds: float,
        on_ready: Callable[[int], None],
        command: Sequence[str] = COMMAND,
        clock: Clock | None = None,
    ) -> None:
        self.settings = settings
        self.drain_seconds = drain_seconds
        self.on_ready = on_ready
        self.command = command
        self.clock = clock or SystemClock()
        self.places: dict[Place, asyncio.Task[None]] = {}
        self.wanted = 0
        self._told: int | None = None
        self._was_ready = False
        self._refusal: Word | None = None
        self._stopping = asyncio.Event()
        self._killed = False

    async def run(self, processes: int, wanted: Callable[[], int] | None = None) -> int:
        """Run so many, or as many as are wanted, until a signal ends it; 0: all have drained. Raises Refused."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.stop)
        if wanted is not None:
            loop.add_signal_handler(signal.SIGHUP, lambda: self.scale(wanted()))
        self.scale(processes)
        await self._stopping.wait()
        await self._drained()
        if self._refusal is not None:
            raise Refused(self._refusal)
        return 1 if self._killed else 0

    def scale(self, processes: int) -> None:
        """Have so many from now on. Those that run keep their share of the cores; new ones have theirs."""
        if self._stopping.is_set():
            return
        self.wanted = processes
        staying = [place for place in self.places if not place.is_leaving]
        for place in staying[processes:]:
            place.leave()
        for _ in range(processes - len(staying)):
            self._start(processes)
        self._tell()

    def _start(self, processes: int) -> None:
        orders = Orders(settings=share_of(self.settings, processes), drain_seconds=self.drain_seconds)
        place = Place(orders, self.command, self.clock, self._heard)
        task = asyncio.get_running_loop().create_task(place.run())
        self.places[place] = task
        task.add_done_callback(lambda _task: self._left(place))

    def _left(self, place: Place) -> None:
        task = self.places.pop(place)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a worker process could not be kept", extra={"action": "place_failed"}, exc_info=error)
            self.stop()
        self._tell()

    def _heard(self, place: Place, word: Word) -> None:
        if word.refused and not self._was_ready:  # later it is one process that is refused, and tries again
            self._refusal = self._refusal or word
            self._stopping.set()
        elif word.refused:
            log.error("a worker process is refused: %s", word.refused, extra={"action": "worker_refused"})
        self._tell()

    def _tell(self) -> None:
        ready = sum(place.is_ready for place in self.places)
        if ready == len(self.places) == self.wanted != self._told and not self._stopping.is_set():
            self._told, self._was_ready = ready, True
            self.on_ready(ready)

    # --- ending ------------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """The first time, drain; the second time, kill."""
        if self._stopping.is_set():
            self._kill()
        self._stopping.set()

    async def _drained(self) -> None:
        log.info("draining", extra={"action": "worker_drains", "processes": len(self.places)})
        tasks = list(self.places.values())
        for place in list(self.places):
            place.leave()
        late = self.clock.call_later(self.drain_seconds + GRACE_SECONDS, self._kill)
        await asyncio.gather(*tasks, return_exceptions=True)
        late.cancel()

    def _kill(self) -> None:
        self._killed = True
        for place in list(self.places):
            place.signal(signal.SIGKILL)


async def supervise(
    settings: Settings,
    processes: int,
    *,
    drain_seconds: float,
    on_ready: Callable[[int], None],
    wanted: Callable[[], int] | None,
) -> int:
    """Be the supervisor of a worker's processes, with a log of its own."""
    with logging_to_stderr(settings.log_format, settings.log_level, {"pool": settings.pool}):
        return await Supervisor(settings, drain_seconds=drain_seconds, on_ready=on_ready).run(processes, wanted)


def share_of(settings: Settings, processes: int) -> Settings:
    """The settings of one of several: what may run at once on a machine's cores is divided, and never nothing."""
    return msgspec.structs.replace(settings, process_slots=max(1, settings.process_slots // processes))
