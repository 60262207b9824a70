"""One pipeline, task by task: envelopes, input, writes, sugar."""

from typing import Any

import pytest

from noetl.engine.events import WORKER_EVENTS
from noetl.engine.output import Output, failure
from noetl.references import Reference
from tests.engine.books import engine, ran

REFERENCE = Reference(type="blob", locator="sha256:" + "0" * 64, bytes=3, sha256="0" * 64).as_data()


def writes(made: Any) -> list[list[tuple[str, Any]]]:
    return [[(patch.path, patch.value) for patch in done.patches] for done in made.events("task.done")]


# --- envelopes -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TK-04")
def test_each_invocation_gives_one_envelope_and_it_is_what_templates_read() -> None:
    answer = failure("server_error", "no", retryable=True, details={"n": 1}, data={"why": "x"}, helpers={"http": {}})
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - name: a
                kind: noop
                set: {ctx.seen: "{{ output }}", ctx.same: "{{ a == output }}"}
                spec: {policy: {rules: [{else: {then: {do: continue}}}]}}
        """,
        {"a": answer},
    )

    assert made.state.ctx["seen"] == {
        "status": "error",
        "data": {"why": "x"},
        "ref": None,
        "error": {"kind": "server_error", "retryable": True, "message": "no", "details": {"n": 1}},
        "meta": {"attempt": 1},
        "http": {},
    }
    assert made.state.ctx["same"] is True
    assert [done.output for done in made.events("task.done")] == [made.state.ctx["seen"]]


@pytest.mark.spec("SC-07", "TK-04")
def test_a_returned_reference_is_handed_on_as_prev_and_its_data_cannot_be_read() -> None:
    text = """
        workflow:
          - step: start
            tool:
              - {name: a, kind: noop}
              - {name: b, kind: noop, input: {x: "{{ %s }}"}}
    """
    handed = ran(text.replace("%s", "_prev"), {"a": Output(data=REFERENCE)})
    read = ran(text.replace("%s", "a.data.x"), {"a": Output(data=REFERENCE)})

    assert handed.state.output["data"] == {"x": REFERENCE}
    assert (read.state.error["kind"], read.state.error["task"]) == ("ref_misuse", "b")


@pytest.mark.spec("TK-04", "SC-07")
def test_reading_the_data_of_a_returned_reference_at_once_is_refused_too() -> None:
    made = ran(
        'workflow: [{step: start, tool: [{name: a, kind: noop, set: {ctx.x: "{{ output.data.x }}"}}]}]',
        {"a": Output(data=REFERENCE)},
    )

    assert made.state.error["kind"] == "ref_misuse"
    assert made.state.ctx == {}


@pytest.mark.spec("TK-13")
def test_what_a_worker_reports_never_schedules_a_step() -> None:
    names = {str(kind.__struct_config__.tag) for kind in WORKER_EVENTS}

    assert names == {
        "step.started",
        "step.done",
        "step.failed",
        "task.started",
        "task.done",
        "task.waiting",
        "loop.iteration.done",
        "loop.iteration.failed",
    }


# --- input -----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TK-11")
def test_a_tasks_input_is_rendered_with_the_steps_and_overlays_it_afterwards() -> None:
    made = ran(
        """
        workflow:
          - step: start
            input: {a: step, b: step}
            tool:
              - name: t
                kind: noop
                input: {b: "{{ input.b }} then task", c: "{{ input.a }}"}
                set: {ctx.input: "{{ input }}"}
              - {name: u, kind: noop, input: {seen: "{{ input }}"}}
        """
    )

    assert made.invocations[0].input == {"b": "step then task", "c": "step"}
    assert made.state.ctx["input"] == {"a": "step", "b": "step then task", "c": "step"}
    assert made.state.output["data"] == {"seen": {"a": "step", "b": "step"}}


@pytest.mark.spec("TK-11")
def test_the_steps_input_is_the_tokens_args_overlaid_by_its_own() -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool: {kind: noop}
            next: {arcs: [{step: then, args: {a: arc, b: arc}}]}
          - step: then
            input: {b: "{{ input.b }} and step", c: "{{ input.a }}"}
            tool: {kind: noop, input: {seen: "{{ input }}"}}
        """
    )

    assert made.state.output["data"] == {"seen": {"a": "arc", "b": "arc and step", "c": "arc"}}


