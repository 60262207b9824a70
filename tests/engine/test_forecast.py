"""Forecasts: no run tries more often or takes longer than the forecast of its playbook; what is unknown is said."""

import heapq
import random
import textwrap
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from noetl.dsl.model import Task
from noetl.engine.commands import Report, Work
from noetl.engine.events import Event, TaskDone, TaskStarted
from noetl.engine.forecast.bounds import Bound, capped, largest, times, together, unknown
from noetl.engine.forecast.known import known_of
from noetl.engine.forecast.steps import Forecast, as_row, forecast
from noetl.engine.output import Output, failure
from noetl.engine.pipeline import Pipeline
from noetl.testing.engine import Engine, answered, playbook_of
from tests.engine.books import HEAD

SLACK = 1e-6  # of adding up floating-point numbers in another order
DECISION_SECONDS = 0.001  # the clock of noetl.testing.engine moves so much with each decision: NoETL's own time
FAILED = failure("server_error", "no", retryable=True)


def foreseen(
    text: str,
    payload: dict[str, Any] | None = None,
    unsure: tuple[str, ...] = (),
    child: Callable[[Task], Bound] = lambda _task: unknown("a child"),
) -> Forecast:
    playbook = playbook_of(text)
    return forecast(playbook, known_of(playbook, payload or {}, frozenset(unsure)), child)


def row(body: str, payload: dict[str, Any] | None = None, **others: Any) -> Any:
    return as_row(foreseen(HEAD + textwrap.dedent(body), payload, **others))


def steps(found: Any) -> dict[str, Any]:
    return {one["step"]: one for one in found["steps"]}


# --- a run with a free worker for every job --------------------------------------------------------------------------


class Busy:
    """Drives the engine as workers without number would: whatever is ready begins at once, in virtual time."""

    def __init__(self, text: str, answer: Callable[[Task], tuple[Output, float]], chance: Callable[[], float]) -> None:
        self.engine = Engine(text)
        self.answer = answer
        self.chance = chance
        self.decisions = 0
        self.taken: set[tuple[int, int]] = set()
        self.ends: list[tuple[float, int, Work, list[Event]]] = []
        self.order = count()

    def run(self, payload: dict[str, Any]) -> None:
        self.engine.start(payload)
        self.began_at = self.engine.now
        self.take()
        while self.ends:
            at, _, work, events = heapq.heappop(self.ends)
            run = self.engine.state.runs.get(work.run)
            if run is None or work.iter not in run.jobs:  # somebody else's failure has ended it
                continue
            self.engine.now = max(self.engine.now, at)
            self.decisions += 1
            report = Report(execution_id=1, run=work.run, iter=work.iter, lease=work.lease, n=1, events=events)
            self.engine.do(report)
            self.taken.discard((work.run, work.iter))
            self.take()

    def take(self) -> None:
        for run, index in self.engine.ready():
            if (run, index) not in self.taken:
                self.taken.add((run, index))
                work = self.engine.work(run, index)
                end, events = self.job(work)
                heapq.heappush(self.ends, (end, next(self.order), work, events))

    def job(self, work: Work) -> tuple[float, list[Event]]:
        pipeline, now = Pipeline(self.engine.playbook, work), self.engine.now
        events = list(pipeline.begin(now))
        while pipeline.current() is not None:
            now = max(now, pipeline.progress.ready_at)
            opened, invocation = pipeline.enter(now)
            events += opened
            if invocation is not None:
                output, seconds = self.answer(invocation.task)
                now += seconds
                made = answered(output, invocation.attempt)
                events.append(pipeline.close(invocation, made, now, self.chance()))
        return now, [*events, pipeline.finish(now)]

    @property
    def attempts(self) -> int:
        return sum(isinstance(event, TaskStarted) for event in self.engine.log)

    @property
    def wait_seconds(self) -> float:
        return sum(event.delay_seconds for event in self.engine.log if isinstance(event, TaskDone))

    @property
    def seconds(self) -> float:
        """From the start to the end, without what the decisions took."""
        return self.engine.now - self.began_at - DECISION_SECONDS * (self.decisions + 1)


