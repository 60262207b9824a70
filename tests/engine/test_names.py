"""Which names a template can read where, and what each of them is when a playbook runs."""

from typing import Any

import pytest

from noetl.engine.events import timestamp
from noetl.engine.output import failure
from noetl.testing.engine import Engine
from tests.engine.books import ctx_of, engine, ran

# --- the context names (TP-02) ---------------------------------------------------------------------------------------

EVERY_PLACE = """
    workload: {day: 7}
    workflow:
      - step: start
        input: {given: 1}
        tool: {kind: noop, input: {sent: 2}}
        next: {arcs: [{step: each, set: {ctx.mark: 3}, args: {passed: 4}}]}
      - step: each
        input: {handed: 5, early: "{{ TEMPLATE_STEP_INPUT }}"}
        loop: {in: "{{ [10, 20] }}", iterator: item}
        tool:
          - {name: first, kind: http, url: "http://127.0.0.1/", set: {step.kept: 6}}
          - name: second
            kind: noop
            input: {seen: "{{ TEMPLATE }}"}
    """


def seen_in_a_task(template: str) -> list[Any]:
    """What the second task of each iteration reads."""
    body = EVERY_PLACE.replace("TEMPLATE_STEP_INPUT", "ctx.mark").replace("TEMPLATE", template)
    made = ran(body, {"first": {"rows": [1]}})
    assert made.status == "success"
    return [data["seen"] for data in made.state.outputs["each"]["data"]]


@pytest.mark.spec("TP-02")
@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("workload.day", [7, 7]),
        ("ctx.mark", [3, 3]),
        ("input.passed ~ input.handed ~ input.early", ["453", "453"]),
        ("args.passed", [4, 4]),
        ("execution_id", ["1", "1"]),
        ("iter.item", [10, 20]),
        ("iter.index", [0, 1]),
        ("step.kept", [6, 6]),
        ("_prev.rows", [[1], [1]]),
        ("_task", ["second", "second"]),
        ("_attempt", [1, 1]),
        ("first.data.rows", [[1], [1]]),
        ("first.status", ["ok", "ok"]),
        ("output.data.rows", [[1], [1]]),
        ("outcome.status", ["ok", "ok"]),
    ],
)
def test_a_task_reads_every_context_name(template: str, expected: list[Any]) -> None:
    assert seen_in_a_task(template) == expected


@pytest.mark.spec("TP-02")
def test_a_step_reads_at_its_entry_what_its_sender_gave() -> None:
    made = ran(
        """
        workload: {day: 7}
        workflow:
          - step: start
            tool: {kind: noop, input: {sent: 2}}
            next: {arcs: [{step: end, set: {ctx.mark: 3}, args: {passed: 4}}]}
          - step: end
            input:
              all: "{{ [workload.day, ctx.mark, input.passed, execution_id, output.data.sent, start.data.sent] }}"
            tool: {kind: noop, input: {all: "{{ input.all }}"}}
        """
    )

    assert made.state.output["data"] == {"all": [7, 3, 4, "1", 2, 2]}


@pytest.mark.spec("TP-02")
@pytest.mark.parametrize("name", ["output", "outcome"])
def test_rules_and_sets_read_the_answer_of_their_own_task(name: str) -> None:
    body = """
        workflow:
          - step: start
            tool:
              - {name: before, kind: noop, input: {n: 1}}
              - name: work
                kind: http
                url: "http://127.0.0.1/"
                set: {ctx.of_set: "{{ NAME.status ~ _task ~ _attempt ~ before.data.n }}"}
                spec:
                  policy:
                    rules:
                      - when: "{{ NAME.status == 'error' and _attempt == 1 and _task == 'work' }}"
                        then: {do: retry, attempts: 2}
                      - else: {then: {do: continue, set: {ctx.of_rule: "{{ NAME.status ~ ctx.of_set }}"}}}
        """

    made = ran(body.replace("NAME", name), {"work": [failure("timeout", "slow", retryable=True), 5]})

    assert ctx_of(made) == {"of_set": "okwork21", "of_rule": "okokwork21"}


@pytest.mark.spec("TP-02")
def test_the_set_of_a_step_reads_its_labels_and_its_output() -> None:
    made = ran(
        """
        workload: {day: 7}
        workflow:
          - step: start
            input: {given: 1}
            tool:
              - {name: a, kind: noop, input: {n: 2}, set: {step.kept: 6}}
              - {name: b, kind: noop, input: {n: 3}}
            set: {ctx.all: "{{ [workload.day, input.given, step.kept, a.data.n, output.data.n, execution_id] }}"}
        """
    )

    assert ctx_of(made) == {"all": [7, 1, 6, 2, 3, "1"]}


