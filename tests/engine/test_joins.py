"""Synchronising merges: `admit.join: all` (ST-11)."""

import pytest

from noetl.engine.output import failure
from tests.engine.books import engine, ran

JOIN = """
    workflow:
      - step: start
        tool: {{kind: noop}}
        next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}
      - step: a
        tool: [{{name: in_a, kind: noop}}]
        next: {{arcs: [{{step: merge, args: {{a: 1, both: 1}}}}]}}
      - step: b
        tool: [{{name: in_b, kind: noop}}]
        next: {{arcs: [{{step: merge, args: {{b: 2, both: 2}}}}]}}
      - step: merge
        spec: {{policy: {{admit: {{join: all{admit}}}}}}}
        tool: [{{name: in_merge, kind: noop, input: {{data: "{{{{ output.data }}}}", args: "{{{{ input }}}}"}}}}]
"""
BOTH = "{step: a}, {step: b}"


def joined(arcs=BOTH, admit="", answers=None):
    return engine(JOIN.format(arcs=arcs, admit=admit), answers or {"in_a": "A", "in_b": "B"})


@pytest.mark.spec("ST-11")
@pytest.mark.parametrize("order", [(2, 3), (3, 2)], ids=["a first", "b first"])
def test_a_join_fires_once_when_no_token_elsewhere_can_still_come(order):
    made = joined()
    made.start()
    made.run_job(1, -1)
    made.run_job(order[0], -1)
    is_early = any(run.step == "merge" for run in made.state.runs.values())
    made.run_job(order[1], -1)

    [scheduled] = [event for event in made.events("step.scheduled") if event.step == "merge"]
    assert not is_early
    assert (sorted(scheduled.tokens), scheduled.is_join) == ([4, 5], True)


@pytest.mark.spec("ST-11", "RT-14")
def test_a_join_gets_a_mapping_of_source_step_to_data_and_all_args():
    made = joined()
    made.start()
    made.run()

    assert made.invocations[-1].input == {"data": {"a": "A", "b": "B"}, "args": {"a": 1, "b": 2, "both": 2}}
    assert made.status == "success"


@pytest.mark.spec("ST-11")
def test_without_a_join_every_token_fires_the_step():
    made = engine(JOIN.format(arcs=BOTH, admit="").replace("{admit: {join: all}}", "{}"))
    made.start()
    made.run()

    assert made.state.counts["merge"].runs == 2


@pytest.mark.spec("ST-11")
def test_a_join_does_not_wait_for_a_branch_that_was_not_taken():
    made = joined(arcs='{step: a, when: "{{ false }}"}, {step: b}')
    made.start()
    made.run()

    assert made.invocations[-1].input["data"] == {"b": "B"}


@pytest.mark.spec("ST-11")
def test_a_join_waits_for_a_branch_that_is_longer():
    made = ran(
        """
        workflow:
          - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: merge}]}}
          - {step: a, tool: {kind: noop}, next: {arcs: [{step: b}]}}
          - {step: b, tool: {kind: noop}, next: {arcs: [{step: merge}]}}
          - {step: merge, spec: {policy: {admit: {join: all}}}, tool: {kind: noop}}
        """
    )

    assert [event.step for event in made.events("step.scheduled")] == ["start", "a", "b", "merge"]


@pytest.mark.spec("ST-11")
def test_a_join_in_a_cycle_fires_once_for_each_round():
    made = ran(
        """
        workflow:
          - step: start
            tool: {kind: noop}
            next: {spec: {mode: inclusive}, arcs: [{step: a, args: {n: 1}}, {step: b, args: {n: 1}}]}
          - {step: a, tool: {kind: noop}, next: {arcs: [{step: merge}]}}
          - {step: b, tool: {kind: noop}, next: {arcs: [{step: merge}]}}
          - step: merge
            spec: {policy: {admit: {join: all}}}
            tool: {kind: noop}
            next:
              spec: {mode: inclusive}
              arcs:
                - {step: a, when: "{{ input.n < 3 }}", args: {n: "{{ input.n + 1 }}"}}
                - {step: b, when: "{{ input.n < 3 }}", args: {n: "{{ input.n + 1 }}"}}
        """
    )

    tokens = [len(event.tokens) for event in made.events("step.scheduled") if event.step == "merge"]
    assert tokens == [2, 2, 2]
    assert made.status == "success"


