"""The surface of document 003, read only where it is asked for, means what 003 says (PB-10)."""

import textwrap

import pytest
from hypothesis import given, settings

from noetl.dsl.check import check
from noetl.dsl.dialects.legacy import statuses
from noetl.dsl.dialects.nodetree import respelt_text
from noetl.dsl.nodes import plain
from noetl.expressions import parse
from noetl.tools.registry import declarations
from tests.dsl.front import HEAD
from tests.dsl.meaning import meaning
from tests.dsl.yaml_texts import texts

pytestmark = pytest.mark.spec("PB-10")


def step_of(body: str) -> dict:
    result = check(
        HEAD + "workflow:\n" + textwrap.indent(textwrap.dedent(body).strip(), "  ") + "\n",
        "t.yaml",
        declarations,
        is_legacy=True,
    )
    return plain(result.drafts[0].root)["workflow"][0]


def task_of(body: str) -> dict:
    return step_of("- step: a\n  tool:\n    - t:\n" + textwrap.indent(textwrap.dedent(body).strip(), " " * 8))["tool"][
        0
    ]


def rules_of(entries: str) -> list:
    return task_of(f"kind: http\nurl: https://x.y\neval: {entries}")["spec"]["policy"]["rules"]


DEFAULT_RULES = [
    {"when": "{{ output.status == 'error' }}", "then": {"do": "fail"}},
    {"else": {"then": {"do": "continue"}}},
]


def test_a_steps_when_is_its_admission():
    step = step_of('- { step: a, when: "{{ workload.a }}", tool: { kind: noop } }')

    assert step["spec"]["policy"]["admit"]["rules"] == [
        {"when": "{{ workload.a }}", "then": {"allow": True}},
        {"else": {"then": {"allow": False}}},
    ]
    assert "when" not in step


def test_a_steps_when_may_name_the_tokens_args():
    step = step_of('- { step: a, when: "{{ token.args.ready }}", tool: { kind: noop } }')

    assert step["spec"]["policy"]["admit"]["rules"][0]["when"] == "{{ input.ready }}"


def test_a_when_beside_a_spec_joins_its_policy():
    step = step_of(
        """
        - step: a
          spec: { timeout: 3, policy: { lifecycle: { timeout_s: 9 } } }
          when: "{{ true }}"
          tool: { kind: noop }
        """
    )

    assert list(step["spec"]["policy"]) == ["lifecycle", "admit"]
    assert step["spec"]["timeout"] == 3


@pytest.mark.parametrize("mode", ["exclusive", "inclusive"])
def test_a_list_of_arcs_is_a_router_with_the_steps_mode(mode):
    step = step_of(f"- {{ step: a, spec: {{ next_mode: {mode} }}, next: [{{ step: b }}, {{ step: c }}] }}")

    assert step == {"step": "a", "next": {"spec": {"mode": mode}, "arcs": [{"step": "b"}, {"step": "c"}]}}


def test_an_empty_list_of_arcs_ends_the_branch():
    assert step_of("- { step: a, tool: { kind: noop }, next: [] }") == {"step": "a", "tool": {"kind": "noop"}}


def test_a_mode_goes_to_a_router_that_is_one_already():
    step = step_of("- { step: a, spec: { next_mode: inclusive }, next: { arcs: [{ step: b }] } }")

    assert step == {"step": "a", "next": {"spec": {"mode": "inclusive"}, "arcs": [{"step": "b"}]}}


def test_eval_entries_are_rules():
    rules = rules_of(
        '[{ expr: "{{ iter.x }}", do: retry, attempts: 2, delay: 1 }, { else: { do: jump, to: t, set_ctx: { a: 1 } } }]'
    )

    assert rules == [
        {"when": "{{ iter.x }}", "then": {"do": "retry", "attempts": 2, "delay": 1}},
        {"else": {"then": {"do": "jump", "to": "t", "set": {"ctx.a": 1}}}},
    ]


@pytest.mark.parametrize("entries", ["[]", '[{ expr: "{{ iter.x }}", do: break }]'])
def test_without_an_else_an_error_fails_and_anything_else_goes_on(entries):
    assert rules_of(entries)[-2:] == DEFAULT_RULES


def test_a_backoff_that_does_not_grow_is_none():
    assert rules_of('[{ expr: "{{ true }}", do: retry, backoff: fixed }]')[0]["then"]["backoff"] == "none"


def test_writes_to_vars_and_shared_are_writes_to_the_step():
    rules = rules_of(
        "[{ else: { do: continue, set_vars: { a: 1 }, set_shared: { b: 2 }, set_ctx: { c: 3 }, set_iter: { d: 4 } } }]"
    )

    assert rules[0]["else"]["then"]["set"] == {"step.a": 1, "step.b": 2, "ctx.c": 3, "iter.d": 4}