@pytest.mark.spec("TK-11", "SC-14")
def test_the_steps_input_is_made_once_with_ctx_as_it_was_at_scheduling() -> None:
    made = ran(
        """
        workflow:
          - step: start
            set: {ctx.n: 1}
            tool: {kind: noop}
            next: {arcs: [{step: then}]}
          - step: then
            input: {n: "{{ ctx.n }}"}
            tool:
              - {name: a, kind: noop, set: {ctx.n: 2}}
              - {name: b, kind: noop, input: {was: "{{ input.n }}", now: "{{ ctx.n }}"}}
        """
    )

    assert made.state.output["data"] == {"was": 1, "now": 2}


@pytest.mark.spec("TK-11", "TK-19")
def test_a_template_that_fails_in_an_input_fails_the_step_whatever_the_policy_says() -> None:
    made = ran(
        """
        workload: {none: null}
        workflow:
          - step: start
            tool:
              - name: a
                kind: noop
                input: {x: "{{ workload.none + 1 }}"}
                spec: {policy: {rules: [{else: {then: {do: continue}}}]}}
        """
    )

    assert made.status == "failed"
    assert made.invocations == []
    assert made.state.error["kind"] in ("template", "type")
    assert "t.yaml:" in made.state.error["message"]


# --- set -------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TK-12")
def test_rules_choose_before_any_set_and_the_rules_set_comes_after_the_tasks() -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - name: a
                kind: noop
                set: {ctx.n: 1, ctx.who: task}
                spec:
                  policy:
                    rules:
                      - when: "{{ (ctx.n | default(0)) == 1 }}"
                        then: {do: fail}
                      - else:
                          then: {do: continue, set: {ctx.who: rule, ctx.saw: "{{ ctx.n }}"}}
              - {name: b, kind: noop, input: {n: "{{ ctx.n }}", who: "{{ ctx.who }}", saw: "{{ ctx.saw }}"}}
        """
    )

    assert writes(made)[0] == [("ctx.n", 1), ("ctx.who", "task"), ("ctx.who", "rule"), ("ctx.saw", 1)]
    assert made.state.output["data"] == {"n": 1, "who": "rule", "saw": 1}


@pytest.mark.spec("TK-12")
def test_the_values_of_one_set_are_rendered_together() -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - {name: a, kind: noop, set: {ctx.x: 1, ctx.y: 2}}
              - {name: b, kind: noop, set: {ctx.x: "{{ ctx.y }}", ctx.y: "{{ ctx.x }}"}}
            set: {ctx.x: "{{ ctx.y }}", ctx.z: "{{ ctx.x }}"}
        """
    )

    assert made.state.ctx == {"x": 1, "y": 1, "z": 2}


@pytest.mark.spec("TK-12")
@pytest.mark.parametrize("do", ["retry, attempts: 1", "fail", "skip"])
def test_a_tasks_set_is_left_out_on_retry_fail_and_skip(do: str) -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - name: a
                kind: noop
                set: {ctx.task: true}
                spec: {policy: {rules: [{else: {then: {do: %s, set: {ctx.rule: true}}}}]}}
        """.replace("%s", do)
    )

    assert writes(made) == [[("ctx.rule", True)]]


@pytest.mark.spec("TK-12")
@pytest.mark.parametrize("do", ["continue", "break", "jump, to: b"])
def test_a_tasks_set_is_written_on_continue_break_and_jump(do: str) -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - name: a
                kind: noop
                set: {ctx.task: true}
                spec: {policy: {rules: [{else: {then: {do: %s}}}]}}
              - {name: b, kind: noop}
        """.replace("%s", do)
    )

    assert writes(made)[0] == [("ctx.task", True)]


