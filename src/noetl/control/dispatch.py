"""Handing out: jobs from the queue to workers that ask, each under a lease (protocol §6).

What a worker gets is made here, from the state, at the last moment: an iteration is an id until it is handed out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any

import msgspec

from noetl.clock import Clock
from noetl.control.intake import Intake
from noetl.control.live import Live
from noetl.control.stored_lists import StoredLists
from noetl.engine.commands import Expire, Incident, Key, Report, Work
from noetl.engine.work import work_of
from noetl.errors import PASSING, NoetlError
from noetl.queues.contract import Claim, Queue
from noetl.references import reference_of

AGAIN_SECONDS = 1.0
log = logging.getLogger("noetl.control.dispatch")


class Dispatch:
    """The server's side of `queues.contract.Transport`, for workers in this process."""

    def __init__(self, *, intake: Intake, queue: Queue, lists: StoredLists, clock: Clock) -> None:
        self.intake = intake
        self.queue = queue
        self.lists = lists
        self.clock = clock
        self._bell = asyncio.Event()

    def ring(self) -> None:
        """There may be work."""
        self._bell.set()

    async def poll(self, worker: str, free: int) -> list[Work]:
        """Wait for work."""
        while True:
            claims = self.queue.claim(worker, free, self.clock.monotonic())
            if claims:
                works = [work for claim in claims if (work := self._work(claim) or await self._fetched(claim))]
                if works:
                    return works
                continue
            self._bell.clear()
            await self._bell.wait()

    def _work(self, claim: Claim) -> Work | None:
        """What a job is; None: it is no more, or needs something that has to be fetched."""
        execution_id, run_id, index = claim.key
        live = self.intake.executions.known(execution_id)
        run = live.state.runs.get(run_id) if live else None
        if live is None or run is None or index not in run.jobs or (run.loop is not None and run.loop.ref):
            return None
        return self._made(live, claim)

    def _made(self, live: Live, claim: Claim) -> Work | None:
        execution_id, run_id, index = claim.key
        try:
            return work_of(live.loaded.playbook, live.state, run_id, index, claim.lease, live.folder)
        except Exception as error:  # a fault of ours hurts one execution only
            log.exception("engine fault", extra={"action": "engine_fault", "execution_id": execution_id})
            fault = f"{type(error).__name__} while handing out"
            self.intake.post(Incident(execution_id=execution_id, message=fault))
            return None

    async def _fetched(self, claim: Claim) -> Work | None:
        """A job whose element is in a stored list."""
        execution_id, run_id, index = claim.key
        live = self.intake.executions.known(execution_id)
        run = live.state.runs.get(run_id) if live else None
        if live is None or run is None or index not in run.jobs or run.loop is None or not run.loop.ref:
            return None
        work = self._made(live, claim)
        return await self._with_element(run.loop.ref, work) if work is not None else None

    async def _with_element(self, ref: dict[str, Any], work: Work) -> Work | None:
        """Fetch the element of a stored list; one that cannot be read fails its iteration."""
        owner = (work.execution_id, work.run)
        try:
            element = await self.lists.element(owner, reference_of(ref), work.iter)
        except (NoetlError, ValueError) as error:
            kind = getattr(error, "kind", "type")
            self.intake.post(
                Expire(execution_id=work.execution_id, run=work.run, iter=work.iter, kind=kind, message=str(error))
            )
            return None
        around = [*work.around[:-1], msgspec.structs.replace(work.around[-1], element=element)]
        return msgspec.structs.replace(work, around=around)

    async def report(self, report: Report) -> str:
        (word,) = await self.report_all([report])
        return word

    def report_all(self, reports: list[Report]) -> Awaitable[list[str]]:
        """Until they are decided. A server waits for a disk that is full; a run of one process ends with it."""
        answer = self.intake.submit_all(reports)
        return self._insisted(reports, answer) if self.intake.is_lasting else answer

    async def _insisted(self, reports: list[Report], answer: Awaitable[list[str]]) -> list[str]:
        while True:
            try:
                return await answer
            except PASSING:
                await self.clock.sleep(AGAIN_SECONDS)
                answer = self.intake.submit_all(reports)

    async def heartbeat(self, worker: str, held: list[tuple[Key, int]]) -> list[Key]:
        return self.queue.extend(worker, held, self.clock.monotonic())

    async def release(self, worker: str, held: list[tuple[Key, int]]) -> None:
        """Nothing to do: a worker in this process gives jobs back when the process ends, and the queue with it."""
