"""A worker or the whole process dies after any event: what was recorded is not done again, and the end is the same.

Pipelines are generated: retries, jumps, skips, writes to every scope, with and without loops. A tool's answer depends
on what it is given, so a wrong `_prev`, scope, visit or attempt after a restart shows in ctx or in an output.
"""

from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noetl import ids
from noetl.engine.commands import Report
from noetl.engine.decide import RECOVERIES_MAX
from noetl.engine.events import TaskDone
from noetl.engine.output import Output, failure
from noetl.engine.pipeline import Invocation, Pipeline
from noetl.testing.engine import Engine
from tests.engine.books import HEAD, engine, ran

LOOPS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "sequential": {"in": [1, 2], "iterator": "n"},
    "parallel": {"in": [1, 2, 3], "iterator": "n", "spec": {"mode": "parallel"}},
    "nested": {
        "in": [1, 2],
        "iterator": "n",
        "spec": {"mode": "parallel"},
        "loop": {"in": [1, 2], "iterator": "m"},
    },
}
kinds = st.lists(st.sampled_from(["write", "retry", "jump", "skip", "fail"]), min_size=1, max_size=4)


def playbook(tasks: list[str], loop: str) -> str:
    """Two steps of these tasks; only the first has the loop."""
    reducers = {f"ctx.t{place}": "append" for place, kind in enumerate(tasks) if kind == "write"}
    made = [task(place, kind, "step" if loop == "none" else "iter") for place, kind in enumerate(tasks)]
    first: dict[str, Any] = {"step": "start", "tool": made, "next": {"arcs": [{"step": "then"}]}}
    looped = msgspec.json.decode(msgspec.json.encode(LOOPS[loop]))
    if looped and "spec" in looped and reducers:
        looped["spec"]["policy"] = {"reducers": reducers}
    then = {"step": "then", "tool": {"name": "last", "kind": "noop", "input": {"prev": "{{ _prev }}"}}}
    steps = [{**first, "loop": looped} if looped else first, then]
    return f"{HEAD}workflow: {msgspec.json.encode(steps).decode()}\n"


