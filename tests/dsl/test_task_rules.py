"""Block 3: tasks, their fields, their policies; what is told, once, and what is left alone."""

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.dsl.check import check
from noetl.dsl.findings import Finding, apply_edits
from noetl.dsl.kinds import Field, Kind
from noetl.dsl.rules.nl320_workbook_cycle import circles
from noetl.dsl.rules.tool_fields import one_slip_away
from noetl.tools.registry import declarations
from tests.dsl.front import HEAD, Front


def indented(text: str, columns: int) -> str:
    return textwrap.indent(textwrap.dedent(text).strip("\n"), " " * columns)


def pipeline(tasks: str) -> str:
    """A playbook of one step with these tasks."""
    return f"workflow:\n  - step: start\n    tool:\n{indented(tasks, 6)}\n"


def ruled(rules: str, kind: str = "http", fields: str = "url: https://example.com") -> str:
    """A playbook of one task with these rules, and a task after it."""
    head = f"- name: fetch\n  kind: {kind}\n  {fields}\n  spec:\n    policy:\n      rules:\n"
    return pipeline(f"{head}{indented(rules, 8)}\n- name: last\n  kind: noop\n")


def beside(body: str, *keys: str) -> str:
    """The same with further keys of the policy."""
    return body.replace("            rules:\n", "".join(f"            {key}\n" for key in (*keys, "rules:")))


def told(front: Front, body: str, block: str = "NL3", **flags: bool) -> list[Finding]:
    return [finding for finding in front.check(body, **flags).findings if finding.code.startswith(block)]


def codes(front: Front, body: str, block: str = "NL3", **flags: bool) -> list[str]:
    return [finding.code for finding in told(front, body, block, **flags)]


def errors(front: Front, body: str, **flags: bool) -> list[str]:
    return [finding.code for finding in front.check(body, **flags).findings if finding.severity == "error"]


def fixed(body: str) -> str:
    """A body after every mechanical repair, until none is left."""
    text = HEAD + body
    for _ in range(10):
        text, repaired = apply_edits(text, check(text, "t.yaml", declarations).findings)
        if not repaired:
            break
    return text.removeprefix(HEAD)


# labels


@pytest.mark.spec("TK-02")
@pytest.mark.parametrize(
    ("tasks", "line"),
    [
        ("- {name: a, kind: noop}\n- {name: b, kind: noop}\n- {name: a, kind: noop}", 9),
        ("- a: {kind: noop}\n- a: {kind: noop}", 8),
        ("- {kind: noop}\n- {name: task_0, kind: noop}", 8),
        ("- {name: task_1, kind: noop}\n- {kind: noop}", 7),
    ],
)
def test_a_label_that_two_tasks_have_is_told_where_an_author_wrote_it(front: Front, tasks: str, line: int) -> None:
    findings = told(front, pipeline(tasks))

    assert [(finding.code, finding.place.line) for finding in findings] == [("NL302", line)]


@pytest.mark.spec("TK-02", "PB-06", "ST-12")
def test_steps_compensations_and_the_workbook_have_labels_of_their_own(front: Front) -> None:
    body = """
        workflow:
          - step: start
            spec: {policy: {compensation: {tool: [{name: a, kind: noop}]}}}
            tool: [{name: a, kind: noop}]
            next: {arcs: [{step: end}]}
          - step: end
            tool: [{name: a, kind: workbook, task: a}]
        workbook:
          a: {kind: noop}
        """

    assert codes(front, body) == []


@pytest.mark.spec("TP-06")
@pytest.mark.parametrize("name", ["ctx", "iter", "output", "outcome", "args", "_prev", "_key", "event"])
def test_a_task_cannot_be_named_like_a_scope(front: Front, name: str) -> None:
    found = told(front, pipeline(f'- {{name: "{name}", kind: noop}}'))

    assert [(one.code, one.severity) for one in found] == [("NL317", "error")]


@pytest.mark.spec("TP-06")
@pytest.mark.parametrize("name", ["loop", "range", "dict", "for", "set", "not", "none"])
def test_a_task_named_like_a_word_of_templates_is_worth_a_word_but_no_error(front: Front, name: str) -> None:
    found = told(front, pipeline(f'- {{name: "{name}", kind: noop}}'))

    assert [(one.code, one.severity) for one in found] == [("NL317", "info")]


@pytest.mark.spec("TK-01")
@pytest.mark.parametrize("name", ["5", "true", "[a]", '""', '" "', "~", "a" * 201, '"a\\nb"', '"a\\u0000b"'])
def test_what_cannot_be_the_name_of_a_task_is_refused(front: Front, name: str) -> None:
    found = told(front, pipeline(f"- {{name: {name}, kind: noop}}"))

    assert [(one.code, one.severity) for one in found] == [("NL325", "error")]