def test_set_prev_stays_and_reaches_the_model(front):
    playbook = front.playbook(
        """
        workflow:
          - step: a
            tool:
              - t: { kind: noop, eval: [{ else: { do: continue, set_prev: "{{ outcome.result }}" } }] }
        """,
        is_legacy=True,
    )

    (rule,) = playbook.steps["a"].tasks[0].policy.rules
    assert rule.previous.parts.source == "{{ output.data }}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{{ vars.a.b }}", "{{ step.a.b }}"),
        (
            "{{ outcome.pg.message }} {{ outcome.py.exception }}",
            "{{ output.error.message }} {{ output.error.message }}",
        ),
        ("{{ outcome.status == 'success' }}", "{{ output.status == 'ok' }}"),
        ("{{ 'success' != outcome.status }}", "{{ 'ok' != output.status }}"),
        ('{{ outcome["status"] in ["success", "error"] }}', '{{ output["status"] in ["ok", "error"] }}'),
        ("{{ outcome.status not in ('success',) and vars.x }}", "{{ output.status not in ('ok',) and step.x }}"),
        ("{{ outcome.status }}", "{{ ('success' if output.status == 'ok' else output.status) }}"),
        ("{{ outcome.status == 'ok' }}", "{{ output.status == 'ok' }}"),
        ("{{ ctx.status == 'success' }}", "{{ ctx.status == 'success' }}"),
    ],
)
def test_names_and_words_of_003_are_those_of_today(old, new):
    task = task_of(f"kind: http\nurl: '{old.replace(chr(39), chr(39) * 2)}'")

    assert task["url"] == new


def test_code_is_not_a_template():
    assert task_of('kind: python\ncode: "{{ vars.x }}"')["code"] == "{{ vars.x }}"


EXPRESSIONS = [
    "outcome.status == 'success'",
    "'success' == outcome.status",
    "outcome.status != 'success'",
    "not outcome.status == 'success'",
    "outcome.status in ['success', 'x']",
    "outcome.status not in ['success', 'x']",
    "outcome.status ~ '!' == 'success!'",
    "'x' ~ outcome.status == 'xsuccess'",
    "outcome.status | upper == 'SUCCESS'",
    "(outcome.status) == ('success')",
    "outcome.status == 'success' | lower",
    "outcome.status in words",
    "outcome.status if outcome.status == 'error' else 'fine'",
    "{'s': outcome.status}['s']",
    "outcome.status == 'success' == true",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("status", ["success", "error"])
def test_an_expression_over_the_old_status_has_the_same_value_over_the_new_one(expression, status):
    old = f"{{{{ {expression} }}}}"
    new = respelt_text(old, statuses(old))
    now = "ok" if status == "success" else status
    words = ["success"]

    before = parse(old).evaluate({"outcome": {"status": status}, "words": words})
    after = parse(new).evaluate({"outcome": {"status": now}, "output": {"status": now}, "words": words})

    assert after == before


@pytest.mark.parametrize(
    "body",
    [
        '- { step: a, when: "{{ true }}", spec: { policy: { admit: { rules: [] } } }, tool: { kind: noop } }',
        "- { step: a, tool: { kind: noop, eval: {} } }",
        "- { step: a, tool: { kind: noop, eval: [{ do: continue }], spec: { policy: { rules: [] } } } }",
        "- { step: a, when: x, spec: [], tool: 3 }",
        "- { step: a, tool: { kind: noop, eval: [1, { else: 2 }, { expr: 3 }] }, next: [1, { step: [] }] }",
    ],
)
def test_what_is_not_as_003_has_it_is_left_and_refused(body):
    result = check(HEAD + "workflow:\n" + body, "t.yaml", declarations, is_legacy=True)

    assert not result.is_valid


@pytest.mark.spec("PB-09")
def test_nothing_of_it_is_read_unless_it_is_asked_for(front):
    body = 'workflow:\n- { step: a, when: "{{ true }}", tool: { kind: noop, eval: [] }, next: [{ step: a }] }'

    assert {"NL204", "NL315", "NL502"} <= set(front.codes(body))
    assert front.codes("workflow: [{ step: a, tool: { kind: noop } }]", is_legacy=True) == []


def test_each_construct_is_told_with_what_it_is_now(front):
    body = """
        workflow:
          - step: a
            when: "{{ vars.x }}"
            tool: [{ t: { kind: noop, eval: [{ else: { do: retry, backoff: fixed, set_vars: { x: 1 } } }] } }]
            next: [{ step: a }]
        """

    told = [finding.message for finding in front.check(body, is_legacy=True).findings if finding.code == "NL950"]

    assert told == [
        '"when" is now "spec.policy.admit.rules"',
        '"vars" is now "step"',
        '"eval" is now "spec.policy.rules"',
        '"backoff: fixed" is now "backoff: none"',
        '"set_vars" is now "set: { step.… }"',
        '"next: [ … ]" is now "next: { arcs: [ … ] }"',
    ]


def test_a_workbook_task_may_have_an_eval():
    policy = "spec: { policy: { rules: [{ else: { then: { do: break } } }] } }"
    caller = "workflow: [{ step: a, tool: { kind: workbook, task: w } }]"
    modern = f"{HEAD}workbook: {{ w: {{ kind: noop, {policy} }} }}\n{caller}"
    text = modern.replace(policy, "eval: [{ else: { do: break } }]")

    assert meaning(check(text, "t", declarations, is_legacy=True)) == meaning(check(modern, "t", declarations))


@settings(max_examples=150, deadline=None)
@given(texts())
def test_no_text_whatever_makes_it_fail(text):
    check("workflow:\n  - step: a\n" + text, "t.yaml", declarations, is_legacy=True, is_upstream=True)
    check(text, "t.yaml", declarations, is_legacy=True, is_upstream=True)
