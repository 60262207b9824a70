"""A worker: asks for jobs as long as it has free slots, runs each, and knows which it holds.

It executes pipelines and reports; it decides nothing about steps, and it never touches the log (RO-02). A server that
does not answer is asked again; a job that fails by a fault of ours ends alone. When the worker stops it starts no
further task, and what it cannot finish in time goes back, so that another worker goes on at once (protocol §7).
"""

from __future__ import annotations

import asyncio
import logging
import math
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from noetl.dsl.model import Playbook
from noetl.engine.commands import Key, Report, Work
from noetl.errors import Unreachable
from noetl.messaging.pauses import Pauses
from noetl.queues.contract import NO_ROOM, UNANSWERED, Bringing, Room, Transport
from noetl.runner.ahead import Kit
from noetl.runner.deliveries import Delivery
from noetl.runner.execute import Execution, Stopped
from noetl.runner.heartbeat import Answered, Heartbeat
from noetl.runner.holding import Holding, Job
from noetl.runner.invoke import Invoker
from noetl.runner.lease import Lease, Terms
from noetl.runner.reporter import BEGUN_SECONDS, DELAY_SECONDS, Post, Soon
from noetl.runner.slots import Slots
from noetl.runner.waiting import first_of

log = logging.getLogger("noetl.runner")

JOBS_MAX = 10_000  # held at once, those that wait without a slot among them; more than that if there are more slots
AHEAD_SECONDS_MAX = 0.02  # that jobs may run one after another before others have their turn
ALONG_SECONDS_MAX = 1.0  # that jobs may come along before a poll: only a poll gives what waits longest
TURNS_BEFORE_POLL = 4  # of the event loop: what is to be reported goes first, and may bring jobs along
KNOWN_MAX = 64  # playbooks at hand
RELEASES_MAX = 3  # attempts to give a job back: then its lease runs out by itself

Playbooks = Callable[[str, list[list[Any]]], Awaitable[Playbook]]