@pytest.mark.spec("TK-01", "TP-06")
@pytest.mark.parametrize(
    ("name", "severity"),
    [("a b", "info"), ("1a", "info"), ("a.b", "info"), ("fetch-page", "info"), ('"{{ ctx.x }}"', "warning")],
)
def test_a_task_that_no_template_can_read_is_worth_a_word_but_no_error(front: Front, name: str, severity: str) -> None:
    found = told(front, pipeline(f"- {{name: {name}, kind: noop}}"))

    assert [(one.code, one.severity) for one in found] == [("NL325", severity)]


def test_a_workbook_task_may_have_any_name_of_one_line(front: Front) -> None:
    body = pipeline("- {kind: workbook, task: send note}") + "workbook:\n  send note: {kind: noop}\n"

    assert codes(front, body) == []


@pytest.mark.spec("TK-01")
@pytest.mark.parametrize("name", ["a", "_a1", "Fetch_2", "ä", "étape", "a" * 200])
def test_a_word_is_a_good_name(front: Front, name: str) -> None:
    assert codes(front, pipeline(f"- {{name: {name}, kind: noop}}")) == []


# kinds


@pytest.mark.spec("TL-01")
def test_every_built_in_kind_is_known() -> None:
    wanted = {"http", "postgres", "duckdb", "python", "secrets", "playbook", "workbook", "noop", "script", "resolve"}

    assert wanted | {"shell"} <= set(declarations)


@pytest.mark.spec("TL-03", "RS-05")
@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("htpp", '"http"'),
        ("sink", "kind: postgres"),
        ("loop", "loop: { in: …"),
        ("pipe", "tool list"),
        ("eval", "spec.policy.rules"),
        ("psql", "kind: postgres"),
        ("quantum", "use one of these kinds"),
    ],
)
def test_an_unknown_kind_comes_with_what_to_write(front: Front, kind: str, word: str) -> None:
    (finding,) = told(front, pipeline(f"- {{name: a, kind: {kind}, whatever: 1}}"))

    assert (finding.code, word in finding.fix) == ("NL303", True)


@pytest.mark.spec("TL-02")
def test_a_plugin_s_kind_is_checked_by_its_own_declaration() -> None:
    quantum = Kind(
        name="quantum",
        summary="Runs a circuit.",
        fields=(
            Field(name="shots", types=("integer",), required=True, minimum=1),
            Field(name="eval"),
            Field(name="pipe"),
        ),
    )
    body = HEAD + pipeline(
        "- {name: a, kind: quantum, shots: 0, eval: x, pipe: y}\n- {name: b, kind: quantum, circuit: c}"
    )

    result = check(body, "t.yaml", {**declarations, "quantum": quantum})

    assert [finding.code for finding in result.findings] == ["NL305", "NL306", "NL304"]


# fields


@pytest.mark.spec("TK-11")
def test_input_may_hold_names_of_the_author_s_own_and_a_task_may_not(front: Front) -> None:
    inside = pipeline('- {name: a, kind: http, url: "https://x/{{ input.page }}", input: {page: 1}}')
    beside = pipeline("- {name: a, kind: http, url: https://x, page: 1}")

    assert codes(front, inside) == []
    assert codes(front, beside) == ["NL304"]


@pytest.mark.spec("TK-11")
@pytest.mark.parametrize(
    ("task", "severities"),
    [
        ("{kind: http, input: {url: https://x, parms: {}}}", ["warning"]),
        ('{kind: http, input: {url: "https://x/{{ input.parms }}", parms: {}}}', []),
        ("{kind: http, input: {url: https://x, forms: {}}}", []),
        ("{kind: python, input: {code: 'result = input[\"lib\"]', lib: 1}}", []),
        ("{kind: python, input: {code: 'result = cod', cod: 1}}", []),
        ("{kind: http, input: {url: https://x, params: {}, parms: {}}}", []),
    ],
)
def test_a_slip_under_input_is_a_warning_unless_something_reads_it(
    front: Front, task: str, severities: list[str]
) -> None:
    assert [finding.severity for finding in told(front, pipeline(f"- {task}"))] == severities


@pytest.mark.parametrize(
    ("word", "name", "is_slip"),
    [
        ("parms", "params", True),
        ("prams", "params", True),
        ("parmas", "params", True),
        ("paramz", "params", True),
        ("param", "params", False),
        ("parameters", "params", False),
        ("url", "url", False),
        ("ab", "cb", False),
    ],
)
def test_a_slip_is_one_letter_more_less_other_or_swapped(word: str, name: str, is_slip: bool) -> None:
    assert one_slip_away(word, name) is is_slip


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize(
    "field",
    [
        "params: [1]",
        "params: 1",
        "headers:",
        "method: SEND",
        "url: {a: 1}",
        "url: 8080",
        "body: true",
    ],
)
def test_a_field_of_the_wrong_type_is_told_before_the_run(front: Front, field: str) -> None:
    url = "" if field.startswith("url") else "\n  url: https://x"

    assert codes(front, pipeline(f"- name: a\n  kind: http\n  {field}{url}")) == ["NL305"]


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize(
    "field",
    ['params: "{{ ctx.params }}"', "json: [1]", "json: null", "json: 5", 'method: "{{ ctx.method }}"', "method: POST"],
)
def test_a_template_or_an_open_field_may_be_anything(front: Front, field: str) -> None:
    assert codes(front, pipeline(f"- name: a\n  kind: http\n  url: https://x\n  {field}")) == []


