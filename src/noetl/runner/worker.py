"""A worker: asks for jobs as long as it has free slots, runs each, and knows which it holds.

It executes pipelines and reports; it decides nothing about steps, and it never touches the log (RO-02). A server that
does not answer is asked again; a job that fails by a fault of ours ends alone. When the worker stops it starts no
further task, and what it cannot finish in time goes back, so that another worker goes on at once (protocol §7).
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from noetl.dsl.model import Playbook
from noetl.engine.commands import Key, Work
from noetl.errors import Unreachable
from noetl.messaging.pauses import Pauses
from noetl.queues.contract import UNANSWERED, Transport
from noetl.runner.execute import Kit, execute
from noetl.runner.heartbeat import Answered, Heartbeat
from noetl.runner.invoke import Invoker
from noetl.runner.lease import Lease, Terms
from noetl.runner.reporter import Post
from noetl.runner.slots import Slots
from noetl.runner.waiting import first_of

log = logging.getLogger("noetl.runner")

JOBS_MAX = 10_000  # held at once, those that wait without a slot among them; more than that if there are more slots
EARLY_MAX = 100  # revocations that are remembered for jobs that may be on their way
RELEASES_MAX = 3  # attempts to give a job back: then its lease runs out by itself

Playbooks = Callable[[str, list[list[Any]]], Awaitable[Playbook]]


class Job(msgspec.Struct, eq=False, kw_only=True):
    """A job in this worker's hands."""

    work: Work
    lease: Lease
    task: asyncio.Task[None] | None = None

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()


class Worker:
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
        post = Post(transport=transport, clock=invoker.clock, chance=chance, clean=invoker.clean)
        self.kit = Kit(
            post=post, invoker=invoker, clock=invoker.clock, slots=self.slots, chance=chance, stopping=self._stopping
        )
        self._jobs: dict[Key, Job] = {}
        self._early: deque[tuple[Key, int]] = deque(maxlen=EARLY_MAX)  # ended before they came
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order they were begun: it shows when they stop
        self.on_idle: Callable[[], None] = lambda: None
        self.on_failure: Callable[[BaseException], None] | None = None  # None: a fault of ours is logged

    # --- taking ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Take jobs until told to stop."""
        pauses, is_answered = self._pauses(), True
        while (free := await self._free()) > 0:
            sent_at = self.clock.monotonic()
            try:
                works = await self.transport.poll(self.name, free)
            except UNANSWERED as error:
                if is_answered:
                    log.warning("no server gives work: %s", error, extra=self._facts("poll_unanswered"))
                is_answered = False
                await first_of(pauses.wait(), self._stopping.wait())
                continue
            if not is_answered:
                log.info("a server gives work again", extra=self._facts("poll_answered"))
                is_answered = True
                pauses.reset()
            await self._take(works, sent_at)

    async def _free(self) -> int:
        """Wait until another job can be taken; how many can. None at all: the worker stops."""
        while not self._stopping.is_set():
            free = min(self.slots.free, self.jobs_max - len(self._tasks))
            if free > 0:
                return free
            await self.slots.changed()
        return 0

    async def _take(self, works: list[Work], sent_at: float) -> None:
        if self._stopping.is_set():
            await self._give_back([(work.key, work.lease) for work in works])
            return
        for work in works:
            if (work.key, work.lease) in self._early:
                continue  # it was ended while it was on its way here
            self.slots.try_take()
            self._spawn(Job(work=work, lease=Lease(self.terms, self.clock, sent_at)))

    def _spawn(self, job: Job) -> None:
        key = job.work.key
        if key in self._jobs:  # handed out anew, so the lease that it was held under is over
            self._jobs[key].stop()
        self._jobs[key] = job
        job.task = asyncio.get_running_loop().create_task(self._work_on(job))
        self._tasks[job.task] = None
        job.task.add_done_callback(lambda task: self._ended(job, task))

    # --- working -----------------------------------------------------------------------------------------------------

    async def _work_on(self, job: Job) -> None:
        try:
            is_over = await self._executed(job)
        except asyncio.CancelledError:
            if not self._parting or self._jobs.get(job.work.key) is not job:
                raise
            is_over = False
        if not is_over:
            self._let_go(job)
            await self._give_back([(job.work.key, job.work.lease)])

    async def _executed(self, job: Job) -> bool:
        try:
            playbook = await self._playbook(job.work)
        except BaseException:
            self.slots.release()
            raise
        return await execute(self.kit, playbook, job.work, job.lease)

    async def _playbook(self, work: Work) -> Playbook:
        """What the job runs, asked for until somebody answers: it is held meanwhile, as any other."""
        pauses = None
        while True:
            try:
                return await self.playbooks(work.sha, work.planned)
            except Unreachable:
                pauses = pauses or self._pauses()
                await pauses.wait()

    def _let_go(self, job: Job) -> None:
        """It is in our hands no more: no heartbeat names it."""
        if self._jobs.get(job.work.key) is job:
            del self._jobs[job.work.key]

    def _ended(self, job: Job, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._let_go(job)
        self.slots.wake()
        if not self._tasks:
            self.on_idle()
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

    # --- holding -----------------------------------------------------------------------------------------------------

    def held(self) -> list[tuple[Key, int]]:
        """What this worker works on. Other threads may ask: a copy is made in one go."""
        return [(job.work.key, job.work.lease) for job in self._jobs.copy().values()]

    def answered(self, answer: Answered) -> None:
        """A heartbeat was answered: what is gone is dropped, the rest is ours for longer."""
        for key, lease in answer.held:
            job = self._jobs.get(key)
            if job is None or job.work.lease != lease:
                continue  # it has ended meanwhile, or was handed out anew
            if key in answer.gone:
                self._drop(job)
            else:
                job.lease.heard(answer.sent_at)

    def revoke(self, key: Key) -> None:
        """A job was ended by the server: stop what runs for it."""
        if key in self._jobs:
            self._drop(self._jobs[key])

    def revoked(self, held: list[tuple[Key, int]]) -> None:
        """The same of several, each under the lease that was ended: it may be held under another by now, or not be here
        yet."""
        for key, lease in held:
            if key in self._jobs and self._jobs[key].work.lease == lease:
                self._drop(self._jobs[key])
            else:
                self._early.append((key, lease))

    def _drop(self, job: Job) -> None:
        self._let_go(job)
        job.stop()

    @property
    def jobs(self) -> int:
        return len(self._tasks)

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
        if self._tasks and seconds is not None:
            await self._idle_within(seconds)
        self._parting = seconds is not None
        for job in list(self._jobs.values()) if self._parting else ():
            job.stop()
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _idle_within(self, seconds: float) -> None:
        late = asyncio.ensure_future(self.clock.sleep(seconds))
        try:
            while self._tasks and not late.done():
                await asyncio.wait({late, *self._tasks}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            late.cancel()

    async def abandon(self) -> None:
        """Stop at once; what was not reported is done again by whoever takes the job up."""
        self.stop()
        self._parting = False
        for task in self._tasks:
            task.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _give_back(self, held: list[tuple[Key, int]]) -> None:
        """Let others go on at once; if no server hears it they do so when the leases have run out."""
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
