"""Mistakes in the pump: what counts, what is answered when, and what memory knows of a log (protocol §5)."""

from __future__ import annotations

from typing import Any

import msgspec

import noetl.control.turn as turns
import noetl.engine.apply as applying
from noetl.control import shared_sitting
from noetl.control.intake import Intake
from noetl.control.live import Executions, Live
from noetl.control.shared_sitting import SharedSitting
from noetl.control.turn import Turn
from noetl.engine import commands as ops
from noetl.engine.state import read, written
from noetl.queues.contract import ACCEPTED, DUPLICATE, STALE
from noetl.stores.contract import RUNNING, Append, Snapshot
from noetl.stores.memory import MemoryStore
from noetl.stores.shared import Head
from noetl.testing.simulator.case import CLUSTER, EMBEDDED
from noetl.testing.simulator.mutants.planting import Mutant, Planting

JOBS_PER_BATCH_MAX = 3


def nothing(*_given: Any, **_named: Any) -> None:
    """In the place of something that should be done."""


def _counting(word: str) -> Any:
    """A judge by whom reports of that word count, too."""

    def made(judge: Any) -> Any:
        def judged(self: Any, report: ops.Report) -> str:
            found: str = judge(self, report)
            return ACCEPTED if found == word else found

        return judged

    return made


def no_fence(planting: Planting) -> None:
    planting.around(SharedSitting, "judge", _counting(STALE))


def no_report_numbers(planting: Planting) -> None:
    planting.around(SharedSitting, "judge", _counting(DUPLICATE))


def answers_first(planting: Planting) -> None:
    def made(commit: Any) -> Any:
        async def committed(self: Turn) -> None:
            for asked, word in self.answers:
                if asked.answer is not None and not asked.answer.done() and isinstance(word, str):
                    asked.answer.set_result(word)
            await commit(self)

        return committed

    planting.around(Turn, "commit", made)


def memory_kept(planting: Planting) -> None:
    planting.put(Intake, "_forget", nothing)


def head_unchecked(planting: Planting) -> None:
    """The store appends wherever a log ends, so that a memory that ran ahead leaves a gap."""

    def made(rows_after: Any) -> Any:
        def rows(self: MemoryStore, batch: Any) -> Any:
            heads = {row.id: row.head for row in (*self._executions.values(), *batch.executions)}
            fitted = [
                msgspec.structs.replace(one, first_seq=heads.get(one.execution_id, 0) + 1) for one in batch.appends
            ]
            return rows_after(self, msgspec.structs.replace(batch, appends=fitted))

        return rows

    planting.put(Intake, "_forget", nothing)
    planting.around(MemoryStore, "_rows_after", made)


def stale_cache(planting: Planting) -> None:
    async def caught_up(self: Executions, head: Head) -> Live:
        return await self.get(head.id)

    planting.put(Executions, "catch_up", caught_up)


def no_tag(planting: Planting) -> None:
    def made(catch_up: Any) -> Any:
        async def caught_up(self: Any, head: Head) -> Live:
            found = self.known(head.id)
            if found is not None and found.state.seq <= head.head:
                is_there = found.state.seq == head.head
                found.tag = head.tag if is_there else await self.store.tag_at(head.id, found.state.seq)
            live: Live = await catch_up(self, head)
            return live

        return caught_up

    planting.around(Executions, "catch_up", made)


def lost_job(planting: Planting) -> None:
    def made(note: Any) -> Any:
        def noted(self: Turn, changes: list[ops.Change]) -> list[ops.Change]:
            leading: list[ops.Change] = []
            for change in changes:
                added = sum(isinstance(one, ops.JobAdded) for one in self.changes)
                if not isinstance(change, ops.JobAdded) or added < JOBS_PER_BATCH_MAX:
                    leading += note(self, [change])
            return leading

        return noted

    planting.around(Turn, "_note", made)


def after_end(planting: Planting) -> None:
    def made(decide: Any) -> Any:
        async def decided(self: Turn, operation: ops.Operation) -> Any:
            answer = await decide(self, operation)
            live = self.held.get(operation.execution_id)
            if live is None or not live.state.is_ended or isinstance(operation, ops.Report) or answer[0] != STALE:
                return answer
            return ACCEPTED, self._decided(live, operation)

        return decided

    planting.around(Turn, "_decide", made)
    planting.put(applying, "check_open", nothing)