@pytest.mark.spec("TL-03", "UP-04")
def test_a_choice_in_another_case_is_repaired_and_only_a_warning_for_the_public_noetl(front: Front) -> None:
    body = pipeline("- {name: a, kind: http, url: https://x, method: post}")

    assert errors(front, body) == ["NL305"]
    assert errors(front, body, is_upstream=True) == []
    assert fixed(body) == body.replace("post", "POST")


@pytest.mark.spec("TL-03")
def test_a_number_where_text_is_wanted_is_repaired_with_quotes() -> None:
    before = pipeline("- {name: a, kind: nats, operation: fetch, stream: 2024, limit: 5}")

    assert fixed(before) == before.replace("2024", '"2024"')


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("{name: a, kind: http}", ["NL306"]),
        ("{name: a, kind: http, ulr: https://x}", ["NL304"]),
        ("{name: a, kind: http, input: {ulr: https://x}}", ["NL306"]),
        ("{name: a, kind: postgres, command: SELECT 1}", ["NL306"]),
        ("{name: a, kind: nats, operation: kv_keys, bucket: b}", ["NL306"]),
        ("{name: a, kind: duckdb}", ["NL306"]),
        ("{name: a, kind: duckdb, comand: SELECT 1}", ["NL304"]),
        ("{name: a, kind: duckdb, command: SELECT 1, query: SELECT 1}", ["NL307"]),
        ("{name: a, kind: duckdb, command: SELECT 1, input: {query: SELECT 1}}", ["NL307"]),
        ("{name: a, kind: http, url: https://x, input: {url: https://x}}", ["NL307"]),
        ("{name: a, kind: python, script: a.py}", []),
        ("{name: a, kind: transfer, source: {}, target: {}, mode: upsert}", []),
    ],
)
def test_a_missing_or_double_field_is_told_once(front: Front, task: str, expected: list[str]) -> None:
    assert codes(front, pipeline(f"- {task}")) == expected


@pytest.mark.spec("PB-12")
def test_knobs_and_conditions_on_a_task_are_left_to_their_own_rules(front: Front) -> None:
    body = pipeline('- {name: a, kind: http, url: https://x, timeout: 5, verify: false, if: "{{ ctx.a }}", do: fail}')

    assert codes(front, body) == []
    assert {"NL126", "NL127", "NL209"} <= set(front.codes(body))


def test_a_label_with_its_task_beside_it_is_repaired_to_a_name() -> None:
    before = pipeline("- fetch:\n  kind: http\n  url: https://x\n")

    assert "      - name: fetch\n        kind: http\n" in fixed(before)


def test_fields_of_an_unknown_kind_are_not_judged(front: Front) -> None:
    assert codes(front, pipeline("- {name: a, kind: nothing_known, x: 1, y: [2]}")) == ["NL303"]


# shapes of tool and policy


@pytest.mark.spec("TK-01", "DI-04")
@pytest.mark.parametrize(
    "tool",
    [
        "tool: {kind: noop}",
        "tool: [{name: a, kind: noop}]",
        "tool: [{kind: noop}, {kind: noop}]",
        "tool: [{a: {kind: noop}}]",
    ],
)
def test_each_shape_of_tool_is_accepted(front: Front, tool: str) -> None:
    assert codes(front, f"workflow:\n  - step: start\n    {tool}\n") == []


@pytest.mark.spec("TK-01")
@pytest.mark.parametrize(
    "tool",
    [
        "tool:",
        "tool: http",
        "tool: 5",
        "tool: []",
        "tool: [fetch]",
        "tool: [[{kind: noop}]]",
        "tool: {url: https://x}",
        "tool: [{name: a, url: https://x}]",
        "tool: [{name: a, kind: }]",
        "tool: [{name: a, kind: 5}]",
        "tool: {a: {kind: noop}, b: {kind: noop}}",
        "tool: [{a: {kind: noop}, b: {kind: noop}}]",
    ],
)
def test_any_other_shape_of_tool_is_told_once(front: Front, tool: str) -> None:
    assert errors(front, f"workflow:\n  - step: start\n    {tool}\n") == ["NL318"]


