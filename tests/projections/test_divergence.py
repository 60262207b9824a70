"""Two executions compared by what happened: the order of branches and the time do not count, everything else does."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.engine.output import Output, failure
from noetl.projections.differences import differences
from noetl.projections.divergence import Divergence, compared, first_among
from noetl.projections.stories import Story
from noetl.testing.engine import Engine
from tests.engine.books import HEAD

FAN = (
    HEAD
    + """
workload: {limit: 5}
workflow:
  - step: start
    tool: [{name: begin, kind: noop}]
    next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: each}]}
  - step: left
    tool:
      - name: fetch
        kind: noop
        spec:
          policy:
            rules:
              - {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3, delay: 1}}
              - {when: "{{ output.data == 9 }}", then: {do: break}}
              - {else: {then: {do: continue}}}
      - {name: keep, kind: noop, input: {x: "{{ _prev }}"}, set: {ctx.kept: "{{ output.data }}"}}
    next:
      spec: {mode: exclusive}
      arcs: [{step: large, when: "{{ output.data.x | default(0) > workload.limit }}"}, {step: small}]
  - step: each
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel}}
    tool: [{name: work, kind: noop, input: {n: "{{ n }}"}}]
    next: {arcs: [{step: end}]}
  - step: large
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - step: small
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - step: end
    tool: {kind: noop}
"""
)


def story(picks: list[int], text: str = FAN, payload: dict[str, Any] | None = None, **answers: Any) -> Story:
    """An execution whose jobs were taken in some order."""
    made = Engine(text, {"fetch": Output(data=1), **answers})
    made.start(payload)
    turn = 0
    while jobs := made.ready():
        made.run_job(*jobs[picks[turn % len(picks)] % len(jobs)])
        turn += 1
    told = Story()
    for seq, event in enumerate(made.log, 1):
        told.apply(seq, event)
    return told


def first(before: Story, after: Story) -> Divergence | None:
    return first_among(compared(before, after))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.lists(st.integers(0, 9), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_the_order_of_what_runs_side_by_side_does_not_count(one: list[int], other: list[int]) -> None:
    assert first(story(one), story(other)) is None


@pytest.mark.parametrize(
    ("answers", "step", "what", "field"),
    [
        ({"fetch": Output(data=2)}, "left", "task", "output"),
        ({"fetch": [failure("server_error", "no"), Output(data=1)]}, "left", "task", "output"),
        ({"work": lambda call: Output(data=call.input["n"] == 2)}, "each", "task", "output"),
    ],
)
def test_the_first_place_in_which_they_part_is_found(answers: dict[str, Any], step: str, what: str, field: str) -> None:
    found = first(story([0]), story([1, 2, 0], **answers))

    assert found is not None
    assert (found.step, found.what, found.field) == (step, what, field)


def test_another_arc_is_told_before_what_it_led_to() -> None:
    before, after = story([0]), story([0], payload={"limit": 0})

    found = first(before, after)
    only = [
        (pair.step, pair.before is None) for pair in compared(before, after) if pair.first and pair.first.what == "run"
    ]

    assert found is not None
    assert (found.step, found.what, found.field) == ("left", "arcs", "fired")
    assert [[one["step"] for one in side] for side in found.values] == [["small"], ["large"]]
    assert only == [("small", False), ("large", True)]


def test_a_text_with_a_step_in_between_is_compared_step_by_step() -> None:
    longer = (
        FAN.replace("arcs: [{step: left}, {step: each}]", "arcs: [{step: before}, {step: each}]")
        + """
  - step: before
    tool: {kind: noop}
    next: {arcs: [{step: left}]}
"""
    )
    pairs = {pair.step: pair.first for pair in compared(story([0]), story([0], longer))}

    assert pairs["left"] is None or pairs["left"].what != "run"
    assert pairs["before"] is not None
    assert (pairs["start"].what, pairs["start"].field) == ("arcs", "fired") if pairs["start"] else False


def test_a_rule_or_an_arc_that_changes_nothing_is_no_difference() -> None:
    edited = FAN.replace("rules:\n", 'rules:\n              - {when: "{{ output.data == 77 }}", then: {do: fail}}\n', 1)
    edited = edited.replace("arcs: [{step: large,", 'arcs: [{step: end, when: "{{ false }}"}, {step: large,')
    before, after = story([0]), story([1], edited)
    after.sha = "another"

    assert edited.count("77") == edited.count("false") == 1
    assert first(before, after) is None


def test_an_iteration_is_named_by_its_index() -> None:
    def bad(call: Any) -> Output:
        return failure("python", "no") if call.input["n"] == 3 else Output(data=call.input["n"])

    found = first(story([0], work=lambda call: Output(data=call.input["n"])), story([2, 1], work=bad))

    assert found is not None
    assert (found.step, found.iteration, found.field) == ("each", (2,), "output")


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, ["a"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a.1"]),
        ({"a": None}, {}, ["a"]),
        ([{"b": 1}], [{"b": 2}], ["0.b"]),
        (1, {"a": 1}, [""]),
    ],
)
def test_differences_are_named_by_their_paths(before: Any, after: Any, paths: list[str]) -> None:
    assert [row["path"] for row in differences(before, after)] == paths
