"""Runs of generated playbooks beside their reference runs: they agree, and where they would not, it is said."""

import asyncio
import random

import msgspec
import pytest

from noetl.engine import events as facts
from noetl.engine.output import failure
from noetl.errors import WrongState
from noetl.testing.simulator.playbooks.drawing import generated
from noetl.testing.simulator.reference.comparison import compare
from noetl.testing.simulator.reference.run import expected
from noetl.testing.simulator.tape import Stream
from tests.simulation.household import Household

CHUNK = 50
PAYLOAD = {"wish": 3}


def family(seed):
    return generated(Stream(seed, "playbook"), 1 + seed % 12)


def differences(seed):
    """Between a run with nothing going wrong and its reference."""
    made = family(seed)
    household = Household(made, seed=seed)
    execution_id = household.run(PAYLOAD)
    return compare(expected(made, PAYLOAD), execution_id, household.logs)


@pytest.mark.spec("EV-05", "RT-02", "RT-11", "ST-06", "ST-11", "ST-12", "SC-12", "SC-13", "TK-07", "TK-08", "TL-04")
@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, CHUNK))
def test_a_run_comes_to_what_its_reference_run_came_to(first):
    found = {seed: differences(seed) for seed in range(first, first + CHUNK)}

    assert {seed: told for seed, told in found.items() if told} == {}


@pytest.mark.parametrize("seed", range(12))
def test_the_order_in_which_things_end_does_not_show(seed):
    made = family(seed)

    runs = [Household(made, seed=other, slots=slots) for other, slots in ((1, 1), (2, 8))]
    found = [compare(expected(made), run.run(), run.logs) for run in runs]

    assert found == [[], []]


@pytest.mark.spec("TL-04")
@pytest.mark.slow
def test_a_cancelled_run_is_part_of_its_reference_run():
    found, results = {}, []
    for seed in range(60):
        made = family(seed)
        household = Household(made, seed=seed)

        execution_id = household.run(PAYLOAD, cancelling(random.Random(seed).uniform(0, 5)))

        result = household.logs[execution_id][-1].result
        results.append(result)
        is_disturbed = result == "cancelled"
        found[seed] = compare(expected(made, PAYLOAD), execution_id, household.logs, is_disturbed=is_disturbed)

    assert {seed: told for seed, told in found.items() if told} == {}
    assert results.count("cancelled") > 20


def cancelling(seconds):
    async def cancel(parts, execution_id):
        await asyncio.sleep(seconds)
        try:
            await parts.desk.cancel(execution_id, "a wish")
        except WrongState:
            return  # it has ended

    return cancel


class Unkind:
    """Tools that hang, and tools whose connection breaks."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def before(self, call):
        drawn = self.random.random()
        if drawn < 0.04:
            return "hang"
        return failure("connection", "a fault of the world", is_definite=False) if drawn < 0.08 else None

    def after(self, call):
        return None


@pytest.mark.slow
def test_a_run_whose_tools_were_disturbed_is_part_of_its_reference_run_up_to_there():
    found, disturbed = {}, 0
    for seed in range(60):
        made = family(seed)
        household = Household(made, seed=seed, faults=Unkind(seed))

        execution_id = household.run()

        broken = {task_run for one in household.logs for task_run in household.ledger.broken(one)}
        disturbed += bool(broken)
        found[seed] = compare(expected(made), execution_id, household.logs, is_disturbed=bool(broken), broken=broken)

    assert {seed: told for seed, told in found.items() if told} == {}
    assert disturbed > 15


# --- what a comparison finds -----------------------------------------------------------------------------------------


def last(log, kind):
    return max(place for place, event in enumerate(log) if isinstance(event, kind))


def without(kind):
    return lambda log: [event for place, event in enumerate(log) if place != last(log, kind)]


def doubled(kind):
    return lambda log: [*log[: last(log, kind)], log[last(log, kind)], *log[last(log, kind) :]]


def changed(kind, **fields):
    def edited(log):
        place = last(log, kind)
        return [*log[:place], msgspec.structs.replace(log[place], **fields), *log[place + 1 :]]

    return edited


def other_data(log):
    place = last(log, facts.TaskDone)
    output = {**log[place].output, "data": {"n": 99}}
    return changed(facts.TaskDone, output=output)(log)


EDITS = {
    "not here": without(facts.TaskDone),
    "recorded 2 times": doubled(facts.TaskDone),
    "then jump": changed(facts.TaskDone, do="jump"),
    "'n': 99": other_data,
    "not in the reference": changed(facts.TaskDone, attempt=7),
    "done=0": without(facts.StepDone),
    "ended as failed": changed(facts.WorkflowFinished, result="failed"),
    "its output": changed(facts.WorkflowFinished, output={"data": 5}),
    "ctx.told": changed(facts.NextEvaluated, patches=[facts.Patch("ctx.told", 1)]),
}


@pytest.mark.parametrize("told", EDITS)
def test_a_log_that_says_something_else_is_told_from_its_reference(told):
    made = generated(Stream(4, "playbook"), 1)
    household = Household(made)
    execution_id = household.run()
    reference = expected(made)
    assert compare(reference, execution_id, household.logs) == []

    edited = {**household.logs, execution_id: EDITS[told](household.logs[execution_id])}
    found = compare(reference, execution_id, edited)

    assert told in "\n".join(found)


def test_a_part_of_a_log_is_enough_of_one_that_was_disturbed_and_not_of_another():
    made = generated(Stream(4, "playbook"), 1)
    household = Household(made)
    execution_id = household.run()
    cut = {execution_id: household.logs[execution_id][:-4]}

    assert compare(expected(made), execution_id, cut, is_disturbed=True) == []
    assert compare(expected(made), execution_id, cut) != []
    assert compare(expected(made), execution_id, {execution_id: other_data(cut[execution_id])}, is_disturbed=True) != []


class UnkindToCalled:
    """The first try of a task of the workbook hangs: its own rules deal with that, and no event tells."""

    def __init__(self):
        self.hung = 0

    def before(self, call):
        caller = call.key.rpartition(".")[0].rsplit(":", 2)[1]
        if call.task == caller or call.attempt > 1:
            return None
        self.hung += 1
        return "hang"

    def after(self, call):
        return None


@pytest.mark.spec("TK-14")
@pytest.mark.slow
def test_a_run_whose_called_tasks_hang_is_part_of_its_reference_run_up_to_there():
    found, hung = {}, 0
    for seed in range(120):
        made, faults = family(seed), UnkindToCalled()
        household = Household(made, seed=seed, faults=faults)

        execution_id = household.run()

        broken = {task_run for one in household.logs for task_run in household.ledger.broken(one)}
        hung += bool(faults.hung)
        found[seed] = compare(expected(made), execution_id, household.logs, is_disturbed=bool(broken), broken=broken)

    assert {seed: told for seed, told in found.items() if told} == {}
    assert hung > 10