@pytest.mark.spec("TK-17")
@pytest.mark.parametrize(
    "sugar",
    [
        "choose: []",
        "choose: 5",
        "choose: [{then: {tool: {kind: noop}}}]",
        'choose: [{when: "{{ ctx.a }}"}]',
        'choose: [{when: "{{ ctx.a }}", then: {}}]',
        'choose: [{when: "{{ ctx.a }}", then: {tool: noop}}]',
        'choose: [{else: {then: {tool: {kind: noop}}}}, {when: "{{ ctx.a }}", then: {tool: {kind: noop}}}]',
        "while: {tool: {kind: noop}}",
        'while: {when: "{{ ctx.a }}"}',
        'while: {when: "{{ ctx.a }}", tool: {kind: noop}, max: 5}',
        'until: "{{ ctx.a }}"',
        'while: {when: "{{ ctx.a }}", tool: {kind: noop}}\n  kind: noop',
    ],
)
def test_sugar_that_is_not_whole_is_told_once(front: Front, sugar: str) -> None:
    assert codes(front, pipeline(f"- name: a\n  {sugar}")) == ["NL318"]


@pytest.mark.spec("TK-17")
def test_sugar_alone_under_tool_and_in_the_workbook_is_told(front: Front) -> None:
    alone = 'tool: {while: {when: "{{ ctx.a }}", tool: {kind: noop}}}'
    body = f"workflow:\n  - step: start\n    {alone}\nworkbook:\n  a: {{choose: []}}\n"

    assert codes(front, body) == ["NL318", "NL318"]


@pytest.mark.spec("TK-05", "AC-1")
@pytest.mark.parametrize(
    "policy",
    [
        "policy: retry",
        "policy:",
        "policy: []",
        'policy: [{when: "{{ ctx.a }}", then: {do: fail}}]',
        "policy: {}",
        "policy: {rule: [{else: {then: {do: fail}}}]}",
        "policy: {on_unmatched: fail}",
        "policy: {rules: }",
        "policy: {rules: []}",
        "policy: {rules: {else: {then: {do: fail}}}}",
        "policy: {rules: [continue]}",
        "policy: {rules: [{then: {do: fail}}]}",
        "policy: {rules: [{else: {then: fail}}]}",
        "policy: {rules: [{else: {then: }}]}",
        "policy: {rules: [{else: }]}",
        "policy: {rules: [{else: {}}]}",
        "policy: {rules: [{else: fail}]}",
        "policy: {rules: [{else: {do: fail}}]}",
        'policy: {rules: [{when: "{{ ctx.a }}", else: {then: {do: fail}}}]}',
        'policy: {rules: [{else: {then: {do: fail}}}, {when: "{{ ctx.a }}", then: {do: fail}}]}',
        'policy: {rules: [{when: "{{ ctx.a }}"}, {else: {then: {do: fail}}}]}',
    ],
)
def test_a_policy_of_another_shape_is_told_once(front: Front, policy: str) -> None:
    found = front.check(pipeline(f"- name: a\n  kind: noop\n  spec:\n    {policy}")).findings

    assert [finding.code for finding in found] == ["NL308"]


@pytest.mark.spec("TK-05")
def test_an_empty_list_of_rules_is_a_warning(front: Front) -> None:
    body = pipeline("- name: a\n  kind: noop\n  spec: {policy: {rules: []}}")

    assert [(one.code, one.severity) for one in front.check(body).findings] == [("NL308", "warning")]
    assert front.playbook(body).steps


@pytest.mark.spec("TK-05", "UP-04")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "policy:\n  - when: true\n    then: {do: fail}\n  - else: {then: {do: fail}}",
            "policy:\n  rules:\n  - when: true\n    then: {do: fail}\n  - else: {then: {do: fail}}",
        ),
        ("policy: [{else: {then: {do: fail}}}]", "policy: { rules: [{else: {then: {do: fail}}}] }"),
        ("policy: {rules: [{else: {do: fail}}]}", "policy: {rules: [{else: { then: {do: fail} }}]}"),
        ("policy: {rules: [{else: fail}]}", "policy: {rules: [{else: { then: { do: fail } }}]}"),
        (
            "policy:\n  rules:\n    - else:\n        do: continue\n        # why\n\n        set:\n          ctx.a: |\n"
            "            one\n              two\n  on_unmatched: continue",
            "policy:\n  rules:\n    - else:\n        then:\n          do: continue\n          # why\n\n          set:\n"
            "            ctx.a: |\n              one\n                two\n  on_unmatched: continue",
        ),
        (
            "policy:\n  rules:\n    - else:\n      then:\n        do: continue",
            "policy:\n  rules:\n    - else:\n        then:\n          do: continue",
        ),
    ],
)
def test_a_policy_is_repaired_without_touching_its_neighbours(before: str, after: str) -> None:
    def whole(policy: str) -> str:
        task = f"- name: a\n  kind: noop\n  spec:\n{indented(policy, 4)}\n- name: b\n  kind: noop"
        return pipeline(task)

    assert fixed(whole(before)) == whole(after)


@pytest.mark.spec("TK-05")
def test_a_repair_keeps_the_line_breaks_of_the_file() -> None:
    before = pipeline("- name: a\n  kind: noop\n  spec:\n    policy:\n      - else: {then: {do: fail}}").replace(
        "\n", "\r\n"
    )

    assert "policy:\r\n            rules:\r\n            - else" in fixed(before)


