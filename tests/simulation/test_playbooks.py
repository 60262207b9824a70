"""Generated playbooks: they check, they repeat, and together they use what the language offers."""

from functools import cache

import pytest

from noetl.dsl.check import check
from noetl.dsl.findings import ERROR
from noetl.testing.simulator.playbooks.drawing import FEATURES, generated
from noetl.testing.simulator.tape import Stream
from noetl.tools.registry import declarations

SEEDS = range(200)


def family(seed, size=None):
    return generated(Stream(seed, "playbook"), size or 1 + seed % 12, ("default", "big"))


@cache
def plans(seeds=SEEDS):
    return [plan for seed in seeds for plan in family(seed).plans.values()]


@pytest.mark.slow
def test_every_generated_playbook_checks_without_an_error():
    texts = [(seed, path, text) for seed in SEEDS for path, text in family(seed).texts.items()]

    found = {
        (seed, path): [
            str(finding.message)
            for finding in check(text.decode(), path, declarations).findings
            if finding.severity == ERROR
        ]
        for seed, path, text in texts
    }

    assert {place: errors for place, errors in found.items() if errors} == {}


def test_a_seed_gives_the_same_family_every_time():
    assert [family(seed) for seed in range(20)] == [family(seed) for seed in range(20)]


def test_a_family_grows_with_its_size():
    small = [len(family(seed, 1).main.steps) for seed in SEEDS]
    large = [len(family(seed, 12).main.steps) for seed in SEEDS]

    assert max(small) == 1
    assert sum(large) / len(large) > 8
    assert max(large) <= 16


def test_children_are_called_to_a_depth_of_three():
    assert max(len(family(seed).plans) for seed in SEEDS) == 4


def test_each_feature_is_on_in_some_families_and_off_in_others():
    drawn = [family(seed).features for seed in SEEDS]

    for feature in FEATURES:
        assert 0 < sum(feature in features for features in drawn) < len(drawn), feature


STEPS = {
    "a gate": lambda step: step.opens_when is not None,
    "a join": lambda step: step.is_join,
    "a fan-out": lambda step: step.is_inclusive,
    "a choice": lambda step: not step.is_inclusive and any(arc.when for arc in step.arcs),
    "a failure arc": lambda step: any(arc.handles_failure for arc in step.arcs),
    "a cycle": lambda step: any(arc.target == step.name for arc in step.arcs),
    "an arc that writes": lambda step: any(arc.writes for arc in step.arcs),
    "a step that writes": lambda step: step.writes,
    "compensation": lambda step: step.compensation,
    "a time limit": lambda step: step.is_overdue,
    "a pool": lambda step: step.pool,
    "a sequential loop": lambda step: step.loop and not step.loop.is_held,
    "a bounded parallel loop": lambda step: step.loop and step.loop.is_parallel and step.loop.in_flight_max,
    "a nest": lambda step: step.loop and step.loop.inner,
    "a local loop": lambda step: step.loop and step.loop.is_local,
    "a best effort": lambda step: step.is_best_effort,
    "a gate that waits for a signal": lambda step: step.waits_for_signal,
    "args on an arc": lambda step: any(arc.args for arc in step.arcs),
    "a plan": lambda step: step.planned and not step.is_plan_bad,
    "an empty plan": lambda step: step.is_planner and not step.planned,
    "a plan that is refused": lambda step: step.is_plan_bad,
}
TASKS = {
    **{
        f"kind: {kind}": lambda task, kind=kind: task.kind == kind
        for kind in ("python", "http", "noop", "playbook", "resolve", "workbook")
    },
    **{
        f"do: {do}": lambda task, do=do: any(rule.do == do for rule in task.rules or ())
        for do in ("continue", "retry", "jump", "break", "fail", "skip")
    },
    "durability: sync": lambda task: task.is_sync,
    "a large result": lambda task: task.script and task.script.pad_bytes,
    "a failing script": lambda task: task.script and task.script.fails_always,
    "writes to step": lambda task: any(write.path.startswith("step.") for write in task.writes),
    "writes to iter": lambda task: any(write.path.startswith("iter.") for write in task.writes),
    "a secret": lambda task: task.secret is not None,
    "a call that is tried again": lambda task: (
        task.called and any(rule.do == "retry" for rule in task.called.rules or ())
    ),
    "a call that writes": lambda task: task.called and task.called.writes,
}


@pytest.mark.parametrize("what", STEPS)
def test_some_generated_step_has(what):
    assert any(STEPS[what](step) for plan in plans() for step in plan.steps.values())


@pytest.mark.parametrize("what", TASKS)
def test_some_generated_task_has(what):
    tasks = [task for plan in plans() for step in plan.steps.values() for task in step.tasks]

    assert any(TASKS[what](task) for task in tasks)


def test_every_reducer_is_used():
    loops = [step.loop for plan in plans(range(400)) for step in plan.steps.values() if step.loop]

    used = {reducer for loop in loops for reducer in loop.reducers.values()}

    assert used == {"sum", "min", "max", "count", "append", "merge", "first", "last", "union"}
