"""Transparent data: what playbooks written for the public NoETL lean on, with `--compat upstream`."""

import pytest

from noetl.engine.output import Output, failure
from noetl.testing.engine import Engine

PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
workflow:
  - step: start
    tool:
      - name: fetch
        kind: http
        url: http://127.0.0.1/items
      - name: show
        kind: noop
        input: {seen: "{{ TEMPLATE }}"}
    next: {arcs: [{step: end, when: "{{ start.data.seen == start.seen }}"}]}
  - step: end
    tool: {kind: noop, input: {whole: "{{ start }}"}}
"""


def seen(template: str, payload: object, *, is_upstream: bool = True) -> object:
    answer = Output(data=payload, helpers={"http": {"status": 200, "headers": {"x": "y"}, "url": "http://127.0.0.1/"}})
    engine = Engine(PLAYBOOK.replace("TEMPLATE", template), {"fetch": answer}, is_upstream=is_upstream)
    engine.start()
    engine.run()
    return engine.state.outputs["start"]["data"]["seen"]


@pytest.mark.spec("UP-01")
@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("fetch.items", [1]),
        ("fetch.data.items", [1]),
        ("fetch.data.data.items", [1]),
        ("output.data.items", [1]),
        ("_prev.items", [1]),
        ("fetch.status", "ok"),
        ("fetch.status_code", 200),
        ("fetch.headers.x", "y"),
        ("fetch.body.items", [1]),
    ],
)
def test_a_name_reads_its_payload_and_then_its_envelope(template: str, expected: object) -> None:
    assert seen(template, {"items": [1]}) == expected


@pytest.mark.spec("UP-01")
def test_a_key_missing_on_a_payload_is_looked_up_in_its_data() -> None:
    assert seen("fetch.items", {"data": {"items": [2]}, "status": "fine"}) == [2]
    assert seen("fetch.status", {"data": {"items": [2]}, "status": "fine"}) == "fine"


@pytest.mark.spec("UP-01")
def test_a_payload_that_is_no_mapping_is_reached_by_data() -> None:
    assert seen("fetch.data", [1, 2]) == [1, 2]


@pytest.mark.spec("UP-01")
def test_without_the_flag_a_name_is_its_envelope() -> None:
    assert seen("fetch.data.items", {"items": [1]}, is_upstream=False) == [1]
    assert seen("fetch.items is defined", {"items": [1]}, is_upstream=False) is False


@pytest.mark.spec("UP-01")
def test_a_whole_payload_is_recorded_as_plain_data() -> None:
    engine = Engine(PLAYBOOK.replace("TEMPLATE", "fetch"), {"fetch": {"items": [1]}}, is_upstream=True)
    engine.start()
    engine.run()

    assert engine.status == "success"
    assert engine.state.output is not None
    assert engine.state.output["data"] == {"whole": {"seen": {"items": [1]}}}


FAN_OUT = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
workload: {is_b_wanted: true}
workflow:
  - step: start
    tool: {kind: noop}
    next:
      spec: {mode: inclusive}
      arcs: [{step: a}, {step: b, when: "{{ workload.is_b_wanted }}"}]
  - {step: a, tool: {kind: noop, input: {of: a}}, next: {arcs: [{step: longer}]}}
  - {step: longer, tool: {kind: noop, input: {of: longer}}, next: {arcs: [{step: meet}]}}
  - {step: b, tool: {kind: noop, input: {of: b}}, next: {arcs: [{step: meet}]}}
  - {step: meet, tool: {kind: noop, input: {seen: "{{ [longer.of, b.of] }}"}}}
"""


def fanned_out(text: str = FAN_OUT, **payload: object) -> Engine:
    engine = Engine(text, is_upstream=True)
    engine.start(dict(payload))
    engine.run()
    return engine


def runs_of(engine: Engine, step: str) -> int:
    return [event.step for event in engine.events("step.scheduled")].count(step)


