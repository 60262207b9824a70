"""The writes of iterations that ran beside each other: folded by index, whatever the order in which they ended."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine.events import Patch
from noetl.engine.merging import Fold, MergeFault, Stretch, begin, finished, insert, joined, unique

REDUCERS = {
    "ctx.sum": "sum",
    "ctx.min": "min",
    "ctx.max": "max",
    "ctx.count": "count",
    "ctx.append": "append",
    "ctx.merge": "merge",
    "ctx.first": "first",
    "ctx.last": "last",
    "ctx.union": "union",
    "step.sum": "sum",
}
numbers = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6)
small = st.integers(0, 3) | st.text("ab", max_size=2)
mappings = st.dictionaries(st.sampled_from("abc"), small, max_size=3)
WRITTEN = {
    "ctx.sum": numbers,
    "step.sum": numbers,
    "ctx.min": numbers,
    "ctx.max": numbers,
    "ctx.count": small,
    "ctx.append": small | st.lists(small, max_size=2),
    "ctx.merge": mappings,
    "ctx.first": small,
    "ctx.last": small,
    "ctx.union": small | st.lists(small, max_size=3),
    "step.free": small,
}
patches = st.sampled_from(sorted(WRITTEN)).flatmap(lambda path: st.builds(Patch, st.just(path), WRITTEN[path]))
anything = st.none() | st.booleans() | numbers | st.text("ab", max_size=2) | st.lists(small, max_size=2) | mappings
wild_patches = st.builds(Patch, st.sampled_from([*sorted(WRITTEN), "ctx.plain", "ctx.merge.a"]), anything)
Iterations = list[list[Patch]]


def folded(iterations: Iterations, order: list[int], is_parallel: bool = True) -> dict[str, Fold]:
    """The folds of a loop whose iterations ended in this order."""
    stretches: dict[int, Stretch] = {}
    starts: dict[int, int] = {}
    for index in order:
        insert(
            stretches,
            starts,
            index,
            begin(iterations[index], REDUCERS),
            lambda left, right: joined(left, right, REDUCERS, is_parallel),
        )
    (whole,) = stretches.values()
    return whole.folds


def merged(iterations: Iterations, order: list[int] | None = None, **before: Any) -> dict[str, Any]:
    folds = folded(iterations, order or list(range(len(iterations))))
    scopes = {"ctx": before, "step": before}
    return {patch.path: patch.value for patch in finished(folds, scopes, REDUCERS)}


def outcome(iterations: Iterations, order: list[int]) -> Any:
    """What a loop writes, in its order; or its fault, word for word."""
    try:
        return list(merged(iterations, order).items())
    except MergeFault as fault:
        return fault.path, fault.kind, fault.message


def last_values(iterations: Iterations, path: str) -> list[Any]:
    found = [[patch.value for patch in writes if patch.path == path] for writes in iterations]
    return [values[-1] for values in found if values]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


# The straight reference: all last values of a path, by index, and the value before the loop in front.
STRAIGHT: dict[str, Callable[[list[Any], Any], Any]] = {
    "ctx.sum": lambda found, base: sum([*found, base]) if _is_whole([*found, base]) else math.fsum([*found, base]),
    "ctx.min": lambda found, base: min([base, *found]),
    "ctx.max": lambda found, base: max([base, *found]),
    "ctx.count": lambda found, base: base + len(found),
    "ctx.append": lambda found, base: [*as_list(base), *found],
    "ctx.merge": lambda found, base: {key: value for one in [base, *found] for key, value in one.items()},
    "ctx.first": lambda found, _base: found[0],
    "ctx.last": lambda found, _base: found[-1],
    "ctx.union": lambda found, base: unique([*as_list(base), *(item for one in found for item in as_list(one))]),
    "step.sum": lambda found, _base: sum(found) if _is_whole(found) else math.fsum(found),
    "step.free": lambda found, _base: found[-1],
}
BEFORE: dict[str, Any] = {"sum": 0.5, "min": 3, "max": 3, "count": 7, "append": [0], "merge": {"a": 0}, "union": [0, 1]}


def _is_whole(found: list[Any]) -> bool:
    return all(isinstance(one, int) for one in found)


@st.composite
def loops(draw: st.DrawFn, patch: st.SearchStrategy[Patch] = patches) -> tuple[Iterations, list[int]]:
    iterations = draw(st.lists(st.lists(patch, max_size=4), min_size=1, max_size=8))
    return iterations, draw(st.permutations(range(len(iterations))))


@pytest.mark.spec("SC-12", "SC-13", "LP-03")
@given(loops())
def test_a_loop_writes_what_a_straight_fold_by_index_gives(loop: tuple[Iterations, list[int]]) -> None:
    iterations, order = loop
    folds = folded(iterations, order)

    found = finished(folds, {"ctx": BEFORE, "step": {}}, REDUCERS)

    written = {patch.path for writes in iterations for patch in writes}
    assert {patch.path for patch in found} == written
    for patch in found:
        values, base = last_values(iterations, patch.path), BEFORE.get(patch.path.partition(".")[2])
        assert patch.value == STRAIGHT[patch.path](values, base), patch.path


@pytest.mark.spec("SC-12", "LP-03")
@given(loops(wild_patches))
def test_the_order_of_completion_never_shows_faults_included(loop: tuple[Iterations, list[int]]) -> None:
    iterations, order = loop

    assert outcome(iterations, order) == outcome(iterations, list(range(len(iterations))))


@pytest.mark.spec("SC-12")
@given(st.lists(patches, max_size=3), st.lists(patches, max_size=3), st.lists(patches, max_size=3), st.booleans())
def test_folding_is_associative(first: list[Patch], second: list[Patch], third: list[Patch], is_parallel: bool) -> None:
    one, two, three = (begin(writes, REDUCERS) for writes in (first, second, third))

    def join(left: dict[str, Fold], right: dict[str, Fold]) -> dict[str, Fold]:
        return joined(left, right, REDUCERS, is_parallel)

    left, right = join(join(one, two), three), join(one, join(two, three))
    before: dict[str, dict[str, Any]] = {"ctx": {}, "step": {}}
    assert finished(left, before, REDUCERS) == finished(right, before, REDUCERS)


@pytest.mark.spec("SC-12")
def test_a_sum_of_floats_has_the_same_last_digit_in_any_order() -> None:
    iterations = [[Patch("ctx.sum", value)] for value in (1e16, 1.0, -1e16, 0.1, 0.2, 0.3)]

    sums = {
        merged(iterations, order)["ctx.sum"] for order in ([0, 1, 2, 3, 4, 5], [5, 1, 3, 0, 2, 4], [2, 4, 0, 5, 1, 3])
    }

    assert sums == {math.fsum((1e16, 1.0, -1e16, 0.1, 0.2, 0.3))}


@pytest.mark.spec("SC-12")
def test_whole_numbers_stay_whole_and_a_sum_too_large_is_refused() -> None:
    assert repr(merged([[Patch("ctx.sum", 1)], [Patch("ctx.sum", 2)]])["ctx.sum"]) == "3"
    assert repr(merged([[Patch("ctx.sum", 1)], [Patch("ctx.sum", 2)]], sum=0.0)["ctx.sum"]) == "3.0"

    for value in (2**62, 1e308, 10**400):
        with pytest.raises(MergeFault, match="too large") as caught:
            merged([[Patch("ctx.sum", value)]] * 3)
        assert caught.value.kind == "limit"


@pytest.mark.spec("SC-12")
def test_without_a_reducer_equal_values_are_one_and_different_ones_a_conflict() -> None:
    equal = [[Patch("ctx.x", {"a": 1, "b": 2})], [Patch("ctx.x", {"b": 2, "a": 1})]]

    assert merged(equal) == {"ctx.x": {"a": 1, "b": 2}}
    with pytest.raises(MergeFault, match=r"different values to ctx\.x") as caught:
        merged([[Patch("ctx.x", 1)], [], [Patch("ctx.x", True)]])
    assert caught.value.kind == "ctx_conflict"


@pytest.mark.spec("SC-13")
def test_of_step_values_without_a_reducer_the_highest_index_wins() -> None:
    iterations = [[Patch("step.free", "a")], [Patch("step.free", "b")], []]

    assert merged(iterations, [1, 2, 0]) == {"step.free": "b"}


@pytest.mark.spec("SC-12")
def test_first_and_last_ignore_the_value_before_the_loop() -> None:
    iterations = [[Patch("ctx.first", 1), Patch("ctx.last", 1)], [Patch("ctx.first", 2), Patch("ctx.last", 2)]]

    assert merged(iterations, first=9, last=9) == {"ctx.first": 1, "ctx.last": 2}


@pytest.mark.spec("SC-12")
def test_append_adds_one_element_even_where_that_is_a_list() -> None:
    iterations = [[Patch("ctx.append", [1, 2])], [Patch("ctx.append", 3)]]

    assert merged(iterations) == {"ctx.append": [[1, 2], 3]}
    assert merged(iterations, append=[0]) == {"ctx.append": [0, [1, 2], 3]}


@pytest.mark.spec("SC-12")
def test_union_keeps_each_value_once_and_true_is_not_one() -> None:
    iterations = [[Patch("ctx.union", [1, True, {"a": 1, "b": 2}])], [Patch("ctx.union", {"b": 2, "a": 1})]]

    assert [repr(one) for one in merged(iterations)["ctx.union"]] == ["1", "True", "{'a': 1, 'b': 2}"]


@pytest.mark.spec("SC-12", "TK-19")
@pytest.mark.parametrize(
    ("path", "values", "message"),
    [
        ("ctx.sum", [1, "2"], "the reducer sum of ctx.sum needs numbers, but met text"),
        ("ctx.sum", [True], "needs numbers, but met true or false"),
        ("ctx.merge", [{"a": 1}, [1]], "the reducer merge of ctx.merge needs mappings, but met a list"),
        ("ctx.min", [1, "a"], "numbers only, or texts only"),
        ("ctx.max", [None], "numbers only, or texts only"),
    ],
)
def test_a_reducer_says_what_it_cannot_take(path: str, values: list[Any], message: str) -> None:
    with pytest.raises(MergeFault, match=message) as caught:
        merged([[Patch(path, value)] for value in values])

    assert (caught.value.path, caught.value.kind) == (path, "type")


@pytest.mark.spec("SC-12")
def test_a_value_before_the_loop_that_a_reducer_cannot_take_is_told() -> None:
    with pytest.raises(MergeFault, match="needs numbers, but met text"):
        merged([[Patch("ctx.sum", 1)]], sum="many")


@pytest.mark.spec("SC-12")
def test_the_last_value_of_an_iteration_counts_and_writes_above_a_path_keep_their_order() -> None:
    iterations = [[Patch("ctx.a.b", 1), Patch("ctx.a", {}), Patch("ctx.a.b", 2)]]

    assert list(merged(iterations).items()) == [("ctx.a", {}), ("ctx.a.b", 2)]


@pytest.mark.spec("LP-10")
@given(st.permutations(range(40)))
def test_stretches_are_never_more_than_the_gaps_between_finished_iterations(order: list[int]) -> None:
    stretches: dict[int, Stretch] = {}
    starts: dict[int, int] = {}
    done: set[int] = set()
    for index in order:
        insert(stretches, starts, index, {}, lambda left, right: joined(left, right, {}, True))
        done.add(index)

        assert len(stretches) == sum(1 for one in done if one - 1 not in done)
