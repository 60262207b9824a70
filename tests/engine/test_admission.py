"""Tokens at the gates of steps: admitted, denied, waiting, retired (ST-05, ST-06, ST-13, RT-09, RT-14)."""

import textwrap

import pytest

from noetl.engine.net import Net
from noetl.engine.output import failure
from noetl.engine.state import read, written
from noetl.references import Reference
from tests.engine.books import engine, ran

GATE = """
    workflow:
      - step: start
        tool: [{{name: first, kind: noop}}]
        next: {{arcs: [{{step: gated}}]}}
      - step: gated
        spec: {{policy: {{admit: {admit}}}}}
        tool: [{{name: inside, kind: noop}}]
"""
# A step beside the gate writes ctx.go later.
BESIDE = """
    workflow:
      - step: start
        tool: {{kind: noop}}
        next: {{spec: {{mode: inclusive}}, arcs: [{{step: gated}}, {{step: opener}}]}}
      - step: gated
        spec: {{policy: {{admit: {admit}}}}}
        tool: {{kind: noop}}
      - step: opener
        tool: {{kind: noop}}
        set: {{ctx.{written}: true}}
"""
WHEN_GO = """{rules: [{when: "{{ ctx.go }}", then: {allow: true}}, {else: {then: {allow: false}}}]}"""
WAIT_FOR_GO = WHEN_GO.replace("{rules", "{on_deny: wait, rules")


def gate(admit, **payload):
    return ran(GATE.format(admit=admit), **payload)


def is_admitted(made):
    return "gated" in [event.step for event in made.events("step.scheduled")]


@pytest.mark.spec("ST-05")
@pytest.mark.parametrize(
    ("rules", "is_open"),
    [
        ("[{when: true, then: {allow: false}}, {when: true, then: {allow: true}}]", False),
        ("[{when: true, then: {allow: true}}, {when: true, then: {allow: false}}]", True),
        ("[{when: false, then: {allow: false}}, {when: true, then: {allow: true}}]", True),
        ("[{when: false, then: {allow: true}}, {else: {then: {allow: false}}}]", False),
        ("[{when: false, then: {allow: false}}, {else: {then: {allow: true}}}]", True),
    ],
    ids=["first match denies", "first match allows", "second match", "else denies", "else allows"],
)
def test_rules_are_asked_from_the_top_and_the_first_match_decides(rules, is_open):
    made = gate(f"{{rules: {rules}}}")

    assert is_admitted(made) is is_open
    assert made.status == "success"


@pytest.mark.spec("ST-13")
def test_rules_without_a_match_and_without_an_else_allow():
    made = gate("{mode: inclusive, rules: [{when: false, then: {allow: false}}]}")

    assert is_admitted(made)


@pytest.mark.spec("ST-13")
@pytest.mark.parametrize("mode", ["exclusive", "inclusive"])
def test_the_mode_of_a_gate_changes_nothing(mode):
    made = gate(
        f"{{mode: {mode}, rules: [{{when: true, then: {{allow: true}}}}, {{else: {{then: {{allow: false}}}}}}]}}"
    )

    assert is_admitted(made)


@pytest.mark.spec("ST-05")
def test_a_step_without_rules_admits_every_token():
    made = ran(
        "workflow: [{step: start, tool: {kind: noop}, next: {arcs: [{step: end}]}}, {step: end, tool: {kind: noop}}]"
    )

    assert [event.step for event in made.events("step.scheduled")] == ["start", "end"]


@pytest.mark.spec("ST-05")
@pytest.mark.parametrize(
    "condition",
    [
        "workload.n == 3",
        "ctx.written == 'yes'",
        "input.given == 5",
        "args.given == 5",
        "execution_id == '1'",
        "event.name == 'step.done' and event.step == 'start' and event.status == 'success'",
        "event.step_run_id == '1:1' and event.event_id.startswith('1-')",
    ],
)
def test_a_gate_reads_workload_ctx_args_execution_id_and_event(condition):
    body = f"""
        workload: {{n: 0}}
        workflow:
          - step: start
            tool: {{kind: noop}}
            set: {{ctx.written: "yes"}}
            next: {{arcs: [{{step: gated, args: {{given: 5}}}}]}}
          - step: gated
            spec: {{policy: {{admit: {{rules: [{{when: "{{{{ {condition} }}}}", then: {{allow: true}}}},
                                         {{else: {{then: {{allow: false}}}}}}]}}}}}}
            tool: {{kind: noop}}
    """

    assert is_admitted(ran(body, n=3))


@pytest.mark.spec("ST-01", "ST-05", "RT-07")
def test_a_gate_is_asked_on_the_server_before_anything_of_the_step_runs():
    made = gate("{rules: [{when: false, then: {allow: true}}, {else: {then: {allow: false}}}]}")

    labels = [invocation.task.label for invocation in made.invocations]
    assert labels == ["first"]
    [waiting] = made.events("step.waiting")
    assert (waiting.lease, waiting.step, waiting.rule) == (0, "gated", 1)