@pytest.mark.spec("TK-12", "SC-02")
def test_a_set_that_fails_writes_nothing_at_all() -> None:
    made = ran(
        """
        workload: {none: null}
        workflow:
          - step: start
            tool: [{name: a, kind: noop, set: {ctx.x: 1, ctx.y: "{{ workload.none + 1 }}"}}]
        """
    )

    assert made.status == "failed"
    assert made.state.ctx == {}


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("SC-07")
def test_prev_task_and_attempt_speak_of_the_task_at_hand() -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - {name: a, kind: noop}
              - name: b
                kind: noop
                input: {prev: "{{ _prev }}", task: "{{ _task }}", attempt: "{{ _attempt }}"}
                spec: {policy: {rules: [
                  {when: "{{ output.status == 'error' }}", then: {do: retry, delay: 0}},
                  {else: {then: {do: continue}}}]}}
        """,
        {"a": {"n": 1}, "b": [failure("timeout", "late"), Output(data=2)]},
    )

    assert [one.input for one in made.invocations[1:]] == [
        {"prev": {"n": 1}, "task": "b", "attempt": 1},
        {"prev": {"n": 1}, "task": "b", "attempt": 2},
    ]


@pytest.mark.spec("SC-07", "TK-15")
@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_prev_stays_the_same_for_every_attempt_of_a_task_that_jumped_to_itself(tasks: int) -> None:
    made = engine(
        """
        workflow:
          - step: start
            tool:
              - name: a
                kind: noop
                input: {prev: "{{ _prev }}", attempt: "{{ _attempt }}"}
                spec: {policy: {rules: [
                  {when: "{{ output.status == 'error' }}", then: {do: retry, delay: 0}},
                  {when: "{{ output.data < 2 }}", then: {do: jump, to: a}},
                  {else: {then: {do: continue}}}]}}
        """,
        {"a": [Output(data=1), failure("timeout", "late"), failure("timeout", "late"), Output(data=2)]},
    )
    made.start()

    made.run_job(1, -1, tasks)
    made.crash()
    made.run()

    assert [one.input for one in made.invocations] == [
        {"prev": None, "attempt": 1},
        {"prev": 1, "attempt": 1},
        {"prev": 1, "attempt": 2},
        {"prev": 1, "attempt": 3},
    ]


@pytest.mark.spec("SC-07")
def test_prev_of_a_steps_first_task_is_the_senders_data() -> None:
    made = ran(
        """
        workflow:
          - {step: start, tool: {name: a, kind: noop}, next: {arcs: [{step: then}]}}
          - {step: then, tool: {kind: noop, input: {prev: "{{ _prev }}"}}}
        """,
        {"a": [1, 2]},
    )

    assert made.state.output["data"] == {"prev": 1}


@pytest.mark.spec("SC-07")
def test_prev_of_a_steps_first_task_is_the_senders_reference_where_its_data_is_kept_elsewhere() -> None:
    made = ran(
        """
        workflow:
          - {step: start, tool: {name: a, kind: noop}, next: {arcs: [{step: then}]}}
          - {step: then, tool: {kind: noop, input: {prev: "{{ _prev }}"}}}
        """,
        {"a": Output(data=REFERENCE)},
    )

    assert made.state.output["data"] == {"prev": REFERENCE}


@pytest.mark.spec("SC-06")
def test_output_is_that_of_the_most_recently_completed_boundary() -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - {name: a, kind: noop, set: {ctx.own: "{{ output.data }}"}}
              - {name: b, kind: noop, input: {before: "{{ output.data }}"}, set: {ctx.then: "{{ output.data }}"}}
            set: {ctx.step: "{{ output.data }}"}
            next: {arcs: [{step: then, set: {ctx.arc: "{{ output.data }}"}}]}
          - step: then
            input: {sent: "{{ output.data }}"}
            tool: {kind: noop, input: {sent: "{{ input.sent }}", first: "{{ output.data }}"}}
        """,
        {"a": 1, "b": 2},
    )

    assert made.invocations[1].input == {"before": 1}
    assert made.state.ctx == {"own": 1, "then": 2, "step": 2, "arc": 2}
    assert made.state.output["data"] == {"sent": 2, "first": 2}


