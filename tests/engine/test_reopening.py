"""A loop that failed goes on in a fork: what is done is kept, and the end is that of a loop that never failed."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.engine import commands as ops
from noetl.engine.apply import apply
from noetl.engine.events import (
    Event,
    LoopIterationDone,
    LoopReopened,
    Patch,
    StepFailed,
    TaskStarted,
)
from noetl.engine.output import Output, failure
from noetl.engine.pipeline import Invocation
from noetl.engine.reopening import reopened
from noetl.references import JSON, Reference
from noetl.testing.engine import Engine
from tests.engine.books import HEAD, engine

LOOPS = {
    "sequential": {"in": [1, 2, 3, 4], "iterator": "n"},
    "parallel": {"in": [1, 2, 3, 4], "iterator": "n", "spec": {"mode": "parallel", "max_in_flight": 2}},
    "local": {"in": [1, 2, 3, 4], "iterator": "n", "spec": {"mode": "parallel", "distribution": "local"}},
    "range": {"in": "{{ range(4) }}", "iterator": "n", "spec": {"mode": "parallel"}},
    "nested": {
        "in": [1, 2, 3],
        "iterator": "m",
        "spec": {"mode": "parallel", "max_in_flight": 2},
        "loop": {"in": [1, 2, 3], "iterator": "n"},
    },
    "parallel inside": {
        "in": [1, 2, 3],
        "iterator": "m",
        "loop": {"in": [1, 2, 3], "iterator": "n", "spec": {"mode": "parallel", "max_in_flight": 2}},
    },
    "thrice": {
        "in": [1, 2],
        "iterator": "k",
        "spec": {"mode": "parallel"},
        "loop": {
            "in": [1, 2],
            "iterator": "m",
            "spec": {"mode": "parallel"},
            "loop": {"in": [1, 2], "iterator": "n"},
        },
    },
}
REDUCERS = {"ctx.all": "append", "ctx.sum": "sum", "ctx.last": "last"}
MODES = ("fail_fast", "best_effort")


def looping(shape: str, mode: str = "fail_fast", *, is_long: bool = False) -> str:
    """A step that loops over a task, then one that reads what came of it."""
    loop: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(LOOPS[shape]))
    is_held = "parallel" in str(loop)
    place: dict[str, Any] | None = loop
    while place and is_held:
        place.setdefault("spec", {}).setdefault("policy", {})["reducers"] = REDUCERS
        place = place.get("loop")
    names = [name for name in ("k", "m", "n") if f"'iterator': '{name}'" in str(loop)]
    writes = {"ctx.all": "{{ output.data }}", "ctx.sum": "{{ iter.n }}", "ctx.last": "{{ output.data }}"}
    step = {
        "step": "each",
        "loop": loop,
        "spec": {"policy": {"failure": {"mode": mode}}},
        "tool": [
            {"name": "first", "kind": "noop", "input": {name: f"{{{{ {name} }}}}" for name in names}},
            {
                "name": "work",
                "kind": "noop",
                "input": {name: f"{{{{ {name} }}}}" for name in names},
                **({"set": writes} if is_held else {}),
            },
        ],
        "set": {"ctx.counts": "{{ output.loop }}"},
        "next": {"arcs": [{"step": "then"}]},
    }
    then = {"step": "then", "tool": {"kind": "noop"}, "set": {"ctx.data": "{{ each.data }}"}}
    limits = "executor: {spec: {limits: {max_payload_bytes: 300}}}\n" if is_long else ""
    return f"{HEAD}{limits}workflow: {msgspec.json.encode([step, then]).decode()}\n"


def place_of(invocation: Invocation) -> tuple[int, ...]:
    return tuple(invocation.input.values())


def answering(bad: set[tuple[int, ...]]) -> dict[str, Any]:
    """A task that fails in these places."""

    def work(invocation: Invocation) -> Output:
        place = place_of(invocation)
        return failure("server_error", "no") if place in bad else Output(data=list(place))

    return {"work": work, "first": Output(data=1)}


def fork(source: Engine, text: str, step: str = "each", **fields: Any) -> Engine:
    """A fork of what `source` has done, from a step."""
    found = reopened(source.log, step)
    assert found is not None
    made = Engine(text, answering(set()))
    for event in found.prefix:
        apply(made.state, event)
    made.log.extend(found.prefix)
    made.now = source.now + 1000
    made.do(
        ops.Fork(
            execution_id=1,
            path="t",
            version=1,
            sha="sha",
            source_execution_id=7,
            prefix=found.prefix,
            reopened=found.run,
            **fields,
        )
    )
    return made


def done_in(events: list[Event]) -> set[tuple[int, int]]:
    return {(event.run, event.iter) for event in events if isinstance(event, LoopIterationDone)}


def begun_in(events: list[Event]) -> set[tuple[int, int]]:
    return {(event.run, event.iter) for event in events if isinstance(event, TaskStarted)}


def whole(text: str) -> Engine:
    made = Engine(text, answering(set()))
    made.start()
    made.run()
    return made


def without_order(ctx: dict[str, Any]) -> dict[str, Any]:
    return {**ctx, "all": sorted(ctx.get("all", []))}


@pytest.mark.parametrize("shape", LOOPS)
@pytest.mark.parametrize("mode", MODES)
@given(
    bad=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6),
    picks=st.lists(st.integers(0, 50), min_size=1, max_size=30),
    crash_after=st.integers(0, 8),
)
@settings(max_examples=25, deadline=None)
def test_a_reopened_loop_ends_as_one_that_never_failed(
    shape: str, mode: str, bad: set[tuple[int, ...]], picks: list[int], crash_after: int
) -> None:
    text = looping(shape, mode)
    depth = str(LOOPS[shape]).count("iterator")
    source = Engine(text, answering({place[-depth:] for place in bad}))
    source.start()
    for pick in picks * 20:  # in any order, and perhaps not to the end
        if jobs := source.ready():
            source.run_job(*jobs[pick % len(jobs)])
    found = reopened(source.log, "each")
    if found is None:
        assert not done_in(source.log) or source.state.status == "success"
        return
    assert len(found.prefix) <= len(source.log)
    kept = done_in(found.prefix)

    made = fork(source, text)
    made.run(crash_after)
    if made.state.status == "running":
        made.crash()
        made.run()

    own = made.log[len(found.prefix) :]
    assert not begun_in(own) & kept
    assert not done_in(own) & kept
    assert without_order(made.state.ctx) == without_order(whole(text).state.ctx)
    assert made.state.status == "success"
    assert "all" not in made.state.ctx or made.state.ctx["all"] == whole(text).state.ctx["all"]


@pytest.mark.parametrize("shape", ["parallel", "nested", "sequential"])
def test_data_that_outgrew_the_log_is_collected_from_both_halves(shape: str) -> None:
    text = looping(shape, is_long=True)
    source = Engine(text, answering({(3,), (2, 3)}))
    source.start()
    source.run()

    made = fork(source, text)
    made.run()

    runs = {run.id for run in made.state.runs.values()}
    wanted = [change for change in made.changes if isinstance(change, ops.ListWanted) and change.run in runs]
    assert made.state.status == "success" or wanted


def test_a_loop_over_a_stored_list_asks_for_the_elements_that_are_done_again() -> None:
    text = f"""{HEAD}