@pytest.mark.spec("ST-06")
def test_a_denied_token_waits_and_is_asked_again_when_ctx_changes():
    made = ran(BESIDE.format(admit=WHEN_GO, written="go"))

    assert made.names("step.waiting", "step.skipped") == ["step.waiting"]
    assert [event.step for event in made.events("step.scheduled")] == ["start", "opener", "gated"]
    assert made.status == "success"


@pytest.mark.spec("ST-06")
def test_a_token_that_is_denied_again_says_so_once():
    made = ran(BESIDE.format(admit=WHEN_GO, written="other"))

    assert made.names("step.waiting", "step.skipped") == ["step.waiting", "step.skipped"]


@pytest.mark.spec("ST-06")
def test_a_denied_token_is_retired_when_nothing_else_can_run():
    made = gate(WHEN_GO)

    [skipped] = made.events("step.skipped")
    assert (skipped.step, skipped.token) == ("gated", 2)
    assert made.status == "success"
    assert made.state.counts["gated"].status == "skipped"


@pytest.mark.spec("ST-06")
def test_a_token_that_waits_for_a_signal_is_not_retired():
    made = gate(WAIT_FOR_GO)

    assert made.status == "waiting"
    assert made.names("step.skipped", "workflow.finished") == []


@pytest.mark.spec("ST-06")
def test_a_signal_that_does_not_open_the_gate_leaves_it_waiting():
    made = gate(WAIT_FOR_GO)

    made.signal(other=1)

    assert made.status == "waiting"
    assert len(made.events("step.waiting")) == 1


@pytest.mark.spec("ST-06")
@pytest.mark.parametrize("is_crashed", [False, True])
def test_a_signal_opens_the_gate_also_after_a_restart(is_crashed):
    made = gate(WAIT_FOR_GO)
    if is_crashed:
        made.crash()

    made.signal(go=True)
    made.run()

    assert made.status == "success"
    assert is_admitted(made)


@pytest.mark.spec("RT-11", "ST-05")
def test_a_gate_that_raises_fails_the_workflow():
    made = gate(
        """{rules: [{when: "{{ ctx.no.such.thing > 1 }}", then: {allow: true}}, {else: {then: {allow: false}}}]}"""
    )

    assert made.status == "failed"
    assert (made.state.error["kind"], made.state.error["step"]) == ("template", "gated")


@pytest.mark.spec("RT-05", "RT-11")
def test_a_gate_that_raises_stops_what_runs_beside_it():
    admit = """{rules: [{when: "{{ ctx.no.such.thing > 1 }}", then: {allow: true}}, {else: {then: {allow: false}}}]}"""
    made = engine(BESIDE.format(admit=admit, written="go"))
    made.start()

    made.run_job(1, -1)

    assert made.status == "failed"
    assert made.state.runs == {}


@pytest.mark.spec("ST-06")
def test_a_failure_elsewhere_retires_what_waits_for_a_signal():
    body = BESIDE.format(admit=WAIT_FOR_GO, written="x").replace(
        "step: opener\n        tool: {kind: noop}", "step: opener\n        tool: [{name: bad, kind: noop}]"
    )

    made = ran(body, {"bad": failure("server_error", "no")})

    assert made.status == "failed"
    assert [event.step for event in made.events("step.skipped")] == ["gated"]


@pytest.mark.spec("RT-09")
def test_tokens_of_one_partition_run_one_after_another():
    body = """
        workflow:
          - step: start
            tool: {kind: noop}
            next:
              spec: {mode: inclusive}
              arcs:
                - {step: work, spec: {partition: "{{ 'left' }}"}}
                - {step: work, when: "{{ true }}", spec: {partition: "{{ 'left' }}"}}
                - {step: work, when: "{{ 1 == 1 }}", spec: {partition: "{{ 'right' }}"}}
          - step: work
            tool: {kind: noop}
    """
    made = engine(body)
    made.start()
    made.run_job(1, -1)

    at_once = [run.partition for run in made.state.runs.values()]
    made.run()

    assert at_once == ["left", "right"]
    assert made.state.counts["work"].runs == 3
    assert made.status == "success"


@pytest.mark.spec("RT-09")
def test_the_priority_of_an_arc_is_added_to_that_of_its_step():
    body = """
        workflow:
          - step: start
            tool: {kind: noop}
            next:
              spec: {mode: inclusive}
              arcs:
                - {step: late, spec: {priority: 5}}
                - {step: soon, spec: {priority: -5}}
                - {step: plain}
          - {step: late, tool: {kind: noop}}
          - {step: soon, tool: {kind: noop}}
          - {step: plain, tool: {kind: noop}, spec: {priority: 3}}
    """

    made = ran(body)

    assert {event.step: event.priority for event in made.events("step.scheduled")} == {
        "start": 0,
        "late": 5,
        "soon": -5,
        "plain": 3,
    }


