"""The end of a world: what it went through is held against what the tools did, and every execution against its
reference run. Violations go out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from noetl.engine import events as facts
from noetl.engine.events import Event, decode
from noetl.stores.contract import CANCELLED
from noetl.testing.simulator.case import EMBEDDED, Violation
from noetl.testing.simulator.checks.effects import Ordeal
from noetl.testing.simulator.reference.comparison import FORCED, compare
from noetl.testing.simulator.reference.run import expected

if TYPE_CHECKING:
    from noetl.testing.simulator.world import World

HEARTBEATS_PER_LEASE = 3
SLACK_SECONDS = 10.0  # for statements and messages that are slow without being a fault
DEADLY = frozenset(("worker.kill", "worker.kill_at_tool"))  # these keep no other process from recording what it did
DEADLY_TO_A_PROCESS = DEADLY | {"server.kill", "server.kill_at_step"}  # and these none that has its store to itself
PUT_FAILS = "results.put_fails"
OF_RESULTS = (PUT_FAILS, "results.get_fails", "results.wrong_bytes")
OF_MESSAGES = ("net.", "store.")  # whatever of these strikes may keep any worker from hearing something in time
COSTING = (*OF_MESSAGES, "server.", "results.", "worker.pause", "buggify")  # a worker that lives a job
WISHED = "wish-"  # request keys of what users start
Logs = Mapping[int, list[Event]]


def ordeal_of(world: World) -> Ordeal:
    """What excuses anything: nothing, in a world in which nothing went wrong.

    What befalls a process may cost all workers all of their jobs, a message or a statement one. A worker that died
    explains by itself that what it did is done again.
    """
    counts, configuration = world.tape.counts, world.configuration
    lease_seconds = configuration.lease_seconds * 2.0**configuration.clock_rate_spread  # by the slowest clock
    is_hard_of_hearing = any(kind.startswith(OF_MESSAGES) for kind in counts)
    costing = sum(count for kind, count in counts.items() if kind.startswith(COSTING))
    deadly = DEADLY_TO_A_PROCESS if world.case.shape == EMBEDDED else DEADLY
    return Ordeal(
        jobs_lost_max=configuration.slots * configuration.workers * world.disturbances + costing,
        heartbeat_seconds=lease_seconds / HEARTBEATS_PER_LEASE + SLACK_SECONDS,
        cut_off_seconds=2 * lease_seconds + SLACK_SECONDS,
        cut_off=frozenset(world.names) if is_hard_of_hearing else world.cut_off,
        killed=world.killed,
        slots=configuration.slots,
        is_prompt=deadly.issuperset(counts),
        incidents=world.planted,
        is_storing_faulty=bool(world.tape.counts[PUT_FAILS]),
    )


def compare_with_references(world: World) -> None:
    """What users asked for came to what a straight reading of the playbook comes to.

    Where a result could not be stored or read, a task failed that no script says, and its step went another way; and
    where the one clock that deadlines are told by was moved, they came earlier or later.
    """
    if any(world.tape.counts[kind] for kind in OF_RESULTS) or world.jumped_seconds:
        return
    logs = {row.id: [decode(body) for body in world.view().bodies(row.id)] for row in world.rows()}
    parents = {row.id: row.parent_id for row in world.rows()}
    wanted = {row.id: key for row in world.rows() if (key := row.request_key or "").startswith(WISHED)}
    for execution_id, key in wanted.items():
        wish = world.users.wishes[int(key.rpartition("-")[2])]
        tree = set(below(execution_id, parents))
        differences = compare(
            expected(world.family, wish.payload),
            execution_id,
            logs,
            is_disturbed=is_disturbed(world, tree, logs),
            broken=frozenset(task_run for one in tree for task_run in world.ledger.broken(one)),
        )
        if differences:
            raise Violation("reference", "; ".join(differences), execution_id)


def below(execution_id: int, parents: Mapping[int, int | None]) -> Iterator[int]:
    """An execution and all that it called."""
    yield execution_id
    for child, parent in parents.items():
        if parent == execution_id:
            yield from below(child, parents)


def is_disturbed(world: World, tree: set[int], logs: Logs) -> bool:
    """Whether somebody or something made it go another way than its scripts say."""
    if not tree.isdisjoint(world.users.cancelled) or not tree.isdisjoint(world.planted):
        return True
    if any(map(world.ledger.is_disturbed, tree)):
        return True
    return any(is_forced(event) for execution_id in tree for event in logs[execution_id])


def is_forced(event: Event) -> bool:
    """A failure that time brought about: deadlines pass, and workers are lost, in a world that is slow."""
    if isinstance(event, facts.WorkflowFinished):
        return event.result == CANCELLED
    if isinstance(event, facts.StepFailed | facts.LoopIterationFailed):
        return event.error.get("kind") in FORCED
    if isinstance(event, facts.TaskDone) and event.output is not None:
        return (event.output.get("error") or {}).get("kind") in FORCED
    return isinstance(event, facts.EngineError)