@st.composite
def rules(draw: st.DrawFn) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 2))):
        then = {
            "do": "retry",
            "attempts": draw(st.integers(1, 5)),
            "backoff": draw(st.sampled_from(["none", "linear", "exponential"])),
            "delay": draw(st.one_of(st.integers(0, 20), st.just("{{ workload.n * _attempt }}"))),
            "jitter": draw(st.sampled_from([0, 0.25, 1])),
        }
        if draw(st.booleans()):
            then["max_delay"] = draw(st.integers(0, 30))
        whens = ["{{ output.status == 'error' }}", "{{ output.data == 1 }}", "{{ workload.n > 2 }}", "{{ true }}"]
        found.append({"when": draw(st.sampled_from(whens)), "then": then})
    end = draw(st.sampled_from(["fail", "continue", "break", "skip"]))
    return [*found, {"else": {"then": {"do": end}}}]


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """Steps without cycles: loops, fans, joins, guards, policies."""
    names = [f"s{number}" for number in range(draw(st.integers(1, 5)))]
    made = []
    for number, name in enumerate(names):
        tasks = [
            {
                "name": f"t{index}",
                "kind": "python",
                "code": "return 1",
                "spec": {"timeout": draw(st.integers(0, 20)) + 1, "policy": {"rules": draw(rules())}},
            }
            for index in range(draw(st.integers(1, 3)))
        ]
        step: dict[str, Any] = {"step": name, "tool": tasks, "desc": name}
        spec: dict[str, Any] = {}
        if draw(st.booleans()):
            mode = {"mode": draw(st.sampled_from(["sequential", "parallel"])), "max_in_flight": draw(st.integers(1, 4))}
            if mode["mode"] == "sequential":
                del mode["max_in_flight"]
            step["loop"] = {"in": "{{ range(workload.n) }}", "iterator": "x", "spec": mode}
            if draw(st.booleans()):
                step["loop"]["loop"] = {"in": "{{ range(x) }}", "iterator": "y", "spec": mode}
        if number and draw(st.booleans()):
            spec["policy"] = {"admit": {"join": "all"}}
        later = names[number + 1 :]
        if later:
            whens = [None, "{{ event.name == 'step.failed' }}", "{{ workload.n > 1 }}", "{{ output.status == 'ok' }}"]
            arcs = [
                {"step": draw(st.sampled_from(later)), "when": draw(st.sampled_from(whens))}
                for _ in range(draw(st.integers(1, 3)))
            ]
            mode = draw(st.sampled_from(["exclusive", "inclusive"]))
            kept = [{key: value for key, value in arc.items() if value is not None} for arc in arcs]
            step["next"] = {"spec": {"mode": mode}, "arcs": kept}
        if spec:
            step["spec"] = spec
        made.append(step)
    body = {"apiVersion": "noetl.io/v2", "kind": "Playbook", "metadata": {"name": "t"}, "workload": {"n": 1}}
    return msgspec.json.encode({**body, "workflow": made}).decode()


def is_sound(text: str) -> bool:
    try:
        playbook_of(text)
    except AssertionError:  # the checker finds a fault: an arc that never fires, a join that waits for ever
        return False
    return True


@pytest.mark.spec("TK-08", "LP-03", "RT-02")
@settings(max_examples=60, deadline=None)
@given(playbooks(), st.integers(0, 4), st.integers(0, 2**32), st.sampled_from([0.0, 0.5, 1.0]))
def test_no_run_exceeds_its_forecast(text: str, n: int, seed: int, badness: float) -> None:
    assume(is_sound(text))
    chance = random.Random(seed)
    found = foreseen(text, {"n": n})

    def answer(task: Task) -> tuple[Output, float]:
        total = task.timeout.total or 0.0
        if chance.random() < badness:
            return FAILED, total
        return Output(data=chance.choice([0, 1])), total * chance.random()

    busy = Busy(text, answer, lambda: 1.0 if badness == 1.0 else chance.random())
    busy.run({"n": n})

    assert found.attempts.most is not None
    assert busy.attempts <= found.attempts.most
    assert found.seconds.most is not None
    assert busy.seconds <= found.seconds.most + SLACK