@pytest.mark.spec("RT-14", "PB-08")
def test_a_token_says_where_it_comes_from_and_what_it_brings():
    body = """
        workflow:
          - step: start
            tool: [{name: give, kind: noop}]
            next: {arcs: [{step: never, when: "{{ false }}"}, {step: gated, args: {n: 7}}]}
          - step: never
            tool: {kind: noop}
          - step: gated
            spec: {policy: {admit: {on_deny: wait, rules: [{else: {then: {allow: false}}}]}}}
            tool: {kind: noop}
    """

    made = ran(body, {"give": "data"})

    [token] = made.state.tokens.values()
    assert (token.step, token.args, token.output["data"]) == ("gated", {"n": 7}, "data")
    assert (token.source_step, token.source_run, token.arc) == ("start", 1, 1)
    assert token.event["event_id"] == f"1-{made.names().index('step.done') + 1}"
    assert (made.state.execution_id, made.state.path, made.state.version) == (1, "t", 1)


@pytest.mark.spec("RT-14")
def test_a_step_consumes_the_token_it_was_admitted_with():
    made = ran(
        "workflow: [{step: start, tool: {kind: noop}, next: {arcs: [{step: end}]}}, {step: end, tool: {kind: noop}}]"
    )

    assert [event.tokens for event in made.events("step.scheduled")] == [[1], [2]]
    assert made.state.tokens == {}


RAISES = """{rules: [{when: "{{ ctx.no.such.thing > 1 }}", then: {allow: true}}, {else: {then: {allow: false}}}]}"""
BEST_EFFORT = "executor: {spec: {policy: {failure: {mode: best_effort}}}}\n"


@pytest.mark.spec("RT-05", "RT-11")
def test_under_best_effort_a_gate_that_raises_lets_the_rest_finish():
    made = ran(BEST_EFFORT + textwrap.dedent(BESIDE.format(admit=RAISES, written="go")))

    assert (made.status, made.state.error["step"]) == ("failed", "gated")
    assert made.state.counts["opener"].status == "success"
    assert made.names("step.cancelled") == []


@pytest.mark.spec("RT-05", "RT-11")
def test_a_gate_that_raises_leaves_the_error_of_an_earlier_failure():
    made = ran(
        BEST_EFFORT
        + textwrap.dedent(
            f"""
            workflow:
              - step: start
                tool: {{kind: noop}}
                next: {{spec: {{mode: inclusive}}, arcs: [{{step: fails}}, {{step: beside}}]}}
              - {{step: fails, tool: [{{name: bad, kind: noop}}]}}
              - {{step: beside, tool: {{kind: noop}}, next: {{arcs: [{{step: gated}}]}}}}
              - step: gated
                spec: {{policy: {{admit: {RAISES}}}}}
                tool: {{kind: noop}}
            """
        ),
        {"bad": failure("server_error", "first")},
    )

    assert (made.status, made.state.error["message"]) == ("failed", "first")
    assert len(made.events("workflow.failing")) == 1


@pytest.mark.spec("ST-11")
def test_a_decision_that_moves_no_token_and_ends_no_run_asks_no_join():
    made = engine(
        """
        workflow:
          - step: start
            tool: {kind: noop}
            next: {spec: {mode: inclusive}, arcs: [{step: merge}, {step: many}]}
          - step: many
            loop: {in: [1, 2, 3], iterator: n, spec: {mode: sequential}}
            tool: {kind: noop}
            next: {arcs: [{step: merge}]}
          - step: merge
            spec: {policy: {admit: {join: all}}}
            tool: {kind: noop}
        """
    )
    made.net = CountingNet(made.playbook)
    made.start()
    made.run_job(1, -1)
    asked = made.net.asked

    made.run_job(2, 0)
    made.run_job(2, 1)

    assert asked > 0
    assert made.net.asked == asked
    assert made.run().status == "success"


class CountingNet(Net):
    """A net that counts how often a join was asked about."""

    asked = 0

    def sources(self, step):
        self.asked += 1
        return super().sources(step)


@pytest.mark.spec("RS-04", "EV-05")
def test_a_waiting_token_whose_sender_gave_a_stored_payload_can_be_kept_in_a_snapshot():
    made = engine(
        """
        workflow:
          - {step: start, tool: [{name: make, kind: noop}], next: {arcs: [{step: gated}]}}
          - step: gated
            spec:
              policy:
                admit:
                  on_deny: wait
                  rules:
                    - {when: "{{ event.payload.output.ref.locator == 'x' and ctx.go }}", then: {allow: true}}
                    - {else: {then: {allow: false}}}
            tool: {kind: noop}
        """,
        {"make": Reference(type="blob", locator="x").as_data()},
    )
    made.start()
    made.run()

    made.state = read(written(made.state))
    made.signal(go=True)
    made.run()

    assert made.status == "success"