@pytest.mark.spec("TP-02", "RT-12")
def test_arcs_read_the_output_the_event_and_the_scopes_of_their_step() -> None:
    made = ran(
        """
        workload: {day: 7}
        workflow:
          - step: start
            input: {given: 1}
            tool: {kind: noop, input: {n: 2}, set: {step.kept: 6, ctx.mark: 3}}
            next:
              arcs:
                - step: end
                  when: "{{ output.data.n == 2 and event.payload.output.data.n == 2 }}"
                  set: {ctx.all: "{{ [workload.day, input.given, step.kept, ctx.mark, start.status, event.name] }}"}
          - {step: end, tool: {kind: noop}}
        """
    )

    assert ctx_of(made)["all"] == [7, 1, 6, 3, "ok", "step.done"]


ENVELOPES = {
    "step.done": ("tool: {kind: noop}", {}, "worker", "step", "success"),
    "step.failed": (
        "tool: {kind: http, url: 'http://127.0.0.1/', spec: {policy: {on_unmatched: fail, rules: "
        "[{when: false, then: {do: continue}}]}}}",
        {"start": failure("timeout", "slow")},
        "worker",
        "step",
        "error",
    ),
    "loop.done": ("loop: {in: '{{ [1] }}', iterator: i}\n    tool: {kind: noop}", {}, "server", "loop", "success"),
}


@pytest.mark.spec("TP-02", "EV-01", "EV-02")
@pytest.mark.parametrize("name", list(ENVELOPES))
def test_the_event_is_the_envelope_of_the_boundary(name: str) -> None:
    step, answers, source, entity, status = ENVELOPES[name]
    guard = f"{{{{ event.name == '{name}' }}}}"
    gate = '{rules: [{when: "{{ event.name == ctx.seen.name and event.timestamp == ctx.seen.timestamp }}", then: '
    body = f"""
workflow:
  - step: start
    {step}
    next: {{arcs: [{{step: end, when: "{guard}", set: {{ctx.seen: "{{{{ event }}}}"}}}}]}}
  - step: end
    spec: {{policy: {{admit: {gate}{{allow: true}}}}, {{else: {{then: {{allow: false}}}}}}]}}}}}}
    tool: {{kind: noop}}
"""

    made = ran(body, answers)

    boundary = made.events(name)[0]
    seen: Any = ctx_of(made)["seen"]
    assert seen.pop("payload").keys() == {"output", "error"}
    assert seen == {
        "event_id": f"1-{made.log.index(boundary) + 1}",
        "execution_id": "1",
        "timestamp": timestamp(boundary.ts),
        "source": source,
        "name": name,
        "entity_type": entity,
        "entity_id": "1:1",
        "status": status,
        "step": "start",
        "step_run_id": "1:1",
    }
    assert "end" in [event.step for event in made.events("step.done")]


@pytest.mark.spec("TP-02", "EV-01")
def test_the_first_steps_event_is_the_start_of_the_workflow() -> None:
    made = ran(
        """
        workflow:
          - step: start
            spec:
              policy:
                admit:
                  rules:
                    - when: "{{ [event.name, event.entity_type, event.entity_id, event.source, event.status] ==
                        ['workflow.started', 'workflow', '1', 'server', 'in_progress'] }}"
                      then: {allow: true}
                    - else: {then: {allow: false}}
            tool: {kind: noop}
        """
    )

    assert [event.step for event in made.events("step.done")] == ["start"]


# --- bare names (TP-06) ----------------------------------------------------------------------------------------------

PRECEDENCE = """
    workload: {a: of workload, b: of workload, c: of workload, d: of workload}
    workflow:
      - {step: d, tool: {kind: noop, input: {is: of step}}, next: {arcs: [{step: c}]}}
      - {step: c, tool: {kind: noop, input: {is: of step}}, next: {arcs: [{step: b}]}}
      - {step: b, tool: {kind: noop, input: {is: of step}}, next: {arcs: [{step: each}]}}
      - step: each
        loop: {in: "{{ ['of iterator'] }}", iterator: c}
        tool:
          - {name: b, kind: noop, input: {is: of label}}
          - {name: read, kind: noop, input: {a: "{{ a }}", b: "{{ b.data.is }}", c: "{{ c }}", d: "{{ d.data.is }}"}}
    """


