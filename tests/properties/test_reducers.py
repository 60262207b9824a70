"""Reducers of a loop: which of them do not care about order or repetition, and that a sum is exact (SC-12, SC-13)."""

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from noetl.engine.events import Patch
from noetl.engine.merging import Fold, MergeFault, begin, finished, joined
from tests.properties.laws import law, one_of_each

PATH = "ctx.x"
ANY_ORDER = ("sum", "min", "max", "count")  # the same result whatever the order of the indexes
ANY_NUMBER = ("min", "max", "merge", "union", "first", "last")  # the same result if an iteration writes its value again
NUMBERS = (0, 1, -1, 7, 2**53, 2**62, -(2**62), 0.1, -0.1, 1e16, 1e-16, 5e-324, 1e308, -1e308, -1.5e308)
TEXTS = ("", "a", "b", "ab")
MAPPINGS = ({}, {"a": 1}, {"a": 2, "b": [1]}, {"b": None})
OTHERS = (None, True, [], [1, 1], [True, 1, {"a": 1}])
VALUES = {
    "sum": NUMBERS,
    "min": NUMBERS,
    "max": (*NUMBERS, *NUMBERS),
    "count": (*NUMBERS, *OTHERS),
    "merge": MAPPINGS,
    "union": (*NUMBERS[:3], *OTHERS),
    "append": (*NUMBERS[:3], *OTHERS),
    "first": (*TEXTS, *OTHERS),
    "last": (*TEXTS, *OTHERS),
}
Loop = tuple[str, list[Any]]  # a reducer, and what each iteration writes


def written(reducer: str, values: list[Any], base: Any = None) -> Any:
    """What a loop makes of these values, or the kind of its fault."""
    reducers = {PATH: reducer}
    folds: dict[str, Fold] = {}
    for value in values:
        folds = joined(folds, begin([Patch(PATH, value)], reducers), reducers, True)
    try:
        (patch,) = finished(folds, {"ctx": {} if base is None else {"x": base}}, reducers)
    except MergeFault as fault:
        return fault.kind
    return patch.value


def same(left: Any, right: Any) -> bool:
    return msgspec.json.encode(left, order="sorted") == msgspec.json.encode(right, order="sorted")


def loops(*reducers: str) -> st.SearchStrategy[Loop]:
    return st.sampled_from(reducers).flatmap(
        lambda reducer: st.tuples(
            st.just(reducer),
            st.lists(st.sampled_from(VALUES[reducer]), min_size=1, max_size=6),
        )
    )


@pytest.mark.spec("SC-12", "SC-13")
@law(1500, loop=loops(*ANY_ORDER), chance=st.randoms(use_true_random=False))
def test_sum_min_max_and_count_do_not_depend_on_the_order_of_iterations(loop: Loop, chance: Any) -> None:
    reducer, values = loop
    shuffled = list(values)
    chance.shuffle(shuffled)

    assert same(written(reducer, values), written(reducer, shuffled))


@pytest.mark.spec("SC-13")
@law(800, loop=loops(*ANY_NUMBER))
def test_a_value_that_the_last_iteration_writes_again_changes_nothing_where_nothing_is_counted(loop: Loop) -> None:
    reducer, values = loop

    assert same(written(reducer, values), written(reducer, [*values, values[-1]]))


@pytest.mark.spec("SC-13")
@law(800, loop=loops("first", "last"))
def test_first_and_last_are_each_other_backwards(loop: Loop) -> None:
    _, values = loop

    assert same(written("first", values), written("last", values[::-1]))


@pytest.mark.spec("SC-13")
@law(1200, loop=loops("append", "union", "merge", "count"), place=st.integers(0, 6))
def test_a_loop_in_two_parts_one_after_the_other_writes_what_the_whole_writes(loop: Loop, place: int) -> None:
    """What the first part wrote is the value before the second one; count, append, union and merge go on from it."""
    reducer, values = loop
    if not 0 < place < len(values):
        place = 1
        values = [*values, values[0]]

    first = written(reducer, values[:place])

    assert same(written(reducer, values[place:], first), written(reducer, values))


@pytest.mark.spec("SC-13")
@law(1500, drawn=one_of_each(*[(..., *NUMBERS)] * 6), base=st.sampled_from((None, 0, 0.5, 10)))
def test_a_sum_is_rounded_once(drawn: tuple[Any, ...], base: Any) -> None:
    values = [value for value in drawn if value is not ...] or [0]

    found = written("sum", values, base)

    assert same(found, exactly([*values, *([] if base is None else [base])]))


def exactly(values: list[Any]) -> Any:
    exact = sum((Fraction(value) for value in values), Fraction())
    if all(isinstance(value, int) for value in values):
        return int(exact) if abs(exact) < 2**63 else "limit"
    try:
        return float(exact)
    except OverflowError:
        return "limit"


@pytest.mark.spec("SC-13")
@law(
    1500,
    loop=st.tuples(
        st.sampled_from(sorted(VALUES)),
        st.lists(st.sampled_from((*NUMBERS, *TEXTS, *MAPPINGS, *OTHERS)), min_size=1, max_size=4),
    ),
)
def test_whatever_is_written_the_result_is_data_or_a_fault_with_a_kind(loop: Loop) -> None:
    reducer, values = loop

    found = written(reducer, values)

    msgspec.json.encode(found)
    has_texts = {isinstance(value, str) for value in values} == {True, False}
    if reducer in ("min", "max") and has_texts:
        assert found == "type"