def stale_snapshot(planting: Planting) -> None:
    def made(snapshot_of: Any) -> Any:
        def taken(share: Any) -> Snapshot | None:
            snapshot: Snapshot | None = snapshot_of(share)
            if snapshot is None:
                return None
            state = read(snapshot.body)
            state.seq -= 1
            return msgspec.structs.replace(snapshot, seq=state.seq, body=written(state))

        return taken

    planting.around(turns, "snapshot_of", made)


def row_status_kept(planting: Planting) -> None:
    def made(append_of: Any) -> Any:
        def appended(execution_id: int, share: Any) -> Append:
            append: Append = append_of(execution_id, share)
            is_ended = append.ended_at is not None
            return append if is_ended else msgspec.structs.replace(append, status=RUNNING)

        return appended

    planting.around(turns, "append_of", made)


def no_follow_marks(planting: Planting) -> None:
    planting.put(shared_sitting, "FOLLOWED_UP", ())


MUTANTS = (
    Mutant(
        name="nofence",
        meaning="a report counts whatever lease it carries",
        caught_by=("I2", "I3", "I9"),
        shapes=(CLUSTER,),
        overrides={"lease_seconds": 3.0, "rates": {"net.long_delay": 0.1, "worker.pause": 0.3, "buggify": 0.3}},
        plant=no_fence,
    ),
    Mutant(
        name="noreportno",
        meaning="a report that is recorded counts once more when it comes again",
        caught_by=("I3", "I4"),
        shapes=(CLUSTER,),
        overrides={"rates": {"net.duplicate": 0.5, "net.drop": 0.15, "net.delay": 0.3, "buggify": 0.5}},
        plant=no_report_numbers,
    ),
    Mutant(
        name="answersfirst",
        meaning="whoever waits is answered before the commit",
        caught_by=("I13",),
        plant=answers_first,
    ),
    Mutant(
        name="cachefirst",
        meaning="memory keeps what was decided though its commit failed",
        caught_by=("I15", "I10", "I9"),
        shapes=(EMBEDDED,),
        overrides={"is_lasting": True, "rates": {"store.disk_full": 0.3}},
        plant=memory_kept,
    ),
    Mutant(
        name="headunchecked",
        meaning="memory runs ahead of a log when a commit fails, and the store does not compare where the log ends",
        caught_by=("I1",),
        shapes=(EMBEDDED,),
        overrides={"is_lasting": True, "rates": {"store.disk_full": 0.3}},
        plant=head_unchecked,
    ),
    Mutant(
        name="stalecache",
        meaning="an execution in memory is taken for current, whatever other servers have written",
        caught_by=("I9", "I3", "I15"),
        shapes=(CLUSTER,),
        plant=stale_cache,
    ),
    Mutant(
        name="notag",
        meaning="an execution in memory is taken for current if its log is no shorter, whatever is in it",
        caught_by=("I10", "I3", "I9"),
        shapes=(CLUSTER,),
        overrides={"servers": 4, "workers": 4, "rates": {"store.rewind": 0.9}},
        plant=no_tag,
    ),
    Mutant(
        name="lostjob",
        meaning=f"a batch puts at most {JOBS_PER_BATCH_MAX} jobs into the queue",
        caught_by=("I9",),
        plant=lost_job,
    ),
    Mutant(
        name="afterend",
        meaning="nobody looks whether an execution has ended before something is decided for it, nor when it is folded",
        caught_by=("I11",),
        overrides={"users_cancel": 0.9, "users_signal": 0.9, "rates": {"store.slow": 0.5}},
        plant=after_end,
    ),
    Mutant(
        name="stalesnapshot",
        meaning="a snapshot says that it ends one event earlier than it does",
        caught_by=("I10",),
        overrides={"rates": {"buggify": 0.9}},
        plant=stale_snapshot,
    ),
    Mutant(
        name="statuskept",
        meaning="the row of an execution says running until it ends",
        caught_by=("I10",),
        plant=row_status_kept,
    ),
    Mutant(
        name="nofollowmarks",
        meaning="a server does not write down that it owes an execution something",
        caught_by=("I12",),
        shapes=(CLUSTER,),
        plant=no_follow_marks,
    ),
)
