"""Layers of a spec and of a workload: the innermost one that says something is heard, and nothing else changes
(TK-03, TK-18, SC-01).
"""

from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from noetl.dsl.kinds import Kind
from noetl.dsl.layers import OF_A_SCOPE, as_timeouts, effective_spec, merge, with_timeouts
from noetl.engine.decide import merged
from noetl.testing.engine import playbook_of
from noetl.tools.registry import declarations
from tests.engine.books import HEAD
from tests.properties.laws import law, one_of_each

Data = dict[str, Any]
ABSENT = ...
LEAVES = (ABSENT, ABSENT, 0, 1, True, None, "a", [], [0])


def shaped(drawn: tuple[Any, ...]) -> Data:
    """Mappings of one shape: `a` and `b` are leaves wherever they stand, `m` and `n` mappings."""
    a, b, in_m, in_n, deep_a, deep_b, is_empty = drawn
    deep = given_of(a=deep_a, b=deep_b)
    below = given_of(a=in_m, m=deep if deep or is_empty else ABSENT)
    return given_of(a=a, b=b, m=below if below or is_empty else ABSENT, n=given_of(b=in_n) or ABSENT)


def given_of(**values: Any) -> Data:
    return {name: value for name, value in values.items() if value is not ABSENT}


SHAPED = one_of_each(*[LEAVES] * 6, (False, True)).map(shaped)
MIXED = (*LEAVES, {}, {"a": 1}, {"a": [1], "b": None}, {"a": {"a": 0}})
WILD = one_of_each(*[MIXED] * 4).map(lambda drawn: given_of(**dict(zip("abmn", drawn, strict=True))))


def leaves(data: Data, at: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Path → what is no mapping; an empty mapping is a leaf of its own."""
    found: dict[tuple[str, ...], Any] = {}
    for key, value in data.items():
        found |= leaves(value, (*at, key)) if isinstance(value, dict) and value else {(*at, key): value}
    return found


def same(left: Any, right: Any) -> bool:
    return msgspec.json.encode(left, order="sorted") == msgspec.json.encode(right, order="sorted")


@pytest.mark.spec("TK-03")
@law(1500, one=SHAPED, two=SHAPED, three=SHAPED)
def test_it_does_not_matter_which_layers_are_put_together_first(one: Data, two: Data, three: Data) -> None:
    assert same(merge(merge(one, two), three), merge(one, merge(two, three)))
    assert same(merged(merged(one, two), three), merged(one, merged(two, three)))


@pytest.mark.spec("TK-03", "SC-01")
@law(1500, outer=WILD, inner=WILD)
def test_a_layer_over_itself_or_over_nothing_is_itself_and_leaves_others_as_they_were(outer: Data, inner: Data) -> None:
    before = msgspec.json.encode([outer, inner])

    for overlay in (merge, merged):
        both = overlay(outer, inner)
        assert same(overlay(both, inner), both)
        assert same(overlay(inner, inner), inner)
        assert same(overlay({}, inner), inner)
        assert same(overlay(outer, {}), outer)

    assert msgspec.json.encode([outer, inner]) == before


@pytest.mark.spec("TK-03", "SC-01")
@law(1500, layers=st.lists(SHAPED, min_size=1, max_size=5))
def test_each_leaf_is_that_of_the_innermost_layer_that_has_it(layers: list[Data]) -> None:
    whole: Data = {}
    payload: Data = {}
    for layer in layers:
        whole, payload = merge(whole, layer), merged(payload, layer)

    innermost: dict[tuple[str, ...], Any] = {}
    for layer in layers:
        innermost |= leaves(layer)
    paths = [path for path, value in innermost.items() if value != {}]
    assert {path: leaves(whole)[path] for path in paths} == {path: innermost[path] for path in paths}
    assert same(whole, payload)


OF_KIND = (ABSENT, {}, {"verify": 3}, {"max_output_bytes": 4}, {"verify": 5, "max_output_bytes": 6})
TIMEOUTS = (ABSENT, 1, 2, {}, {"connect": 3}, {"read": 4, "total": 5}, {"total": 6})
KNOBS = one_of_each(
    (ABSENT, "sync", "async"), TIMEOUTS, (ABSENT, 1, 2), OF_KIND, OF_KIND, (ABSENT, "parallel"), (ABSENT, {"rules": []})
).map(
    lambda drawn: given_of(
        durability=drawn[0],
        timeout=drawn[1],
        max_output_bytes=drawn[2],
        http=drawn[3],
        noop=drawn[4],
        mode=drawn[5],
        policy=drawn[6],
    )
)


@pytest.mark.spec("TK-03", "TK-18")
@law(1500, layers=st.lists(KNOBS, max_size=5), timeouts=st.none() | st.integers(1, 9))
def test_a_knob_is_that_of_the_innermost_spec_and_of_its_kind_alone(layers: list[Data], timeouts: int | None) -> None:
    kind = Kind(name="http", summary="", fields=(), defaults={"verify": 0, "timeout": {"connect": 99}})

    found = effective_spec(kind, layers, ("http", "noop"), timeouts)

    assert OF_A_SCOPE.isdisjoint(found)
    assert {"http", "noop"}.isdisjoint(found)
    for knob in ("durability", "max_output_bytes", "verify"):
        said = [of[knob] for layer in layers for of in (layer, layer.get("http", {})) if knob in of]
        assert found.get(knob) == (said[-1] if said else kind.defaults.get(knob))
    for name in ("connect", "read", "total"):
        outermost = [{"connect": 99}, as_timeouts(timeouts)]
        said = [of[name] for of in [*outermost, *(as_timeouts(layer.get("timeout")) for layer in layers)] if name in of]
        assert found["timeout"].get(name) == (said[-1] if said else None)


SPECS = one_of_each((ABSENT, "sync", "async"), TIMEOUTS).map(
    lambda drawn: given_of(durability=drawn[0], timeout=drawn[1])
)


@pytest.mark.spec("TK-03")
@law(400, specs=st.tuples(SPECS, SPECS, SPECS, SPECS), has_loop=st.booleans())
def test_a_task_has_what_executor_step_loop_and_task_say_in_this_order(
    specs: tuple[Data, Data, Data, Data], has_loop: bool
) -> None:
    executor, of_step, of_loop, of_task = specs
    step: Data = {"step": "start", "spec": of_step, "tool": [{"name": "one", "kind": "noop", "spec": of_task}]}
    if has_loop:
        step["loop"] = {"in": [1], "iterator": "n", "spec": of_loop}
    body = {"executor": {"spec": executor}, "workflow": [step]}
    playbook = playbook_of(HEAD + "\n".join(f"{key}: {msgspec.json.encode(body[key]).decode()}" for key in body))

    (task,) = playbook.steps["start"].tasks

    expected: dict[tuple[str, ...], Any] = {}
    for layer in (declarations["noop"].defaults, executor, of_step, of_loop if has_loop else {}, of_task):
        expected |= leaves(with_timeouts(layer))
    found = leaves(msgspec.to_builtins({"timeout": task.timeout, **task.spec}))
    paths = [("durability",), ("timeout", "connect"), ("timeout", "read"), ("timeout", "total")]
    assert [found.get(path) for path in paths] == [expected.get(path) for path in paths]