@pytest.mark.spec("TP-06")
def test_a_bare_name_is_a_label_then_an_iterator_then_a_step_then_a_workload_key() -> None:
    made = ran(PRECEDENCE)

    assert made.state.outputs["each"]["data"] == [
        {"a": "of workload", "b": "of label", "c": "of iterator", "d": "of step"}
    ]


@pytest.mark.spec("TP-06")
def test_a_step_that_has_not_run_leaves_its_name_to_the_workload() -> None:
    made = ran(
        """
        workload: {later: of workload}
        workflow:
          - step: start
            tool: {kind: noop, input: {seen: "{{ later }}"}}
            next: {arcs: [{step: later}]}
          - {step: later, tool: {kind: noop, input: {is: of step}}, next: {arcs: [{step: end}]}}
          - {step: end, tool: {kind: noop, input: {seen: "{{ later.data.is }}"}}}
        """
    )

    assert made.state.outputs["start"]["data"] == {"seen": "of workload"}
    assert made.state.outputs["end"]["data"] == {"seen": "of step"}


@pytest.mark.spec("TP-06")
def test_a_steps_name_is_the_output_of_its_last_run() -> None:
    made = ran(
        """
        workflow:
          - step: count
            tool: {kind: noop, input: {n: "{{ (ctx.n | default(0)) + 1 }}"}, set: {ctx.n: "{{ output.data.n }}"}}
            next: {arcs: [{step: count, when: "{{ count.data.n < 3 }}"}, {step: end}]}
          - {step: end, tool: {kind: noop, input: {last: "{{ count.data.n }}"}}}
        """
    )

    assert made.state.output["data"] == {"last": 3}


@pytest.mark.spec("TP-06", "SC-09")
@pytest.mark.parametrize("name", ["ctx", "workload", "input", "output", "execution_id", "_task"])
def test_a_workload_key_never_hides_a_reserved_name(name: str) -> None:
    expected = {
        "ctx": {"mine": 1},
        "workload": {name: "hidden"},
        "input": {"given": 2},
        "output": "ok",
        "execution_id": "1",
        "_task": "read",
    }[name]
    read = "output.status" if name == "output" else name
    body = f"""
        workflow:
          - step: start
            input: {{given: 2}}
            tool:
              - {{name: write, kind: noop, set: {{ctx.mine: 1}}}}
              - {{name: read, kind: noop, input: {{seen: "{{{{ {read} }}}}"}}}}
    """

    made = ran(body, None, **{name: "hidden"})

    assert made.state.output["data"] == {"seen": expected}


@pytest.mark.spec("TP-06")
def test_a_name_of_nothing_stops_the_playbook_before_it_runs() -> None:
    with pytest.raises(AssertionError, match="NL606"):
        engine('workflow: [{step: start, tool: {kind: noop, input: {a: "{{ nothing }}"}}}]')


# --- names are never merged (SC-08) ----------------------------------------------------------------------------------

SAME_KEY = """
    workload: {day: of workload}
    workflow:
      - step: start
        tool: {kind: noop}
        SET
        next: {arcs: [{step: end ARGS}]}
      - step: end
        tool:
          kind: noop
          input:
            all: "{{ [input.day, ctx.day, workload.day] }}"
            first: "{{ input.day | default(ctx.day) | default(workload.day) }}"
            bare: "{{ day }}"
    """


def read_of(given: str, written: str) -> Engine:
    body = SAME_KEY.replace("SET", f"set: {{ctx.day: {written}}}" if written else "set: {ctx.other: 1}")
    return ran(body.replace("ARGS", f", args: {{day: {given}}}" if given else ""))


@pytest.mark.spec("SC-08")
@pytest.mark.parametrize(
    ("given", "written", "first"),
    [
        ("of input", "of ctx", "of input"),
        ("", "of ctx", "of ctx"),
        ("", "", "of workload"),
    ],
)
def test_one_key_in_three_scopes_is_three_values_read_in_the_order_that_is_written(
    given: str, written: str, first: str
) -> None:
    made = read_of(given, written)

    assert made.state.output["data"] == {
        "all": [given or None, written or None, "of workload"],
        "first": first,
        "bare": "of workload",
    }


@pytest.mark.spec("SC-08")
def test_a_key_of_ctx_or_input_is_no_bare_name() -> None:
    with pytest.raises(AssertionError, match="NL606"):
        read_and_run_without_workload()


def read_and_run_without_workload() -> Engine:
    return ran(SAME_KEY.replace("workload: {day: of workload}", "workload: {}").replace("SET", "").replace("ARGS", ""))