@pytest.mark.spec("SC-11")
def test_a_steps_output_is_that_of_the_last_task_run() -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - {name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}
              - {name: b, kind: noop}
        """,
        {"a": 1, "b": 2},
    )

    assert made.state.output["data"] == 1


@pytest.mark.spec("TK-04")
def test_a_noop_gives_its_input_else_prev_and_in_an_iteration_null() -> None:
    text = """
        workflow:
          - step: start
            %s
            tool:
              - {name: a, kind: noop, input: {x: 1}}
              - {name: b, kind: noop}
    """
    plain = ran(text.replace("%s", ""))
    looped = ran(text.replace("%s", "loop: {in: [1], iterator: n}"))

    assert plain.state.output["data"] == {"x": 1}
    assert looped.state.output["data"] == [None]


# --- sugar -----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TK-17")
def test_choose_runs_the_first_branch_that_matches_and_meets_at_its_end() -> None:
    text = """
        workload: {n: 0}
        workflow:
          - step: start
            tool:
              - name: route
                choose:
                  - when: "{{ workload.n > 10 }}"
                    then: {tool: {name: large, kind: noop, set: {ctx.way: large}}}
                  - when: "{{ workload.n > 5 }}"
                    then: {tool: {name: middle, kind: noop, set: {ctx.way: middle}}}
                  - else:
                      then: {tool: {name: small, kind: noop, set: {ctx.way: small}}}
              - {name: last, kind: noop, input: {way: "{{ ctx.way }}"}}
    """

    ways = [ran(text, n=n).state.output["data"]["way"] for n in (20, 7, 1)]

    assert ways == ["large", "middle", "small"]
    assert {one.task.label for one in ran(text, n=7).invocations} == {"middle", "last"}


@pytest.mark.spec("TK-17")
@pytest.mark.parametrize(("sugar", "rounds"), [("while", 0), ("until", 1)])
def test_while_is_asked_before_its_body_and_until_after(sugar: str, rounds: int) -> None:
    text = """
        workload: {limit: 0}
        workflow:
          - step: start
            tool:
              - {name: init, kind: noop, set: {step.n: 0}}
              - name: rounds
                %s:
                  when: "{{ %c }}"
                  tool: [{name: body, kind: noop, set: {step.n: "{{ step.n + 1 }}"}}]
            set: {ctx.n: "{{ step.n }}"}
    """
    condition = "step.n < workload.limit" if sugar == "while" else "step.n >= workload.limit"
    text = text.replace("%s", sugar).replace("%c", condition)

    assert [ran(text, limit=limit).state.ctx["n"] for limit in (0, 1, 3)] == [rounds, 1, 3]


@pytest.mark.spec("TK-17", "SC-07")
def test_a_generated_task_leaves_output_and_prev_as_they_were() -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - {name: first, kind: noop, input: {x: 1}}
              - name: route
                choose:
                  - when: "{{ output.data.x == 2 }}"
                    then: {tool: {name: two, kind: noop}}
                  - else: {then: {tool: {name: other, kind: noop, input: {prev: "{{ _prev }}"}}}}
              - {name: last, kind: noop, input: {prev: "{{ _prev }}", out: "{{ output.data }}"}}
        """
    )

    assert made.state.output["data"] == {"prev": {"prev": {"x": 1}}, "out": {"prev": {"x": 1}}}


@pytest.mark.spec("SC-02")
def test_ctx_has_a_bound_and_the_error_says_what_to_do() -> None:
    made = engine(
        'workflow: [{step: start, tool: [{name: a, kind: noop, set: {ctx.x: "{{ output.data }}"}}]}]',
        {"a": "x" * 300_000},
    )
    made.start()
    made.run()

    assert (made.status, made.state.error["kind"]) == ("failed", "limit")
    assert "keep its reference" in made.state.error["message"]