@pytest.mark.spec("UP-05", "ST-11")
def test_where_branches_of_one_fan_out_meet_one_run_waits_for_all_of_them() -> None:
    engine = fanned_out()

    order = [event.step for event in engine.events("step.scheduled")]
    assert sorted(order[:-1]) == ["a", "b", "longer", "start"]
    assert order[-1] == "meet"
    assert engine.state.output is not None
    assert engine.state.output["data"] == {"seen": ["longer", "b"]}


@pytest.mark.spec("UP-05", "ST-11")
def test_a_join_that_is_implied_does_not_wait_for_a_branch_that_was_not_taken() -> None:
    engine = fanned_out(is_b_wanted=False)

    assert (engine.status, runs_of(engine, "meet"), runs_of(engine, "b")) == ("success", 1, 0)


@pytest.mark.spec("UP-05")
def test_a_join_that_is_implied_survives_a_crash_between_its_branches() -> None:
    engine = Engine(FAN_OUT, is_upstream=True)
    engine.start()
    engine.run(rounds=2)
    engine.crash()
    engine.run()

    assert (engine.status, runs_of(engine, "meet")) == ("success", 1)


@pytest.mark.spec("UP-05")
def test_an_exclusive_router_sends_one_token_and_nothing_joins() -> None:
    engine = fanned_out(FAN_OUT.replace("inclusive", "exclusive"))

    assert (engine.status, runs_of(engine, "b"), runs_of(engine, "meet")) == ("success", 0, 1)


UNMATCHED = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
workflow:
  - step: start
    tool:
      - name: fetch
        kind: http
        endpoint: http://127.0.0.1/
        spec: {policy: {ON_UNMATCHED rules: [{when: "{{ output.error.kind == 'rate_limit' }}", then: {do: retry}}]}}
      - {name: after, kind: noop}
"""


@pytest.mark.spec("UP-08")
@pytest.mark.parametrize(
    ("answer", "on_unmatched", "status", "labels"),
    [
        (failure("not_found", "no"), "", "failed", ["fetch"]),
        (Output(data=1), "", "success", ["fetch", "after"]),
        (failure("not_found", "no"), "on_unmatched: continue,", "success", ["fetch", "after"]),
    ],
)
def test_what_no_rule_matches_fails_on_error_and_goes_on_otherwise(
    answer: Output, on_unmatched: str, status: str, labels: list[str]
) -> None:
    engine = Engine(UNMATCHED.replace("ON_UNMATCHED", on_unmatched), {"fetch": answer}, is_upstream=True)
    engine.start()
    engine.run()

    assert engine.status == status
    assert [invocation.task.label for invocation in engine.invocations] == labels


LOOP = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
workflow:
  - step: each
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: "{{ [1, 2, 3] }}", iterator: n}
    tool: {kind: http, name: ask, endpoint: "http://127.0.0.1/{{ iter.n }}"}
    set: {ctx.of_step: "{{ output.TEMPLATE }}"}
    next: {arcs: [{step: end, set: {ctx.of_arc: "{{ output.TEMPLATE }}"}}]}
  - {step: end, tool: {kind: noop, input: {seen: "{{ each.TEMPLATE }}"}}}
"""


@pytest.mark.spec("UP-07")
@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("results", [{"n": 1}, None, {"n": 3}]),
        ("data", [{"n": 1}, None, {"n": 3}]),
        ("stats", {"total": 3, "success": 2, "failed": 1}),
        ("stats.failed", 1),
        ("status", "ok"),
    ],
)
def test_the_value_of_a_loop_answers_results_and_stats(template: str, expected: object) -> None:
    answers = {"ask": [{"n": 1}, failure("not_found", "no"), {"n": 3}]}
    engine = Engine(LOOP.replace("TEMPLATE", template), answers, is_upstream=True)
    engine.start()
    engine.run()

    assert engine.state.output is not None
    assert engine.state.output["data"] == {"seen": expected}
    assert engine.state.ctx == {"of_step": expected, "of_arc": expected}