@pytest.mark.spec("ST-11", "ST-06")
def test_at_a_standstill_a_denied_token_that_could_reach_the_join_is_retired_first():
    body = JOIN.format(arcs=BOTH, admit="").replace(
        "- step: a\n", "- step: a\n        spec: {policy: {admit: {rules: [{else: {then: {allow: false}}}]}}}\n"
    )

    made = ran(body, {"in_b": "B"})

    names = made.names("step.waiting", "step.skipped")
    assert names == ["step.waiting", "step.skipped"]
    assert made.invocations[-1].input["data"] == {"b": "B"}
    assert made.status == "success"


@pytest.mark.spec("ST-11", "ST-06")
def test_a_join_waits_for_a_token_that_waits_for_a_signal():
    rules = '{on_deny: wait, rules: [{when: "{{ ctx.go }}", then: {allow: true}}, {else: {then: {allow: false}}}]}'
    body = JOIN.format(arcs=BOTH, admit="").replace(
        "- step: a\n", f"- step: a\n        spec: {{policy: {{admit: {rules}}}}}\n"
    )
    made = ran(body, {"in_a": "A", "in_b": "B"})
    before = made.status

    made.signal(go=True)
    made.run()

    assert before == "waiting"
    assert made.invocations[-1].input["data"] == {"a": "A", "b": "B"}


@pytest.mark.spec("ST-11")
def test_joins_that_wait_for_each_other_do_not_wait_for_ever():
    made = ran(
        """
        workflow:
          - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}}
          - step: left
            spec: {policy: {admit: {join: all}}}
            tool: {kind: noop}
            next: {arcs: [{step: right, when: "{{ not ctx.seen }}", set: {ctx.seen: true}}]}
          - step: right
            spec: {policy: {admit: {join: all}}}
            tool: {kind: noop}
            next: {arcs: [{step: left, when: "{{ not ctx.seen }}", set: {ctx.seen: true}}]}
        """
    )

    scheduled = [(event.step, len(event.tokens)) for event in made.events("step.scheduled")]
    assert scheduled == [("start", 1), ("left", 1), ("right", 2)]
    assert made.status == "success"


@pytest.mark.spec("ST-11", "ST-05")
def test_a_join_may_have_rules_too():
    made = joined(admit=', rules: [{when: "{{ input.b == 2 }}", then: {allow: false}}]')
    made.start()
    made.run()

    assert [event.step for event in made.events("step.skipped")] == ["merge", "merge"]
    assert made.status == "success"


@pytest.mark.spec("ST-11")
def test_a_branch_whose_failure_is_handled_elsewhere_does_not_block_the_join():
    body = JOIN.format(arcs=BOTH, admit="").replace(
        "next: {arcs: [{step: merge, args: {a: 1, both: 1}}]}",
        "next: {arcs: [{step: merge}, {step: mend, when: \"{{ event.name == 'step.failed' }}\"}]}",
    )
    body += "\n      - {step: mend, tool: {kind: noop}}\n"

    made = ran(body, {"in_a": failure("server_error", "no"), "in_b": "B"})

    merged = [one for one in made.invocations if one.task.label == "in_merge"]
    assert [one.input["data"] for one in merged] == [{"b": "B"}]
    assert made.status == "success"


@pytest.mark.spec("ST-11")
def test_a_join_fires_after_a_restart_in_the_middle():
    made = joined()
    made.start()
    made.run_job(1, -1)
    made.run_job(2, -1)
    made.crash()
    made.run()

    assert made.invocations[-1].input["data"] == {"a": "A", "b": "B"}