@pytest.mark.spec("TK-08")
@settings(max_examples=80, deadline=None)
@given(rules(), st.integers(0, 4))
def test_a_task_that_always_fails_and_waits_the_longest_comes_to_its_forecast(given_rules: Any, n: int) -> None:
    policy = {"rules": [one for one in given_rules if one.get("when", "") != "{{ output.data == 1 }}"]}
    task = {"name": "t", "kind": "python", "code": "return 1", "spec": {"timeout": 7, "policy": policy}}
    body = {"apiVersion": "noetl.io/v2", "kind": "Playbook", "metadata": {"name": "t"}, "workload": {"n": n}}
    text = msgspec.json.encode({**body, "workflow": [{"step": "a", "tool": [task]}]}).decode()
    busy = Busy(text, lambda task: (FAILED, 7.0), lambda: 1.0)

    found = as_row(foreseen(text, {"n": n}))
    busy.run({"n": n})

    retries = [rule["then"] for rule in policy["rules"] if "then" in rule]
    matching = [
        one for one, rule in zip(retries, policy["rules"], strict=False) if n > 2 or "workload.n" not in rule["when"]
    ]
    seen: Any = steps(found)["a"]["tasks"][0]
    assert busy.attempts <= seen["attempts_max"]
    assert busy.wait_seconds <= seen["wait_seconds_max"] + SLACK
    if len(matching) < 2:  # then no rule has its turn because another has used it up
        assert busy.attempts == seen["attempts_max"]
        assert busy.wait_seconds == pytest.approx(seen["wait_seconds_max"])


# --- tasks -----------------------------------------------------------------------------------------------------------


def of_task(spec: str, **workload: Any) -> Any:
    found = row(
        f"""
        workflow:
          - step: a
            tool: [{{name: t, kind: python, code: return 1, spec: {{{spec}}}}}]
        """,
        workload,
    )
    return steps(found)["a"]["tasks"][0]


def retrying(then: str, when: str = "{{ output.status == 'error' }}") -> str:
    return f"""timeout: 10, policy: {{rules: [{{when: "{when}", then: {{do: retry, {then}}}}}]}}"""


def test_a_task_without_rules_is_tried_once() -> None:
    found = of_task("timeout: 10")

    assert (found["attempts_max"], found["wait_seconds_max"], found["seconds_max"]) == (1, 0, 10)


def test_waits_are_added_up_as_the_backoff_makes_them() -> None:
    found = of_task(retrying("attempts: 4, backoff: exponential, delay: 2, max_delay: 5"))

    assert (found["attempts_max"], found["wait_seconds_max"], found["seconds_max"]) == (4, 2 + 4 + 5, 4 * 10 + 11)


def test_jitter_counts_as_the_longest_that_it_can_make() -> None:
    assert of_task(retrying("attempts: 2, delay: 10, jitter: 0.5"))["wait_seconds_max"] == 15


def test_a_delay_that_reads_the_workload_and_the_attempt_is_worked_out() -> None:
    found = of_task(retrying('attempts: 3, delay: "{{ workload.pause * _attempt }}"'), pause=3)

    assert found["wait_seconds_max"] == 3 + 6


def test_a_delay_that_only_the_answer_tells_is_unknown_with_what_it_reads() -> None:
    found = of_task(retrying('attempts: 3, delay: "{{ output.data.pause }}"'))

    assert (found["attempts_max"], found["wait_seconds_max"], found["seconds_max"]) == (3, None, None)
    assert found["unknown"] == ['the delay of task "t" depends on output.data.pause']


def test_an_unknown_delay_is_bounded_by_its_maximum() -> None:
    assert of_task(retrying('attempts: 3, delay: "{{ output.data.pause }}", max_delay: 9'))["wait_seconds_max"] == 18