workflow:
  - step: each
    loop: {{in: "{{{{ workload.list }}}}", iterator: m, loop: {{in: [1, 2], iterator: n}}}}
    tool: [{{name: work, kind: noop, input: {{m: "{{{{ m }}}}", n: "{{{{ n }}}}"}}}}]
"""
    reference = Reference(type="blob", locator="sha256:00", content_type=JSON, bytes=9, sha256="00").as_data()
    source = Engine(text, answering({(20, 2)}))
    source.start({"list": reference})
    source.do(ops.Counted(execution_id=1, run=1, ref=reference, count=2))
    for index in range(2):
        source.do(ops.ElementRead(execution_id=1, run=1, iter=index, element=10 * (index + 1)))
        source.run()
    assert source.state.status == "failed"

    made = fork(source, text)
    made.run()

    assert made.state.status == "success"
    assert not [change for change in made.changes if isinstance(change, ops.ElementWanted)]
    assert [place_of(one) for one in made.invocations] == [(20, 2)]


PAIR = """
workflow:
  - step: start
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: each}, {step: other}]}
  - step: each
    loop: {in: [1, 2, 3, 4], iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: work, kind: noop, input: {n: "{{ iter.n }}"}}]
  - step: other
    tool: [{name: breaks, kind: noop}]