class Worker(Holding):
    """The jobs of one process."""

    def __init__(
        self,
        *,
        name: str,
        transport: Transport,
        invoker: Invoker,
        playbooks: Playbooks,
        slots: int,
        chance: Callable[[], float],
        terms: Terms,
    ) -> None:
        super().__init__()
        self.name = name
        self.transport = transport
        self.playbooks = playbooks
        self.slots = Slots(slots)
        self.terms = terms
        self.clock = invoker.clock
        self.chance = chance
        self.jobs_max = max(slots, JOBS_MAX)
        self._stopping = asyncio.Event()
        self._parting = False  # what is stopped now goes back
        self._is_abandoned = False  # and nothing more is said at all
        post = Post(
            transport=transport,
            clock=invoker.clock,
            chance=chance,
            soon=Soon(invoker.clock, DELAY_SECONDS),
            later=Soon(invoker.clock, BEGUN_SECONDS),
            clean=invoker.clean,
        )
        self.kit = Kit(post=post, invoker=invoker, clock=invoker.clock, chance=chance, stopping=self._stopping)
        self._takes_along = False
        self._turns_to_report = 0  # so long a report is about to go, and may promise room
        self._asked = 0  # jobs that a poll is under way for
        self._asked_at = -math.inf  # when the last poll was sent
        self._offered = 0  # and those for which there is room promised with reports that are under way
        self._finished: list[Job] = []  # at their end, and not reported yet
        self._known: dict[str, Playbook] = {}
        self._tasks: dict[asyncio.Future[Any], None] = {}  # in the order they were begun: it shows when they stop
        self._deliveries: dict[asyncio.Future[Any], None] = {}  # of those, the ones that send last reports
        self.on_idle: Callable[[], None] = lambda: None
        self.on_failure: Callable[[BaseException], None] | None = None  # None: a fault of ours is logged

    # --- taking ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Take jobs until told to stop."""
        pauses, is_answered = self._pauses(), True
        while (free := await self._free()) > 0:
            sent_at = self.clock.monotonic()
            self._asked, self._asked_at = free, sent_at
            try:
                works = await self.transport.poll(self.name, free)
            except UNANSWERED as error:
                if is_answered:
                    log.warning("no server gives work: %s", error, extra=self._facts("poll_unanswered"))
                is_answered = False
                self._asked = 0
                await first_of(pauses.wait(), self._stopping.wait())
                continue
            self._asked = 0
            if not is_answered:
                log.info("a server gives work again", extra=self._facts("poll_answered"))
                is_answered = True
                pauses.reset()
            await self._take(works, sent_at)

    async def _free(self) -> int:
        """Wait until another job can be taken; how many can. None at all: the worker stops."""
        while not self._stopping.is_set():
            while self._turns_to_report > 0:
                self._turns_to_report -= 1
                await self.clock.sleep(0)
            if (free := self._room()) > 0:
                return free
            await self.slots.changed()
        return 0

    def _room(self) -> int:
        """How many jobs more can be taken than may be on their way."""
        return min(self.slots.free, self.jobs_max - len(self._jobs)) - self._asked - self._offered

    async def _take(self, works: list[Work], sent_at: float) -> None:
        if self._stopping.is_set():
            await self._release([(work.key, work.lease) for work in works])
        elif self._begin(works, sent_at):
            await self.clock.sleep(0)

    def _begin(self, works: list[Work], sent_at: float) -> bool:
        """Begin with these; True: others should have their turn now."""
        until = self.clock.monotonic() + AHEAD_SECONDS_MAX
        for work in works:
            if self._is_ended(work):
                continue  # it was ended while it was on its way here
            job = Job(work=work, lease=Lease(self.terms, self.clock, sent_at), seat=self.slots.seat())
            self._hold(job)
            is_ahead = job.seat.is_taken and self.clock.monotonic() < until and self._ran_ahead(job)
            if not is_ahead and not job.is_over:
                self._wait(job)
        self._deliver()
        return self.clock.monotonic() >= until

    def take_along(self, transport: Bringing) -> None:
        """Let jobs come with the answers to reports, too."""
        transport.taker = self
        self._takes_along = True

    def room(self) -> Room:
        """See `queues.contract.Taker`."""
        self._turns_to_report = 0
        free = 0 if self._stopping.is_set() or self._is_poll_due() else max(0, self._room())
        self._offered += free
        return Room(free=free, is_idle=all(job.report is not None for job in self._jobs.values())) if free else NO_ROOM

    def _is_poll_due(self) -> bool:
        """Whether a chain of steps has gone on for so long that whatever waits for a worker comes first."""
        return not self._asked and self.clock.monotonic() - self._asked_at > ALONG_SECONDS_MAX

    def arrived(self, room: Room, works: list[Work], sent_at: float) -> None:
        self._offered -= room.free
        if works and not self._stopping.is_set():
            self._begin(works, sent_at)
        elif works and not self._is_abandoned:
            self._do(self._release([(work.key, work.lease) for work in works]))
        self.slots.wake()

    def _ran_ahead(self, job: Job) -> bool:
        """Run a job that needs no waiting; False: it does, and goes on in a task of its own, or it is over."""
        playbook = self._known.get(job.work.sha) if not job.work.planned else None
        if playbook is None:
            return False
        job.execution = Execution(self.kit, playbook, job.work, job.lease, job.seat)
        return self._ran(job, job.execution.ahead)

    def _ran(self, job: Job, run: Callable[[], Report | None]) -> bool:
        try:
            job.report = run()
        except Exception as error:
            self._end(job)
            self._rest()
            self._failed(job, error)
        if job.report is not None:
            self._finish(job)
        return job.report is not None

    def _wait(self, job: Job) -> None:
        """It goes on when its tool has answered, or in a task of its own, which can wait for anything."""
        answer = job.execution.awaited() if job.execution is not None else None
        if answer is None:
            self._spawn(job)
            return
        job.task = answer
        self._tasks[answer] = None
        answer.add_done_callback(lambda answer: self._go_on(job, answer))

    def _go_on(self, job: Job, answer: asyncio.Future[Any]) -> None:
        del self._tasks[answer]
        job.task, execution, is_held = None, job.execution, self._is_held(job)
        is_stopped = self._parting or self._is_abandoned
        if is_stopped or not is_held or execution is None:
            self._end(job)
            self._leave([job] if is_held else [])
            self._rest()
        elif not self._ran(job, lambda: execution.go_on(answer)) and not job.is_over:
            self._wait(job)

    def _spawn(self, job: Job) -> None:
        task = job.task = asyncio.get_running_loop().create_task(self._work_on(job))
        self._tasks[task] = None
        task.add_done_callback(lambda task: self._ended(job, task))

    # --- reporting ---------------------------------------------------------------------------------------------------

    def _finish(self, job: Job) -> None:
        """It is at its end, and its last report to be sent, with those of all that end in the same breath."""
        job.seat.leave()  # no tool runs for it any more: others may begin before its report is recorded
        if not self._finished:
            self._turns_to_report = TURNS_BEFORE_POLL if self._takes_along else 0
            asyncio.get_running_loop().call_soon(self._deliver)
        self._finished.append(job)

    def _deliver(self) -> None:
        finished, self._finished = self._finished, []
        if not finished:
            return
        jobs, is_too_late = [job for job in finished if self._is_held(job)], self._parting or self._is_abandoned
        if is_too_late or len(jobs) < len(finished):
            for job in finished:
                if is_too_late or not self._is_held(job):
                    self._end(job)
        if is_too_late or not jobs:
            self._leave(jobs)
            self._rest()
            return
        delivery = Delivery(jobs, self._is_held, self.transport, self._pauses)
        answer = delivery.begin()
        if isinstance(answer, asyncio.Future):  # whoever gives one needs no task to wait for it
            sending: asyncio.Future[Any] = answer
        else:
            sending = asyncio.get_running_loop().create_task(delivery.finish(answer))
        self._tasks[sending] = self._deliveries[sending] = None
        sending.add_done_callback(lambda sending: self._sent(delivery, sending))
        if isinstance(answer, Coroutine):  # which is never awaited if the task is stopped before its first line
            sending.add_done_callback(lambda _sending: answer.close())

    def _sent(self, delivery: Delivery, task: asyncio.Future[Any]) -> None:
        del self._tasks[task], self._deliveries[task]
        left = delivery.held() if task.cancelled() else []
        for job in delivery.jobs:
            self._end(job)
        self._leave(left)
        self._rest()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(delivery.jobs[0], error)

    # --- working -----------------------------------------------------------------------------------------------------

    async def _work_on(self, job: Job) -> None:
        try:
            job.report = await self._executed(job)
        except Stopped:
            pass
        except asyncio.CancelledError:
            if not self._parting or not self._is_held(job):
                raise
        else:
            if job.report is not None:
                self._finish(job)
            return
        self._end(job)  # first: nothing more is said under a lease that goes back
        await self._give_back([job])

    async def _executed(self, job: Job) -> Report | None:
        if job.execution is None:
            playbook = await self._playbook(job.work)
            job.execution = Execution(self.kit, playbook, job.work, job.lease, job.seat)
        return await job.execution.run()

    async def _playbook(self, work: Work) -> Playbook:
        """What the job runs, asked for until somebody answers: it is held meanwhile, as any other."""
        pauses = None
        while True:
            try:
                found = await self.playbooks(work.sha, work.planned)
            except Unreachable:
                pauses = pauses or self._pauses()
                await pauses.wait()
            else:
                return found if work.planned else self._remembered(work.sha, found)

    def _remembered(self, sha: str, playbook: Playbook) -> Playbook:
        """What its jobs find without asking; the text of a sha never changes."""
        if len(self._known) >= KNOWN_MAX:
            del self._known[next(iter(self._known))]
        self._known[sha] = playbook
        return playbook

    def _end(self, job: Job) -> None:
        """It is over here, however that came: nothing of it stays, not even a task that never got to its first line."""
        job.is_over = True
        self._let_go(job)
        job.seat.leave()
        if job.execution is not None:
            job.execution.end()

    def _rest(self) -> None:
        self.slots.wake()
        if not self.jobs:
            self.on_idle()

    def _ended(self, job: Job, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        if job.report is None:
            self._end(job)
        self._rest()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(job, error)

    def _failed(self, job: Job, error: BaseException) -> None:
        """A fault of ours. The lease runs out, and another worker tries; the log is what is left of it here."""
        if self.on_failure is not None:
            self.on_failure(error)
            return
        work = job.work
        text = "".join(traceback.format_exception(error))
        ids = {"execution_id": work.execution_id, "run": work.run, "iter": work.iter, "step": work.step}
        facts = self._facts("job_failed") | ids | {"traceback": self.kit.invoker.clean_text(text)}
        log.error("a job failed by a fault of the worker; it is left to another", extra=facts)

    # --- being alive -------------------------------------------------------------------------------------------------

    @property
    def jobs(self) -> int:
        return len(self._tasks) + len(self._finished)

    def heartbeat(self, transport: Transport, on_answer: Callable[[Answered], None]) -> Heartbeat:
        """What says that this worker is alive, over a connection that may be another one."""
        return Heartbeat(
            worker=self.name,
            transport=transport,
            clock=self.clock,
            chance=self.chance,
            every_seconds=self.terms.heartbeat_seconds,
            held=self.held,
            on_answer=on_answer,
        )

    async def beat(self) -> None:
        """Heartbeats on the worker's own loop: where server and worker are one process, which stop together."""
        await self.heartbeat(self.transport, self.answered).run()

    # --- stopping ----------------------------------------------------------------------------------------------------

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """Take no further job and start no further task."""
        self._stopping.set()
        self.slots.wake()

    async def drain(self, seconds: float | None = None) -> None:
        """Stop; what runs may finish within that time and is recorded, the rest is given back. No time: all of it."""
        self.stop()
        if self.jobs and seconds is not None:
            await self._idle_within(seconds)
        self._parting = seconds is not None
        for job in list(self._jobs.values()) if self._parting else ():
            job.stop()
        for delivery in list(self._deliveries) if self._parting else ():
            delivery.cancel()
        await self._idle()

    async def _idle(self) -> None:
        while self.jobs:
            self._deliver()
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def _idle_within(self, seconds: float) -> None:
        late = asyncio.ensure_future(self.clock.sleep(seconds))
        try:
            while self.jobs and not late.done():
                self._deliver()
                await asyncio.wait({late, *self._tasks}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            late.cancel()

    async def abandon(self) -> None:
        """Stop at once; what was not reported is done again by whoever takes the job up."""
        self.stop()
        self._parting, self._is_abandoned = False, True
        for task in self._tasks:
            task.cancel()
        finished, self._finished = self._finished, []
        for job in finished:
            self._end(job)
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _leave(self, jobs: list[Job]) -> None:
        """Give back what is not reported any more."""
        if jobs and self._parting:
            self._do(self._give_back(jobs))

    def _do(self, deed: Coroutine[Any, Any, None]) -> None:
        """Something that must be done before the worker has ended."""
        leaving = asyncio.get_running_loop().create_task(deed)
        self._tasks[leaving] = None
        leaving.add_done_callback(self._left)

    def _left(self, leaving: asyncio.Future[None]) -> None:
        del self._tasks[leaving]
        self._rest()

    async def _give_back(self, jobs: list[Job]) -> None:
        """Let others go on at once; if no server hears it they do so when the leases have run out."""
        await self._release([(job.work.key, job.work.lease) for job in jobs])

    async def _release(self, held: list[tuple[Key, int]]) -> None:
        pauses = self._pauses()
        for _ in range(RELEASES_MAX if held else 0):
            try:
                await self.transport.release(self.name, held)
            except UNANSWERED:
                await pauses.wait()
            else:
                return

    def _pauses(self) -> Pauses:
        return Pauses(self.clock, self.chance)

    def _facts(self, action: str) -> dict[str, object]:
        return {"action": action, "worker": self.name}