# rules


@pytest.mark.spec("TK-05", "AC-1")
@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("{}", ["NL310"]),
        ("{do: }", ["NL310"]),
        ("{to: last}", ["NL310"]),
        ("{action: fail}", ["NL310"]),
        ("{fail: true}", ["NL310"]),
        ("{do: stop}", ["NL311"]),
        ("{do: 5}", ["NL311"]),
        ("{do: [fail]}", ["NL311"]),
        ('{do: "{{ ctx.do }}"}', ["NL311"]),
        ("{do: retry, attempt: 3}", ["NL309"]),
        ("{do: fail, message: no}", ["NL309"]),
        ("{do: fail, set_prev: 1}", ["NL309"]),
        ("{do: jump}", ["NL312"]),
        ("{do: jump, to: }", ["NL312"]),
        ('{do: jump, to: ""}', ["NL312"]),
        ("{do: jump, to: nowhere}", ["NL301"]),
        ("{do: fail, to: last}", ["NL312"]),
        ("{do: fail, attempts: 3, delay: 1}", ["NL312", "NL312"]),
        ("{do: retry, attempts: 3, backoff: linear, delay: 1, max_delay: 9, jitter: true}", []),
        ("{do: jump, to: last}", []),
        ("{do: fail}", []),
    ],
)
def test_what_a_rule_does_is_told_once(front: Front, then: str, expected: list[str]) -> None:
    assert errors(front, ruled(f"- else: {{then: {then}}}")) == expected


@pytest.mark.spec("TK-07")
@pytest.mark.parametrize("directive", ["continue", "retry", "break", "fail", "skip"])
def test_every_directive_is_known(front: Front, directive: str) -> None:
    assert "NL311" not in codes(front, ruled(f"- else: {{then: {{do: {directive}}}}}"))


@pytest.mark.spec("TK-07")
@pytest.mark.parametrize(
    ("written", "ours"), [("goto", "jump"), ("raise", "fail"), ("FAIL", "fail"), ("Continue", "continue")]
)
def test_a_directive_that_is_certain_is_repaired(written: str, ours: str) -> None:
    before = ruled(f"- else: {{then: {{do: {written}, to: last}}}}")

    assert f"do: {ours}" in fixed(before)


def test_keys_that_belong_into_then_are_told_so(front: Front) -> None:
    body = ruled("- when: \"{{ output.status == 'error' }}\"\n  then: {do: fail}\n  set: {ctx.a: 1}")

    (finding, *_) = told(front, body)

    assert (finding.code, finding.fix) == ("NL309", "set belongs into then")


def test_a_directive_beside_its_condition_is_left_to_its_own_rule(front: Front) -> None:
    body = ruled("- when: true\n  do: retry\n  attempts: 3\n- else: {then: {do: fail}}")

    assert errors(front, body) == ["NL209"]


@pytest.mark.spec("PB-10")
def test_set_prev_is_known_under_legacy_only(front: Front) -> None:
    body = """
        workflow:
          - step: start
            tool:
              - fetch:
                  kind: http
                  url: https://x
                  eval:
                    - else: {do: continue, set_prev: 1}
        """

    assert errors(front, body, is_legacy=True) == []
    assert errors(front, body) == ["NL315"]


# what happens to an error


FAIL = "- when: \"{{ output.status == 'error' }}\"\n  then: {do: fail}\n"
SOME = "- when: \"{{ output.status == 'error' and output.http.status == 429 }}\"\n  then: {do: retry}\n"
GO_ON = "- else: {then: {do: continue}}"


@pytest.mark.spec("TK-06")
@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (GO_ON, ["NL314"]),
        (SOME + GO_ON, ["NL314"]),
        (SOME, ["NL314"]),
        ("- else: {then: {do: break}}", ["NL314"]),
        ("- else: {then: {do: jump, to: last}}", ["NL314"]),
        ("- else: {then: {do: skip}}", ["NL314"]),
        ('- when: "{{ output.data.ok }}"\n  then: {do: break}', ["NL314"]),
        ("- when: true\n  then: {do: continue}", ["NL314"]),
        ("- when: \"{{ output.status == 'ok' }}\"\n  then: {do: continue}", ["NL314"]),
        (FAIL, ["NL313"]),
        (FAIL + GO_ON, []),
        (SOME + FAIL + GO_ON, []),
        ("- else: {then: {do: fail}}", []),
        ("- else: {then: {do: retry}}", []),
        ("- when: \"{{ output.status != 'ok' }}\"\n  then: {do: continue}\n" + GO_ON, []),
        ("- when: \"{{ output.status == 'ok' }}\"\n  then: {do: continue}\n- else: {then: {do: fail}}", []),
        ('- when: "{{ output.error }}"\n  then: {do: continue}\n' + FAIL + GO_ON, []),
        ("- when: true\n  then: {do: skip}", []),
    ],
)
def test_an_error_that_goes_on_unnamed_is_a_warning(front: Front, rules: str, expected: list[str]) -> None:
    found = [finding for finding in told(front, ruled(rules)) if finding.code != "NL321"]

    assert [finding.code for finding in found] == expected
    assert {finding.severity for finding in found} <= {"warning"}