"""


def test_a_cancelled_loop_goes_on_with_what_it_has_done() -> None:
    source = engine(PAIR, answering(set()))
    source.start()
    source.run_job(1, -1)
    source.run_job(2, 0)
    source.cancel()

    made = fork(source, HEAD + PAIR)
    made.run()

    assert (made.state.status, made.state.is_cancelled) == ("success", False)
    assert begun_in(made.log[len(reopened(source.log, "each").prefix) :]) >= {(2, 1), (2, 2), (2, 3)}
    assert (2, 0) not in begun_in(made.log[len(reopened(source.log, "each").prefix) :])


def test_where_another_step_cancelled_it_that_step_runs_again_too() -> None:
    text = (
        PAIR.replace("arcs: [{step: each}, {step: other}]", "arcs: [{step: each}, {step: slow}]")
        + """
  - step: slow
    tool: {kind: noop}
    next: {arcs: [{step: other}]}
"""
    )
    source = engine(text, {**answering(set()), "breaks": failure("server_error", "no")})
    source.start()
    source.run_job(1, -1)
    source.run_job(2, 0)
    source.run_job(3, -1)
    source.run_job(4, -1)
    assert source.state.status == "failed"

    made = fork(source, HEAD + text)
    made.answers["breaks"] = Output(data=1)
    made.run()

    assert made.state.status == "success"
    assert made.names("loop.iteration.done").count("loop.iteration.done") == 4


def test_nothing_is_reopened_where_nothing_was_done_or_all_of_it() -> None:
    ended = engine(PAIR, answering(set()))
    ended.start()
    ended.run()
    first_failed = engine(PAIR, answering({(1,), (2,)}))
    first_failed.start()
    first_failed.run()

    assert reopened(ended.log, "each") is None
    assert reopened(ended.log, "start") is None
    assert reopened(first_failed.log, "each") is None


def test_time_is_counted_anew_and_values_that_were_set_are_seen() -> None:
    text = """
    workflow:
      - step: each
        spec: {policy: {lifecycle: {timeout_s: 10, deadline_s: 20}}}
        loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, max_in_flight: 1}}
        tool: [{name: work, kind: noop, input: {n: "{{ iter.n }}", seen: "{{ ctx.seen | default(0) }}"}}]
    """
    source = engine(text, {"work": [Output(data=1), failure("server_error", "no")]})
    source.start()
    source.run()
    wider = text.replace("max_in_flight: 1", "max_in_flight: 2")

    made = fork(
        source, engine(wider).playbook and HEAD + __import__("textwrap").dedent(wider), patches=[Patch("ctx.seen", 7)]
    )

    run = made.state.runs[1]
    assert (run.timeout_at, run.deadline_at) == (made.now + 10, made.now + 20)
    assert run.loop is not None
    assert run.loop.max_in_flight == 2
    assert {change.at for change in made.changes if isinstance(change, ops.TimerSet)} == {made.now + 10, made.now + 20}
    made.run()
    assert [one.input["seen"] for one in made.invocations] == [7, 7]


def test_whatever_was_under_way_has_its_time_from_the_fork_on() -> None:
    text = """
    workflow:
      - step: slow
        spec: {policy: {lifecycle: {timeout_s: 10, deadline_s: 20}}}
        tool: [{name: work, kind: noop}]
    """
    source = engine(text, {"work": Output(data=1)})
    source.start()
    source.run()
    begun = next(place for place, event in enumerate(source.log, 1) if isinstance(event, TaskStarted))
    made = engine(text, {"work": Output(data=1)})
    for event in source.log[:begun]:
        apply(made.state, event)
    made.log.extend(source.log[:begun])
    made.now = source.now + 1000

    made.do(ops.Fork(execution_id=1, path="t", version=1, sha="sha", source_execution_id=7, prefix=source.log[:begun]))

    run = made.state.runs[1]
    assert (run.timeout_at, run.deadline_at) == (made.now + 10, made.now + 20)
    assert {change.at for change in made.changes if isinstance(change, ops.TimerSet)} == {made.now + 10, made.now + 20}


def test_an_iteration_that_fails_again_ends_the_fork_and_can_be_reopened_once_more() -> None:
    text = looping("nested")
    source = Engine(text, answering({(2, 2)}))
    source.start()
    source.run()

    again = fork(source, text)
    again.answers = answering({(2, 2)})
    again.run()
    assert again.state.status == "failed"
    assert len([event for event in again.log if isinstance(event, StepFailed)]) == 1
    made = fork(again, text)
    made.run()

    assert made.state.ctx == whole(text).state.ctx
    assert len([event for event in made.log if isinstance(event, LoopReopened)]) > 4
