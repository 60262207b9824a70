"""Who sees what: ctx is everybody's, step ends with its step, iter with its iteration; iterations that run beside each
other see none of each other's writes (SC-03, SC-05, SC-12, SC-14).
"""

from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from noetl.engine.commands import Around
from noetl.engine.events import Patch
from noetl.engine.patches import patched, value_at
from noetl.engine.scopes import bare_names, iteration, iterators
from noetl.testing.engine import Engine
from tests.engine.books import HEAD
from tests.properties.laws import law, one_of_each

PATHS = ("ctx.a", "ctx.b", "step.a", "iter.a")
UNSET = "-"
ITERATIONS = 2
Seen = dict[tuple[str, int, str], dict[str, Any]]  # step, iteration and task → what it read, by path


class Plan(msgspec.Struct, frozen=True):
    """A step: its loop, what its tasks write, and what its own set writes."""

    loop: str  # none, sequential, parallel
    writes: tuple[str, ...]  # of each task, in order
    sets: str  # of the step; "": nothing

    @property
    def paths(self) -> tuple[str, ...]:
        return PATHS if self.loop != "none" else PATHS[:3]


def planned(drawn: tuple[Any, ...]) -> Plan:
    loop, sets, *writes = drawn
    plan = Plan(loop, tuple(path for path in writes if path), sets)
    return msgspec.structs.replace(plan, writes=tuple(path for path in plan.writes if path in plan.paths) or ("ctx.a",))


PLANS = one_of_each(("none", "sequential", "parallel"), ("", "ctx.a", "ctx.b"), *[("", *PATHS)] * 3).map(planned)


def playbook(plans: list[Plan]) -> str:
    return f"{HEAD}workflow: {msgspec.json.encode([step(place, plans) for place in range(len(plans))]).decode()}\n"


def step(place: int, plans: list[Plan]) -> dict[str, Any]:
    plan = plans[place]
    made: dict[str, Any] = {"step": f"s{place}", "tool": [task(place, n, plan) for n in range(len(plan.writes))]}
    if plan.loop != "none":
        made["loop"] = {"in": [0, 1], "iterator": "n", "spec": {"mode": plan.loop}}
    if plan.sets:
        made["set"] = {plan.sets: f"set{place}"}
    if place + 1 < len(plans):
        made["next"] = {"arcs": [{"step": f"s{place + 1}"}]}
    return made


def task(place: int, number: int, plan: Plan) -> dict[str, Any]:
    reads = {path.replace(".", "_"): f"{{{{ {path} | default('{UNSET}') }}}}" for path in plan.paths}
    written = {plan.writes[number]: f"s{place}t{number}"}
    return {"name": f"t{place}{number}", "kind": "noop", "input": reads, "set": written}


def expected(plans: list[Plan]) -> Seen:
    """The model: three dictionaries, and copies of them where iterations run beside each other."""
    seen: Seen = {}
    ctx: dict[str, Any] = {}
    for place, plan in enumerate(plans):
        steps: dict[str, Any] = {}
        before = (dict(ctx), dict(steps))
        for index in range(ITERATIONS) if plan.loop != "none" else [-1]:
            own = (dict(before[0]), dict(before[1])) if plan.loop == "parallel" else (ctx, steps)
            values = {"ctx": own[0], "step": own[1], "iter": {}}
            for number, path in enumerate(plan.writes):
                seen[f"s{place}", index, f"t{place}{number}"] = {
                    read: values[read.split(".")[0]].get(read.split(".")[1], UNSET) for read in plan.paths
                }
                scope, key = path.split(".")
                values[scope][key] = f"s{place}t{number}"
        if plan.loop == "parallel":
            ctx, steps = own  # all of them wrote the same
        if plan.sets:
            ctx[plan.sets.split(".")[1]] = f"set{place}"
    return seen


@pytest.mark.spec("SC-03", "SC-05", "SC-12", "SC-14")
@law(500, plans=st.lists(PLANS, min_size=1, max_size=3), is_last_first=st.booleans())
def test_a_task_sees_what_was_written_where_it_may_look_and_nothing_else(
    plans: list[Plan], is_last_first: bool
) -> None:
    made = Engine(playbook(plans))
    made.start()
    while jobs := made.ready():
        made.run_job(*jobs[-1 if is_last_first else 0])

    assert made.status == "success"
    assert seen_by(made) == expected(plans)


def seen_by(made: Engine) -> Seen:
    found: Seen = {}
    for invocation in made.invocations:
        _, _, index, label, _ = invocation.key.split(":")
        read = {
            path: invocation.input[path.replace(".", "_")]
            for path in PATHS
            if path.replace(".", "_") in invocation.input
        }
        found[f"s{label[1]}", int(index), label] = read
    return found


NAMES = ("a", "b", "workload", "ctx", "iter")


@pytest.mark.spec("TP-02", "TP-06")
@law(1000, workload=one_of_each(*[(..., 1, None)] * 5), steps=one_of_each(*[(..., 1, 2)] * 5))
def test_a_step_that_has_run_hides_a_workload_key_of_its_name(
    workload: tuple[Any, ...], steps: tuple[Any, ...]
) -> None:
    keys = {name: value for name, value in zip(NAMES, workload, strict=True) if value is not ...}
    outputs = {name: {"data": value} for name, value in zip(NAMES, steps, strict=True) if value is not ...}

    found = bare_names(keys, outputs)

    assert found == {**keys, **outputs}


AROUND = one_of_each(("n", "m", "parent"), range(4), (1, 4, 9), (None, 0, "x")).map(
    lambda drawn: Around(iterator=drawn[0], index=min(drawn[1], drawn[2] - 1), total=drawn[2], element=drawn[3])
)


@pytest.mark.spec("SC-03", "SC-04")
@law(1000, around=st.lists(AROUND, max_size=4), scratch=one_of_each((..., 1), (..., 2)))
def test_each_iteration_outside_is_one_parent_up_and_the_inner_name_counts(
    around: list[Around], scratch: tuple[Any, ...]
) -> None:
    values = {name: value for name, value in zip(("n", "own"), scratch, strict=True) if value is not ...}

    found = iteration(around, values)

    assert iterators(around) == {one.iterator: one.element for one in around}
    if not around:
        assert found is None
        return
    assert found is not None
    assert {name: found[name] for name in values} == values
    for depth, one in enumerate(reversed(around)):
        assert (found["index"], found["_total"]) == (one.index, one.total)
        assert (found["_first"], found["_last"]) == (one.index == 0, one.index == one.total - 1)
        if one.iterator == "parent" or depth == len(around) - 1:
            return  # an iterator of that name hides what is outside
        found = found["parent"]


KEYS = st.lists(st.sampled_from(("a", "b", "c")), min_size=1, max_size=3).map(lambda keys: ".".join(["ctx", *keys]))


@pytest.mark.spec("SC-14")
@law(1500, first=KEYS, second=KEYS, value=st.integers(0, 9))
def test_writes_apart_from_each_other_can_change_places(first: str, second: str, value: int) -> None:
    one, two = Patch(first, value), Patch(second, value + 1)
    is_apart = not (f"{first}.".startswith(f"{second}.") or f"{second}.".startswith(f"{first}."))

    there, back = patched({}, [one, two], "ctx"), patched({}, [two, one], "ctx")

    assert value_at(there, second) == value + 1
    assert (there == back) == is_apart
    assert patched(there, [one, two, two], "ctx") == (there if is_apart else patched({}, [one, two], "ctx"))