def test_a_task_without_a_time_limit_has_no_bound_and_says_so() -> None:
    found = of_task("durability: sync")

    assert (found["attempt_seconds_max"], found["seconds_max"]) == (None, None)
    assert found["unknown"] == ['one attempt of task "t" (python) has no time limit: give it spec.timeout']


def test_a_rule_that_the_workload_rules_out_does_not_count() -> None:
    spec = retrying("attempts: 9", when="{{ workload.is_patient }}")

    assert of_task(spec, is_patient=False)["attempts_max"] == 1
    assert of_task(spec, is_patient=True)["attempts_max"] == 9


@pytest.mark.spec("TK-09")
def test_a_jump_backwards_has_no_bound_but_that_of_the_pipeline() -> None:
    found = row(
        """
        workflow:
          - step: pages
            tool:
              - {name: init, kind: noop}
              - {name: fetch, kind: noop}
              - name: more
                kind: noop
                spec: {policy: {rules: [{when: "{{ output.data }}", then: {do: jump, to: fetch}}]}}
        """
    )

    init, fetch, more = steps(found)["pages"]["tasks"]
    assert (init["attempts_max"], fetch["attempts_max"], more["attempts_max"]) == (1, None, None)
    assert fetch["unknown"] == [
        'task "more" can jump back to "fetch" again and again (a pipeline ends after 100,000 tasks)'
    ]


@pytest.mark.spec("TK-14")
def test_the_retries_of_a_workbook_task_happen_within_each_attempt_of_its_caller() -> None:
    body = """
        workbook:
          ask:
            kind: python
            code: return 1
            spec:
              timeout: 10
              policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3, delay: 1}}]}
        workflow:
          - step: a
            tool:
              - {name: t, kind: workbook, task: ask, spec: {%s}}
        """

    assert steps(row(body % ""))["a"]["tasks"][0]["seconds_max"] == 32
    assert steps(row(body % "timeout: 5"))["a"]["tasks"][0]["seconds_max"] == 5


def test_what_a_task_calls_counts_as_long_as_it_may_take_or_the_task_waits() -> None:
    body = "workflow: [{step: a, tool: [{name: t, kind: playbook, path: other, spec: {%s}}]}]"

    assert row(body % "")["seconds_max"] is None
    assert row(body % "", child=lambda _task: Bound(50.0))["seconds_max"] == 50
    assert row(body % "timeout: 20", child=lambda _task: Bound(50.0))["seconds_max"] == 20


# --- loops -----------------------------------------------------------------------------------------------------------


LOOP = """
    workload: {items: [1, 2, 3, 4, 5]}
    workflow:
      - step: a
        input: {some: "{{ workload.items }}"}
        loop: {in: "%s", iterator: x, spec: {%s}}
        tool: [{name: t, kind: python, code: return 1, spec: {timeout: 10}}]
"""


@pytest.mark.parametrize("collection", ["{{ workload.items }}", "{{ items }}", "{{ input.some }}", "{{ range(5) }}"])
def test_iterations_that_the_workload_decides_are_counted(collection: str) -> None:
    found = steps(row(LOOP % (collection, "mode: sequential")))["a"]

    assert (found["loop"]["iterations_max"], found["attempts_max"], found["seconds_max"]) == (5, 5, 50)


def test_a_parallel_loop_takes_as_many_rounds_as_its_window_needs() -> None:
    found = steps(row(LOOP % ("{{ workload.items }}", "mode: parallel, max_in_flight: 2")))["a"]

    assert (found["loop"]["rounds_max"], found["seconds_max"]) == (3, 30)


@pytest.mark.parametrize(
    ("collection", "reads"), [("{{ ctx.pages }}", "ctx.pages"), ("{{ output.data }}", "output.data")]
)
def test_iterations_that_only_the_run_tells_are_unknown_with_what_they_read(collection: str, reads: str) -> None:
    found = row(LOOP % (collection, "mode: sequential"))

    assert steps(found)["a"]["loop"]["iterations_max"] is None
    assert f'the number of iterations of step "a" depends on {reads}' in found["unknown"]


