"""Handing out: jobs from the queue to workers that ask, each under a lease (protocol §6).

What a worker gets is made here, from the state, at the last moment: an iteration is an id until it is handed out.
"""

from __future__ import annotations

import asyncio
import logging

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
                works = [work for claim in claims if (work := await self._work(claim))]
                if works:
                    return works
                continue
            self._bell.clear()
            await self._bell.wait()

    async def _work(self, claim: Claim) -> Work | None:
        execution_id, run_id, index = claim.key
        live = self.intake.executions.known(execution_id)
        run = live.state.runs.get(run_id) if live else None
        if live is None or run is None or index not in run.jobs:
            return None
        try:
            work = work_of(live.loaded.playbook, live.state, run_id, index, claim.lease, live.folder)
        except Exception as error:  # a fault of ours hurts one execution only
            log.exception("engine fault", extra={"action": "engine_fault", "execution_id": execution_id})
            fault = f"{type(error).__name__} while handing out"
            self.intake.post(Incident(execution_id=execution_id, message=fault))
            return None
        return await self._with_element(live, work, claim)

    async def _with_element(self, live: Live, work: Work, claim: Claim) -> Work | None:
        """Fetch the element of a stored list; one that cannot be read fails its iteration."""
        loop = live.state.runs[work.run].loop
        if loop is None or not loop.ref:
            return work
        owner = (work.execution_id, work.run)
        try:
            element = await self.lists.element(owner, reference_of(loop.ref), work.iter)
        except (NoetlError, ValueError) as error:
            kind = getattr(error, "kind", "type")
            self.intake.post(
                Expire(execution_id=work.execution_id, run=work.run, iter=work.iter, kind=kind, message=str(error))
            )
            return None
        around = [*work.around[:-1], msgspec.structs.replace(work.around[-1], element=element)]
        return msgspec.structs.replace(work, around=around)

    async def report(self, report: Report) -> str:
        """Until it is decided. A server waits for a disk that is full; a run of one process ends with it."""
        while True:
            try:
                return await self.intake.submit(report)
            except PASSING:
                if not self.intake.is_lasting:
                    raise
                await self.clock.sleep(AGAIN_SECONDS)

    async def heartbeat(self, worker: str, held: list[tuple[Key, int]]) -> list[Key]:
        return self.queue.extend(worker, held, self.clock.monotonic())

    async def release(self, worker: str, held: list[tuple[Key, int]]) -> None:
        """Nothing to do: a worker in this process gives jobs back when the process ends, and the queue with it."""
