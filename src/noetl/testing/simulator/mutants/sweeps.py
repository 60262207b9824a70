"""Mistakes beside the pump: the sweep, what follows from a decision elsewhere, and requests (protocol §6, §8)."""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.control import rescue
from noetl.control.desk import Desk
from noetl.control.follow import Following
from noetl.control.requests import RunRequest
from noetl.control.rescue import Rescue
from noetl.control.timers import Timers
from noetl.engine import commands as ops
from noetl.engine import decide, ending
from noetl.stores.contract import LIVE
from noetl.testing.simulator.case import CLUSTER, EMBEDDED
from noetl.testing.simulator.mutants.fixed import left_to_its_caller
from noetl.testing.simulator.mutants.planting import Mutant, Planting
from noetl.testing.simulator.mutants.pump import nothing


async def nothing_later(*_given: Any) -> None:
    """In the place of something that should be done, and takes its time."""


def leases_not_swept(planting: Planting) -> None:
    planting.put(Rescue, "_lost_leases", nothing_later)


def parent_not_told(planting: Planting) -> None:
    planting.put(ending, "tell_parent", nothing)
    planting.put(Rescue, "_stranded", nothing_later)


def deadlines_lost(planting: Planting) -> None:
    planting.put(Rescue, "_deadlines", nothing_later)
    planting.put(Timers, "set", nothing)


def request_keys_ignored(planting: Planting) -> None:
    def made(begun: Any) -> Any:
        async def started(self: Desk, request: RunRequest, *given: Any) -> int:
            number: int = await begun(self, msgspec.structs.replace(request, request_key=None), *given)
            return number

        return started

    planting.around(Desk, "_begun", made)


def child_without_key(planting: Planting) -> None:
    def made(start_child: Any) -> Any:
        async def started(self: Any, wanted: ops.ChildWanted) -> list[ops.Operation]:
            found = await start_child(self, wanted)
            return [
                msgspec.structs.replace(one, parent_key=f"{one.parent_key}#{one.execution_id}")
                if isinstance(one, ops.Start)
                else one
                for one in found
            ]

        return started

    planting.around(Following, "_start_child", made)


def child_left(planting: Planting) -> None:
    def made(reattach: Any) -> Any:
        async def reattached(self: Any, wanted: ops.ChildWanted, child: Any) -> list[ops.Operation]:
            found: list[ops.Operation] = [] if child.status in LIVE else await reattach(self, wanted, child)
            return found

        return reattached

    planting.around(Following, "_reattach", made)
    left_to_its_caller(planting)  # else whoever is left is taken up by itself


def given_up_at_once(planting: Planting) -> None:
    planting.put(rescue, "DELIVERIES_MAX", 2)


def never_given_up(planting: Planting) -> None:
    planting.put(decide, "RECOVERIES_MAX", 1_000)


def taken_up_alone(planting: Planting) -> None:
    planting.put(Desk, "_take_up_below", nothing_later)


MUTANTS = (
    Mutant(
        name="norescue",
        meaning="nobody takes back the jobs of workers that are lost",
        caught_by=("I15",),
        shapes=(CLUSTER,),
        plant=leases_not_swept,
    ),
    Mutant(
        name="parentuntold",
        meaning="a caller is not told that its child has ended, and nobody looks for callers that were not",
        caught_by=("I15",),
        plant=parent_not_told,
    ),
    Mutant(
        name="nodeadlines",
        meaning="no deadline of a step or of a wait for a child ever passes",
        caught_by=("reference", "I15"),
        plant=deadlines_lost,
    ),
    Mutant(
        name="lostatonce",
        meaning="a job is given up for lost when two workers were, not five",
        caught_by=("leases",),
        shapes=(CLUSTER,),
        overrides={"lease_seconds": 3.0, "poison": 1, "rates": {"worker.kill": 0.9}},
        plant=given_up_at_once,
    ),
    Mutant(
        name="takenupforever",
        meaning="an execution that takes its process down is taken up for ever",
        caught_by=("I12",),
        shapes=(EMBEDDED,),
        overrides={"poison": 1, "rates": {}},
        plant=never_given_up,
    ),
    Mutant(
        name="shallowresume",
        meaning="whoever takes an execution up does not take up the incidents of those that it called",
        caught_by=("I15",),
        overrides={"users_cancel": 0.0, "rates": {"engine.raises": 0.3}},
        plant=taken_up_alone,
    ),
    Mutant(
        name="nokeys",
        meaning="an execution is recorded without the key of its request",
        caught_by=("I13",),
        plant=request_keys_ignored,
    ),
    Mutant(
        name="childtwice",
        meaning="a child is recorded under another key than that of its call, so that it is not found again",
        caught_by=("I12", "I3"),
        plant=child_without_key,
    ),
    Mutant(
        name="childleft",
        meaning="the children of an execution that is taken up are not taken up, neither with it nor by themselves",
        caught_by=("I9", "I15"),
        shapes=(EMBEDDED,),
        plant=child_left,
    ),
)