def task(place: int, kind: str, scope: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": f"t{place}", "kind": "noop", "input": {"prev": "{{ _prev }}"}}
    count = f"{scope}.n{place}"
    rules: dict[str, Any] = {
        "retry": [rule("output.status == 'error'", do="retry", attempts=3, delay=90)],
        "fail": [rule("output.status == 'error'", do="retry", attempts=2, delay=0)],
        "jump": [
            rule(
                f"({count} | default(0)) < 2", do="jump", to="t0", set={count: f"{{{{ ({count} | default(0)) + 1 }}}}"}
            )
        ],
        "skip": [rule("_task == 'never' or _attempt == 1", do="skip")],
    }.get(kind)
    if kind == "write":
        found["set"] = {f"ctx.t{place}": "{{ output.data }}", f"step.t{place}": "{{ output.data }}"}
    if rules:
        found["spec"] = {"policy": {"rules": [*rules, {"else": {"then": {"do": "continue"}}}]}}
    return found


def rule(when: str, **then: Any) -> dict[str, Any]:
    return {"when": f"{{{{ {when} }}}}", "then": then}


def answers(tasks: list[str]) -> dict[str, Any]:
    return {f"t{place}": answer_of(kind) for place, kind in enumerate(tasks)}


def answer_of(kind: str) -> Any:
    """A retry gets its answer at the third attempt, the first time without anybody knowing whether it happened."""

    def answer(invocation: Invocation) -> Output:
        seen = str(invocation.input.get("prev"))[-12:]
        if (kind == "retry" and invocation.attempt < 3) or kind == "fail":
            return failure("server_error", "no", is_definite=invocation.attempt != 1)
        return Output(data=f"{invocation.task.label}.{invocation.visit}.{invocation.attempt}<{seen}")

    return answer


def die(made: Engine, run: int, index: int, cut: int) -> None:
    """Run a job; only its first `cut` events are recorded, and then the process dies."""
    work = made.work(run, index)
    pipeline = Pipeline(made.playbook, work)
    events = list(pipeline.begin(made.now))
    while pipeline.current() is not None and len(events) < cut:
        made.now = max(made.now, pipeline.progress.ready_at)
        made._run_task(pipeline, events)
    if pipeline.current() is None:
        events.append(pipeline.finish(made.now))
    report = Report(execution_id=1, run=run, iter=index, lease=work.lease, n=1, events=events[:cut])
    made.do(report)
    if not made.state.is_ended:
        made.crash()


def recorded(made: Engine) -> set[tuple[int, int, str, int, int]]:
    done = [event for event in made.log if isinstance(event, TaskDone)]
    return {(one.run, one.iter, one.task, one.visit, one.attempt) for one in done}


def invoked(one: Invocation) -> tuple[int, int, str, int, int]:
    """The task run and attempt of an invocation, by its key."""
    _, run, index, label, rest = one.key.split(":")
    return int(run), int(index), label, int(rest.partition(".")[0]), one.attempt


def ended(made: Engine) -> dict[str, Any]:
    state = made.state
    return {"status": state.status, "ctx": state.ctx, "outputs": state.outputs, "error": state.error}


def gets_somewhere(cuts: list[int]) -> bool:
    """Not dead as often in a row, with nothing recorded between, as makes an incident; a death that records counts."""
    return "0" * (RECOVERIES_MAX - 1) not in "".join(map(str, cuts))


@pytest.mark.spec("TK-15", "SC-02", "LP-03", "EV-05")
@pytest.mark.slow
@settings(max_examples=150)
@given(kinds, st.sampled_from(sorted(LOOPS)), st.lists(st.integers(0, 9), max_size=12).filter(gets_somewhere))
@example(["write"], "nested", [0, 0, 0, 1, 0, 0, 0])
def test_a_run_that_dies_anywhere_ends_like_one_that_does_not(tasks: list[str], loop: str, cuts: list[int]) -> None:
    text = playbook(tasks, loop)
    undisturbed = Engine(text, answers(tasks))
    undisturbed.start()
    undisturbed.run()

    made = Engine(text, answers(tasks))
    made.start()
    for cut in cuts:
        jobs = made.ready()
        if not jobs:
            break
        before, first = recorded(made), len(made.invocations)
        which = 0 if "fail" in tasks else cut % len(jobs)  # of several failures the first one is told
        die(made, *jobs[which], cut)
        assert not before & {invoked(one) for one in made.invocations[first:]}
    made.run()

    assert ended(made) == ended(undisturbed)
    assert recorded(made) == recorded(undisturbed)
    assert {one.key for one in made.invocations} == {one.key for one in undisturbed.invocations}
    dones = [event for event in made.log if isinstance(event, TaskDone)]
    assert len(dones) == len(recorded(made))


PIPELINE = """
    workflow:
      - step: start
        tool:
          - {name: a, kind: noop, set: {step.a: "{{ output.data }}", ctx.a: "{{ output.data }}"}}
          - {name: b, kind: noop, input: {prev: "{{ _prev }}", step: "{{ step.a }}", label: "{{ a.data }}"}}
          - {name: c, kind: noop, input: {prev: "{{ _prev }}", out: "{{ output.data }}"}}
"""


@pytest.mark.spec("TK-15")
@pytest.mark.parametrize("tasks", [0, 1, 2])
def test_after_a_death_the_pipeline_goes_on_at_the_first_task_that_is_not_recorded(tasks: int) -> None:
    made = engine(PIPELINE, {"a": 1, "b": 2, "c": 3})
    made.start()

    made.run_job(1, -1, tasks=tasks)
    made.crash()
    made.run()

    assert [one.task.label for one in made.invocations] == ["a", "b", "c"]
    assert [one.input for one in made.invocations[1:]] == [{"prev": 1, "step": 1, "label": 1}, {"prev": 2, "out": 2}]
    assert made.state.ctx == {"a": 1}


@pytest.mark.spec("TK-15", "SC-03")
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_iter_and_held_writes_are_rebuilt_from_events(mode: str) -> None:
    made = engine(
        """
        workflow:
          - step: start
            loop: {in: [5], iterator: n, spec: {mode: %s}}
            tool:
              - {name: a, kind: noop, set: {iter.x: "{{ iter.n }}", ctx.y: "{{ iter.n }}", step.z: "{{ iter.n }}"}}
              - {name: b, kind: noop, input: {x: "{{ iter.x }}", y: "{{ ctx.y }}", z: "{{ step.z }}"}}
        """.replace("%s", mode)
    )
    made.start()

    made.run_job(1, 0, tasks=1)
    made.crash()
    made.run()

    assert made.state.output["data"] == [{"x": 5, "y": 5, "z": 5}]
    assert made.state.ctx == {"y": 5}


@pytest.mark.spec("TK-15", "TK-08")
def test_a_retry_that_was_recorded_keeps_its_count_and_its_waiting_time() -> None:
    made = engine(
        """
        workflow:
          - step: start
            tool:
              - {name: a, kind: noop, spec: {policy: {rules: [
                  {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3, delay: 500}},
                  {else: {then: {do: continue}}}]}}}
        """,
        {"a": failure("server_error", "no")},
    )
    made.start()

    made.run_job(1, -1, tasks=1)
    asked_at = made.now
    made.crash()
    made.run()

    assert [one.attempt for one in made.invocations] == [1, 2, 3]
    assert made.events("task.done")[1].ts - asked_at >= 499
    assert made.status == "failed"


@pytest.mark.spec("TK-15", "TK-08")
def test_a_retry_that_has_begun_waits_no_more_whatever_clock_looks_at_it() -> None:
    made = engine(
        """
        workflow:
          - step: start
            tool:
              - {name: a, kind: noop, spec: {policy: {rules: [
                  {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3, delay: 500}},
                  {else: {then: {do: continue}}}]}}}
        """,
        {"a": failure("server_error", "no")},
    )
    made.start()

    die(made, 1, -1, cut=4)  # step.started, task.started, task.done that asks for a retry, task.started

    job = made.state.runs[1].jobs[-1]
    assert (job.progress.attempt, job.progress.is_open, job.progress.ready_at) == (2, True, 0.0)


@pytest.mark.spec("TK-15")
def test_the_key_of_an_attempt_changes_only_after_a_definite_answer() -> None:
    unsure = failure("timeout", "late", is_definite=False)
    sure = failure("server_error", "no")
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - name: a
                kind: noop
                input: {key: "{{ _key }}"}
                spec: {policy: {rules: [
                  {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 5, delay: 0}},
                  {else: {then: {do: continue}}}]}}
              - name: again
                kind: noop
                set: {step.seen: true}
                spec: {policy: {rules: [
                  {when: "{{ not (step.seen | default(false)) }}", then: {do: jump, to: a}},
                  {else: {then: {do: continue}}}]}}
        """,
        {"a": [unsure, sure, unsure, 1, 2]},
    )

    first, second = ids.task_run_id(1, 1, -1, "a", 1), ids.task_run_id(1, 1, -1, "a", 2)
    found = [one for one in made.invocations if one.task.label == "a"]
    assert [one.key for one in found] == [f"{first}.0", f"{first}.0", f"{first}.1", f"{first}.1", f"{second}.0"]
    assert [one.input["key"] for one in found] == [one.key for one in found]


@pytest.mark.spec("TK-15")
def test_a_task_that_was_running_when_its_worker_died_is_done_again_under_the_same_key() -> None:
    made = engine(PIPELINE, {"a": 1, "b": 2, "c": 3})
    made.start()

    die(made, 1, -1, cut=4)  # step.started, task.started a, task.done a, task.started b
    made.run()

    assert [one.task.label for one in made.invocations] == ["a", "b", "b", "c"]
    assert made.invocations[1].key == made.invocations[2].key
    assert [event.task for event in made.events("task.started")] == ["a", "b", "c"]