@pytest.mark.spec("TK-06")
@pytest.mark.parametrize(
    "watcher",
    [
        "- name: look\n  kind: noop\n  spec: {policy: {rules: [{when: \"{{ fetch.status == 'ok' }}\","
        " then: {do: break}}, {else: {then: {do: fail}}}]}}",
        '- name: look\n  kind: noop\n  input: {why: "{{ fetch.error.kind }}"}',
    ],
)
def test_an_error_that_a_later_task_looks_at_is_meant(front: Front, watcher: str) -> None:
    body = ruled(GO_ON) + indented(watcher, 6)

    assert codes(front, body) == []


@pytest.mark.spec("TK-06")
def test_an_error_that_is_kept_or_that_the_router_looks_at_is_meant(front: Front) -> None:
    kept = ruled("- else: {then: {do: continue, set: {step.is_ok: \"{{ output.status == 'ok' }}\"}}}")
    routed = """
        workflow:
          - step: start
            tool: {kind: http, url: https://x, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}
            next: {arcs: [{step: end, when: "{{ output.status == 'error' }}"}]}
          - step: end
            tool: {kind: noop}
        """

    assert codes(front, kept) == []
    assert codes(front, routed) == []


@pytest.mark.spec("TK-06", "TK-16")
def test_on_unmatched_fail_swallows_nothing_and_a_noop_cannot_fail(front: Front) -> None:
    failing = beside(ruled('- when: "{{ output.data.ok }}"\n  then: {do: continue}'), "on_unmatched: fail")

    assert codes(front, failing) == []
    assert codes(front, ruled(GO_ON, kind="noop", fields="input: {}")) == []


def test_rules_whose_condition_is_a_fault_of_its_own_are_not_judged(front: Front) -> None:
    assert codes(front, ruled("- when: output.ok\n  then: {do: break}")) == []
    assert codes(front, ruled('- when: "{{ output. }}"\n  then: {do: break}')) == []


@pytest.mark.spec("TK-06", "TK-16")
def test_on_unmatched_beside_an_else_that_says_the_same_is_harmless(front: Front) -> None:
    assert codes(front, beside(ruled(FAIL + GO_ON), "on_unmatched: continue")) == []
    assert codes(front, beside(ruled(FAIL + GO_ON), "on_unmatched: fail")) == ["NL326"]


@pytest.mark.spec("TK-16")
def test_empty_hooks_are_accepted_and_filled_ones_are_told_to_do_nothing(front: Front) -> None:
    assert codes(front, beside(ruled(FAIL + GO_ON), "before: []", "after: []", "finally: []", "mode: exclusive")) == []
    assert codes(front, beside(ruled(FAIL + GO_ON), "before: [{kind: noop}]")) == ["NL327"]


# ways through a pipeline


@pytest.mark.spec("TK-07", "TK-09")
def test_a_task_that_nothing_leads_to_is_told_with_the_way_before_it(front: Front) -> None:
    body = pipeline("""
        - {name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: d}}}]}}}
        - {name: b, kind: noop}
        - {name: c, kind: noop}
        - {name: d, kind: noop}
        """)

    (finding,) = told(front, body)

    assert finding.code == "NL321"
    assert finding.why == 'no jump in step "start" names it, and "a" before it always leaves: jump'


@pytest.mark.spec("TK-09", "TK-17")
def test_what_sugar_generates_is_never_called_unreachable_or_endless(front: Front) -> None:
    body = pipeline("""
        - name: route
          choose:
            - when: "{{ ctx.a }}"
              then: {tool: {name: one, kind: noop, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}}
            - else: {then: {tool: {name: two, kind: noop}}}
        - name: pages
          while:
            when: "{{ step.more }}"
            tool: {name: page, kind: http, url: https://x, set: {step.more: "{{ output.data.more }}"}}
        - name: poll
          until:
            when: "{{ output.data.done }}"
            tool: {name: ask, kind: http, url: https://x}
        """)

    assert codes(front, body) == []


@pytest.mark.spec("RT-10", "TK-09")
@pytest.mark.parametrize(
    ("tasks", "path"),
    [
        ("- {name: a, kind: noop}\n- {name: b, kind: noop, spec: {policy: {rules: [RULE]}}}", "a → b → a"),
        ("- {name: a, kind: http, url: https://x, spec: {policy: {rules: [RULE]}}}", "a → a"),
        (
            "- {name: a, kind: http, url: https://x, set: {iter.page: 1}}\n"
            "- {name: b, kind: noop, spec: {policy: {rules: [RULE]}}}",
            "a → b → a",
        ),
    ],
)
def test_a_circle_that_changes_nothing_it_looks_at_is_told_with_its_path(front: Front, tasks: str, path: str) -> None:
    rule = '{when: "{{ ctx.more }}", then: {do: jump, to: a}}, {else: {then: {do: fail}}}'

    found = [finding for finding in told(front, pipeline(tasks.replace("RULE", rule))) if finding.code == "NL322"]

    assert [finding.why.split(":")[0] for finding in found] == [path]