def test_a_collection_that_no_loop_can_run_over_is_said() -> None:
    found = steps(row(LOOP % ("{{ workload.items }}", "mode: sequential"), {"items": 3}))["a"]

    assert "loop.in needs a list" in found["loop"]["fault"]


def test_inner_loops_are_followed_element_by_element() -> None:
    found = row(
        """
        workload: {rows: [[1, 2], [3], []]}
        workflow:
          - step: a
            loop:
              in: "{{ workload.rows }}"
              iterator: row
              loop: {in: "{{ iter.row }}", iterator: cell, spec: {mode: sequential}}
              spec: {mode: parallel}
            tool: [{name: t, kind: python, code: return 1, spec: {timeout: 10}}]
        """
    )

    loop = steps(found)["a"]["loop"]
    assert (loop["iterations_max"], loop["rounds_max"], found["seconds_max"]) == (3, 2, 20)


@pytest.mark.spec("ST-07")
def test_the_time_of_a_step_caps_what_its_tasks_may_take() -> None:
    found = row(
        """
        workflow:
          - step: a
            spec: {policy: {lifecycle: {timeout_s: 25}}}
            tool: [{name: t, kind: python, code: return 1}]
        """
    )

    assert (found["seconds_max"], found["attempts_max"]) == (25, 1)


# --- the net ---------------------------------------------------------------------------------------------------------


def net(*lines: str, workload: str = "{}") -> Any:
    return row(f"workload: {workload}\nworkflow:\n" + "\n".join(f"  - {line}" for line in lines))


TIMED = "tool: [{name: t, kind: python, code: return 1, spec: {timeout: 10}}]"


def test_a_step_behind_a_guard_that_the_workload_refuses_is_never_run() -> None:
    found = net(
        f"{{step: a, {TIMED}, next: {{arcs: [{{step: b, when: '{{{{ workload.on }}}}'}}, {{step: c}}]}}}}",
        f"{{step: b, {TIMED}}}",
        f"{{step: c, {TIMED}}}",
        workload="{on: false}",
    )

    assert {name: one["is_reached"] for name, one in steps(found).items()} == {"a": True, "c": True, "b": False}
    assert (found["attempts_max"], found["seconds_max"]) == (2, 20)


def test_a_certain_arc_of_an_exclusive_router_hides_those_behind_it() -> None:
    found = net(
        f"{{step: a, {TIMED}, next: {{arcs: [{{step: b, when: '{{{{ workload.on }}}}'}}, {{step: c}}]}}}}",
        f"{{step: b, {TIMED}}}",
        f"{{step: c, {TIMED}}}",
        workload="{on: true}",
    )

    assert {name: one["is_reached"] for name, one in steps(found).items()} == {"a": True, "b": True, "c": False}


def test_branches_run_side_by_side_and_a_join_waits_for_the_longest() -> None:
    found = net(
        f"{{step: a, {TIMED}, next: {{spec: {{mode: inclusive}}, arcs: [{{step: b}}, {{step: c}}]}}}}",
        f"{{step: b, {TIMED}, next: {{arcs: [{{step: d}}]}}}}",
        "{step: c, tool: [{name: t, kind: python, code: return 1, spec: {timeout: 30}}], next: {arcs: [{step: d}]}}",
        f"{{step: d, spec: {{policy: {{admit: {{join: all}}}}}}, {TIMED}}}",
    )

    assert found["seconds_max"] == 10 + 30 + 10
    assert steps(found)["d"]["runs_max"] == 1
    assert [one["step"] for one in found["steps"]][-1] == "d"


def test_two_tokens_without_a_join_run_a_step_twice() -> None:
    found = net(
        f"{{step: a, {TIMED}, next: {{spec: {{mode: inclusive}}, arcs: [{{step: b}}, {{step: c}}]}}}}",
        f"{{step: b, {TIMED}, next: {{arcs: [{{step: d}}]}}}}",
        f"{{step: c, {TIMED}, next: {{arcs: [{{step: d}}]}}}}",
        f"{{step: d, {TIMED}}}",
    )

    assert steps(found)["d"]["runs_max"] == 2
    assert (found["attempts_max"], found["seconds_max"]) == (5, 30)


