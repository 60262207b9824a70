"""Writes onto shared data."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine.events import Patch
from noetl.engine.patches import patched, value_at

keys = st.sampled_from(["a", "b", "c"])
scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=2)
data = st.recursive(scalars, lambda below: st.dictionaries(keys, below, max_size=3) | st.lists(below, max_size=2))
mappings = st.dictionaries(keys, data, max_size=3)
paths = st.lists(keys, min_size=1, max_size=3).map(lambda found: "ctx." + ".".join(found))
patches = st.builds(Patch, paths, data)
histories = st.lists(patches, max_size=8)


def reference(ctx: dict[str, Any], history: list[Patch]) -> dict[str, Any]:
    """The plainest way to write: a deep copy, changed in place."""
    ctx = copy.deepcopy(ctx)
    for patch in history:
        *outer, last = patch.path.split(".")[1:]
        here = ctx
        for key in outer:
            if not isinstance(here.get(key), dict):
                here[key] = {}
            here = here[key]
        here[last] = copy.deepcopy(patch.value)
    return ctx


@pytest.mark.spec("SC-02", "SC-10")
@given(mappings, histories)
def test_a_history_of_writes_gives_what_the_plainest_way_gives(ctx: dict[str, Any], history: list[Patch]) -> None:
    assert patched(ctx, history, "ctx") == reference(ctx, history)


@pytest.mark.spec("SC-14")
@given(mappings, histories)
def test_whoever_holds_the_data_keeps_it(ctx: dict[str, Any], history: list[Patch]) -> None:
    before = copy.deepcopy(ctx)

    patched(ctx, history, "ctx")

    assert ctx == before


@given(mappings, histories, st.integers(0, 8))
def test_a_history_folds_the_same_in_two_parts(ctx: dict[str, Any], history: list[Patch], cut: int) -> None:
    halfway = patched(ctx, history[:cut], "ctx")

    assert patched(halfway, history[cut:], "ctx") == patched(ctx, history, "ctx")


@given(mappings, patches)
def test_what_was_written_is_found_at_its_path(ctx: dict[str, Any], patch: Patch) -> None:
    assert value_at(patched(ctx, [patch], "ctx"), patch.path) == patch.value


@pytest.mark.spec("SC-10")
def test_a_mapping_as_value_replaces_what_was_there() -> None:
    assert patched({"a": {"x": 1, "y": 2}}, [Patch("ctx.a", {"x": 3})], "ctx") == {"a": {"x": 3}}


def test_writes_to_another_scope_are_left_alone() -> None:
    writes = [Patch("step.a", 1), Patch("ctx.a", 2), Patch("iter.a", 3)]

    assert [patched({}, writes, scope) for scope in ("ctx", "step", "iter")] == [{"a": 2}, {"a": 1}, {"a": 3}]