@pytest.mark.spec("RT-10", "TK-08")
@pytest.mark.parametrize(
    ("when", "is_endless"),
    [
        ("output.data.more", False),
        ("a.data.more", False),
        ("_prev.more", False),
        ("ctx.page < 5", False),
        ("ctx", False),
        ("ctx.page.number < 5", False),
        ("ctx.pages", True),
        ("workload.more", True),
        ("_attempt < 3", True),
    ],
)
def test_a_circle_goes_round_anew_when_a_round_changes_what_it_looks_at(
    front: Front, when: str, is_endless: bool
) -> None:
    body = "workload: {more: true}\n" + pipeline(f"""
        - {{name: a, kind: http, url: https://x}}
        - name: b
          kind: noop
          spec:
            policy:
              rules:
                - when: "{{{{ {when} }}}}"
                  then: {{do: jump, to: a, set: {{ctx.page: "{{{{ (ctx.page | default(0)) + 1 }}}}"}}}}
                - else: {{then: {{do: break}}}}
        """)

    assert ("NL322" in codes(front, body)) is is_endless


@pytest.mark.spec("LP-06")
def test_paging_as_the_documents_print_it_is_not_endless(front: Front) -> None:
    body = pipeline("""
        - {name: init, kind: noop, set: {step.page: 1}}
        - name: fetch
          kind: http
          url: https://x
          set: {step.has_more: "{{ output.data.has_more }}"}
        - name: paginate
          kind: noop
          spec:
            policy:
              rules:
                - when: "{{ step.has_more }}"
                  then: {do: jump, to: fetch, set: {step.page: "{{ step.page + 1 }}"}}
                - else: {then: {do: break}}
        """)

    assert codes(front, body) == []


# removed constructs, workbook, credentials


@pytest.mark.spec("PB-09", "AC-9")
@pytest.mark.parametrize(
    "step",
    [
        "pipe: [{name: a, kind: noop}]\n    next: {arcs: [{step: start}]}",
        "tool: {pipe: [{name: a, kind: noop}]}",
        "tool: [{name: a, pipe: [{kind: noop}]}]",
        "tool: [{name: a, kind: noop, pipe: [{kind: noop}]}]",
    ],
)
def test_a_pipe_is_refused_once_wherever_it_stands(front: Front, step: str) -> None:
    assert errors(front, f"workflow:\n  - step: start\n    {step}\n") == ["NL316"]


@pytest.mark.spec("PB-09", "PB-10")
def test_an_eval_block_is_refused_once_with_its_modern_form_filled_in(front: Front) -> None:
    body = pipeline("""
        - name: a
          kind: http
          url: https://x
          eval:
            - {expr: "{{ output.status == 'error' }}", do: retry, attempts: 3, set_iter: {page: 1}}
            - {else: {do: continue}}
        """)

    (finding,) = (one for one in front.check(body).findings if one.severity == "error")

    assert finding.code == "NL315"
    assert """{ when: "{{ output.status == 'error' }}", then: { do: retry, attempts: 3, set: { … } } }""" in finding.fix


@pytest.mark.spec("PB-06")
def test_a_workbook_task_is_called_by_its_name_from_anywhere(front: Front) -> None:
    body = """
        workflow:
          - step: start
            tool: [{kind: workbook, task: a}, {kind: workbook, input: {task: b, x: 1}}, {kind: workbook, task: c}]
        workbook:
          a: {kind: workbook, task: b}
          b: {kind: noop}
        """

    assert codes(front, body) == ["NL319"]


@pytest.mark.spec("PB-06")
@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ({"a": "b"}, []),
        ({"a": "a"}, [["a"]]),
        ({"c": "a", "a": "b", "b": "a"}, [["a", "b"]]),
        ({"b": "a", "a": "b", "d": "d"}, [["b", "a"], ["d"]]),
        ({str(number): str(number + 1) for number in range(5000)}, []),
    ],
)
def test_circles_of_calls_are_found_once_each(calls: dict[str, str], found: list[list[str]]) -> None:
    assert circles(calls) == found


KEYCHAIN = "keychain: [{name: pg, kind: postgres_credential}]\nworkload: {good: pg, bad: gone}\n"