def test_one_way_or_the_other_runs_what_follows_once() -> None:
    found = net(
        f"{{step: a, {TIMED}, next: {{arcs: [{{step: b, when: '{{{{ output.data }}}}'}}, {{step: c}}]}}}}",
        f"{{step: b, {TIMED}, next: {{arcs: [{{step: d}}]}}}}",
        f"{{step: c, {TIMED}, next: {{arcs: [{{step: d}}]}}}}",
        f"{{step: d, {TIMED}}}",
    )

    assert steps(found)["d"]["runs_max"] == 1


def test_steps_that_can_go_round_have_no_bound_and_those_before_them_have() -> None:
    found = net(
        f"{{step: a, {TIMED}, next: {{arcs: [{{step: b}}]}}}}",
        f"{{step: b, {TIMED}, next: {{arcs: [{{step: b, when: '{{{{ output.data }}}}'}}, {{step: c}}]}}}}",
        f"{{step: c, {TIMED}}}",
    )

    assert {name: one["runs_max"] for name, one in steps(found).items()} == {"a": 1, "b": None, "c": None}
    assert "the steps b → b can go round again and again" in found["unknown"]
    assert found["seconds_max"] is None


def test_a_gate_that_only_the_run_opens_lets_steps_come_after_each_other() -> None:
    gate = (
        "spec: {policy: {admit: {rules: [{when: '{{ ctx.go }}', then: {allow: true}}, "
        "{else: {then: {allow: false}}}]}}}"
    )
    found = net(
        f"{{step: a, {TIMED}, next: {{spec: {{mode: inclusive}}, arcs: [{{step: b}}, {{step: c}}]}}}}",
        f"{{step: b, {TIMED}}}",
        f"{{step: c, {gate}, {TIMED}}}",
    )

    assert steps(found)["c"]["gate"] == {
        "is_join": False,
        "opens": None,
        "reads": ["ctx.go"],
        "waits_for_signal": False,
    }
    assert found["seconds_max"] == 30


def test_a_gate_that_waits_for_a_signal_has_no_bound() -> None:
    gate = (
        "spec: {policy: {admit: {on_deny: wait, rules: [{when: '{{ ctx.go }}', then: {allow: true}}, "
        "{else: {then: {allow: false}}}]}}}"
    )
    found = net(f"{{step: a, {gate}, {TIMED}}}")

    assert found["unknown"] == ['step "a" may wait for a signal']


@pytest.mark.spec("ST-12")
def test_compensations_are_counted_after_all_else() -> None:
    found = row(
        """
        workflow:
          - step: a
            tool: [{name: t, kind: python, code: return 1, spec: {timeout: 10}}]
            spec: {policy: {compensation: {tool: [{name: undo, kind: python, code: return 1, spec: {timeout: 4}}]}}}
        """
    )

    assert (found["attempts_max"], found["seconds_max"]) == (2, 14)


# --- children --------------------------------------------------------------------------------------------------------


def test_a_key_that_the_caller_gives_and_nobody_knows_is_unknown() -> None:
    body = HEAD + textwrap.dedent(LOOP % ("{{ workload.items }}", "mode: sequential"))

    assert steps(as_row(foreseen(body, unsure=("items",))))["a"]["loop"]["iterations_max"] is None
    assert steps(as_row(foreseen(body, unsure=("other",))))["a"]["loop"]["iterations_max"] == 5


# --- bounds ----------------------------------------------------------------------------------------------------------


def test_bounds_add_up_and_what_is_unknown_keeps_its_reasons() -> None:
    two, what = Bound(2.0), unknown("x")

    assert (together((two, two)), together((two, what))) == (Bound(4.0), what)
    assert (largest((two, Bound(3.0))), largest((two, what, unknown("y")))) == (Bound(3.0), unknown("x", "y"))
    assert (times(what, Bound(0)), times(what, two), times(two, two)) == (Bound(0), what, Bound(4.0))
    assert (capped(what, None, 3.0), capped(two, 3.0), capped(what, None)) == (Bound(3.0), two, what)