@pytest.mark.spec("KC-03", "KC-07")
@pytest.mark.parametrize(
    ("auth", "severities"),
    [
        ("pg", []),
        ("{name: pg}", []),
        ("{alias: {credential: pg}}", []),
        ("{type: bearer, token: abc}", []),
        ('"{{ workload.good }}"', []),
        ('"{{ ctx.which }}"', []),
        ("gp", ["error"]),
        ("{name: gp}", ["error"]),
        ("{alias: {credential: gp}}", ["error"]),
        ('"{{ workload.bad }}"', ["warning"]),
        ('"{{ keychain.pg }}"', ["error"]),
    ],
)
def test_auth_names_a_declared_credential(front: Front, auth: str, severities: list[str]) -> None:
    body = KEYCHAIN + pipeline(f"- {{name: a, kind: postgres, command: SELECT 1, auth: {auth}}}")

    assert [finding.severity for finding in told(front, body) if finding.code == "NL323"] == severities


@pytest.mark.spec("KC-07")
def test_both_ends_of_a_transfer_and_workbook_tasks_name_declared_credentials(front: Front) -> None:
    body = (
        KEYCHAIN
        + """
workflow:
  - step: start
    tool:
      kind: transfer
      source: {kind: postgres, query: SELECT 1, auth: pg}
      target: {kind: postgres, table: t, auth: gone}
workbook:
  store: {kind: postgres, command: SELECT 1, auth: gone}
"""
    )

    assert codes(front, body) == ["NL323", "NL323"]


@pytest.mark.spec("KC-07", "UP-03")
def test_an_undeclared_credential_is_a_warning_for_playbooks_of_the_public_noetl(front: Front) -> None:
    body = pipeline("- {name: a, kind: postgres, command: SELECT 1, auth: known_to_the_server}")

    assert [finding.severity for finding in told(front, body, is_upstream=True)] == ["warning"]


def test_a_secret_in_auth_is_repaired_to_its_name() -> None:
    before = KEYCHAIN + pipeline('- {name: a, kind: postgres, command: SELECT 1, auth: "{{ keychain.pg }}"}')

    assert fixed(before) == before.replace('"{{ keychain.pg }}"', "pg")


# any shape at all


KEYS = "when then else do to set spec policy rules kind name input auth tool choose while until pipe eval task a in"
JUNK = st.recursive(
    st.sampled_from([None, True, 5, "", "fail", "{{ output.x }}", "{{", "noop", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS.split()),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def as_flow(value: object) -> str:
    """Data as YAML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {as_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(as_flow(inner) for inner in value) + "]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true"
    return str(value) if isinstance(value, int) else f"'{value}'"


@settings(max_examples=300, deadline=None)
@given(JUNK, st.sampled_from(["tool: {}", "tool: [{}]", "tool: [{{name: a, kind: noop, spec: {}}}]", "loop: {}"]))
def test_no_shape_of_a_step_is_too_much(junk: object, step: str) -> None:
    body = f"workflow:\n  - step: start\n    {step.format(as_flow(junk))}\n"

    check(HEAD + body, "t.yaml", declarations)


ERROR_ASKED = ["output.error", "output.error is not none", "output.error is defined", "output.error != none"]


@pytest.mark.spec("TK-04", "TK-06")
@pytest.mark.parametrize("when", ERROR_ASKED)
def test_a_rule_that_asks_for_the_error_object_takes_every_error(front: Front, when: str) -> None:
    rules = f'- when: "{{{{ {when} }}}}"\n  then: {{do: fail}}\n- else: {{then: {{do: continue}}}}\n'

    assert "NL314" not in codes(front, ruled(rules))


@pytest.mark.spec("TK-04", "TK-19")
@pytest.mark.parametrize(
    ("when", "fixes"),
    [
        ("output.status == 'success'", ['did you mean "ok"?']),
        ("output.status in ['ok', 'done']", ['did you mean "ok"?']),
        ("'failed' != output.status", ['did you mean "error"?']),
        ("output['status'] == 'OK'", ['did you mean "ok"?']),
        ("output.status == 'pending'", ["compare it with 'ok' or 'error'"]),
        ("output.error.kind == 'time-out'", ['did you mean "timeout"?']),
        ("output.error.kind in ['rate_limited', 'timeout']", ['did you mean "rate_limit"?']),
        ("output.status == 'error' and output.error.kind == 'db_conflict'", []),
        ("output.error.kind == 'quantum.timeout'", []),
        ("output.error.kind == 'quantum:time_out'", []),
        ("output.error.kind == 'quantum_timeout'", []),
        ("output.error.kind == 'qpu_error'", []),
        ("output.data.status == 'success'", []),
        ("output.http.status == 404", []),
        ("ctx.output.status == 'success'", []),
    ],
)
def test_a_value_that_an_output_never_has_is_told(front: Front, when: str, fixes: list[str]) -> None:
    rules = f'- when: "{{{{ {when} }}}}"\n  then: {{do: retry}}\n- else: {{then: {{do: fail}}}}\n'

    found = [finding for finding in told(front, ruled(rules)) if finding.code == "NL328"]
    assert [finding.fix for finding in found] == fixes
    assert all(finding.severity == "warning" and not finding.edits for finding in found)
