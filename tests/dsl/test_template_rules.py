"""What is inside a template: syntax, filters, tests, calls, attributes, envelopes, conditions (NL601-604, 613-621)."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, apply_edits
from noetl.dsl.rules import MODULES, module
from noetl.dsl.rules.calls import arguments
from tests.dsl.front import HEAD, Front

FIELD = """
workload: {{items: [], api_url: https://example.com}}
workflow:
  - step: start
    tool:
      - name: fetch
        kind: http
        url: https://example.com
        headers:
          value: {value}
"""
CONDITION = """
workload: {{items: []}}
workflow:
  - step: start
    tool:
      - name: fetch
        kind: http
        url: https://example.com
        spec:
          policy:
            rules:
              - when: {value}
                then: {{do: break}}
              - when: "{{{{ output.status == 'error' }}}}"
                then: {{do: fail}}
              - else: {{then: {{do: continue}}}}
"""


def in_field(expression: str) -> str:
    return FIELD.format(value=f'"{{{{ {expression} }}}}"')


def found(front: Front, body: str) -> list[Finding]:
    return [finding for finding in front.check(body).findings if finding.code.startswith("NL6")]


def repaired(front: Front, body: str, value: str) -> str:
    """The value after all its repairs."""
    marker, text = body.partition(value)[0], body
    for _ in range(10):
        result = front.check(text)
        fixed, count = apply_edits(result.source.text, [one for one in result.findings if one.code.startswith("NL6")])
        if not count:
            break
        text = fixed.removeprefix(HEAD)
    return text[len(marker) : len(text) - len(body.partition(value)[2])]


@pytest.mark.spec("TP-03")
@pytest.mark.parametrize(
    ("expression", "right"),
    [
        ("ctx.a && ctx.b", "ctx.a and ctx.b"),
        ("ctx.a&&ctx.b", "ctx.a and ctx.b"),
        ("ctx.a || ctx.b", "ctx.a or ctx.b"),
        ("!ctx.a", "not ctx.a"),
        ("!(ctx.a || !ctx.b)", "not (ctx.a or not ctx.b)"),
        ("ctx.a = 1", "ctx.a == 1"),
        ("ctx.a === 1", "ctx.a == 1"),
        ("ctx.a !== 1", "ctx.a != 1"),
        ("ctx.a <> 1", "ctx.a != 1"),
        ("ctx.a AND ctx.b", "ctx.a and ctx.b"),
        ("ctx.a OR NOT ctx.b", "ctx.a or not ctx.b"),
        ("ctx?.a", "ctx.a"),
    ],
)
def test_words_of_other_languages_are_repaired(front: Front, expression: str, right: str) -> None:
    assert repaired(front, in_field(expression), expression) == right


@pytest.mark.spec("TP-03")
@pytest.mark.parametrize(
    ("text", "right"),
    [
        ('"{{ ctx.a }"', '"{{ ctx.a }}"'),
        ('"{{ ctx.a %}"', '"{{ ctx.a }}"'),
        ('"{% if ctx.a }}x{% endif %}"', '"{% if ctx.a %}x{% endif %}"'),
        ('"{% if ctx.a }x{% endif %}"', '"{% if ctx.a %}x{% endif %}"'),
    ],
)
def test_half_closed_braces_are_repaired(front: Front, text: str, right: str) -> None:
    assert repaired(front, FIELD.format(value=text), text) == right


@pytest.mark.spec("TP-03")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ ctx.a", "not a template: this tag is not closed: '}}' is missing"),
        ("{{ }}", "nothing stands between {{ and }}"),
        ("{{ ctx.a | }}", "something is missing before }}"),
        ("{{ ctx. }}", "something is missing before }}"),
        ("{{ ctx.a ctx.b }}", 'the expression is over before "ctx"'),
        ("{{ ctx.a ? 1 : 2 }}", '"?" means nothing in a template'),
        ("{{ ctx[0 }}", '"]" is missing before "}}"'),
        ("{{ ctx.{{ input.a }} }}", "{{ inside {{: braces do not nest"),
        ("{% if ctx.a %}x", "{% if %} is never closed"),
        ("{% endif %}", "{% endif %} has nothing to belong to here"),
        ("{% fro x in ctx.a %}{% endfor %}", "there is no tag {% fro %}"),
        (
            "{% include 'x' %}",
            "not a template: {% include %} cannot be used: a template stands alone and cannot use others",
        ),
        ("{{ 'a }}", "not a template: this text has no closing quote"),
    ],
)
def test_a_syntax_error_is_said_in_plain_words(front: Front, text: str, message: str) -> None:
    assert [(one.code, one.message) for one in found(front, FIELD.format(value=f'"{text}"'))] == [("NL601", message)]


@pytest.mark.spec("TP-03")
@pytest.mark.parametrize(
    "value",
    [
        '"ä {{ ctx.a && 1 }}"',
        "'it''s {{ ctx.a && 1 }}'",
        '"\\u00e4 \\" {{ ctx.a && 1 }}"',
        "|\n            one\n\n              {{ ctx.a && 1 }}",
        ">-\n            one\n            {{ ctx.a\n            && 1 }}",
        '"one\n            {{ ctx.a && 1 }}"',
        "one {{ ctx.a && 1 }}",
    ],
    ids=["double", "single", "escaped", "literal", "folded", "many lines", "plain"],
)
def test_a_syntax_error_is_found_at_its_character_in_every_style(front: Front, value: str) -> None:
    result = front.check(FIELD.format(value=value))

    finding = next(one for one in result.findings if one.code == "NL601")
    assert result.source.place(*[result.source.text.index("&&") + shift for shift in (0, 2)]) == finding.place


@pytest.mark.spec("TP-03")
@pytest.mark.parametrize(
    ("expression", "code", "right"),
    [
        ("ctx.a | len", "NL602", "ctx.a | length"),
        ("ctx.a | to_json", "NL602", "ctx.a | tojson"),
        ("ctx.a is null", "NL603", "ctx.a is none"),
        ("ctx.a is not null", "NL603", "ctx.a is not none"),
        ("len(ctx.a) > 0", "NL604", "ctx.a | length > 0"),
        ("-len(ctx.a)", "NL604", "-(ctx.a | length)"),
        ("len(ctx.a + ctx.b)", "NL604", "(ctx.a + ctx.b) | length"),
        ("str(ctx.a).upper()", "NL604", "(ctx.a | string).upper()"),
        ("ctx.a.items()", "NL617", "ctx.a | items"),
        ("ctx.a.keys() | list", "NL617", "ctx.a | keys | list"),
        ("ctx.a.values()[0]", "NL617", "(ctx.a | values)[0]"),
        ("ctx.get('a')", "NL617", "ctx.a"),
        ("ctx.get('a b', [1, 2])", "NL617", "ctx['a b'] | default([1, 2])"),
        ("ctx.a.get('b', {}).get('c', 1)", "NL617", "ctx.a.b.c | default(1)"),
        ("ctx.a.get(input.key, f'x')", "NL601", "ctx.a.get(input.key, f'x')"),
        ("ctx.a.get('b', default=1)", "NL617", "ctx.a.get('b', default=1)"),
        ("ctx.a.copy()", "NL617", "ctx.a"),
    ],
)
def test_what_is_spelt_otherwise_elsewhere_is_repaired(front: Front, expression: str, code: str, right: str) -> None:
    assert code in {one.code for one in found(front, in_field(expression))}
    assert repaired(front, in_field(expression), expression) == right


@pytest.mark.spec("TP-03", "TP-05")
@pytest.mark.parametrize(
    ("expression", "codes"),
    [
        ("ctx.a | attr('x')", ["NL602"]),
        ("ctx.a | lenght", ["NL602"]),
        ("ctx.a is sequense", ["NL603"]),
        ("now()", ["NL604"]),
        ("ctx.a.strftime('%Y')", ["NL604"]),
        ("ctx.a[0]('x')", ["NL604"]),
        ("cycler('a')", ["NL604"]),
        ("ctx.__class__", ["NL618"]),
        ("''.__class__.__mro__", ["NL618", "NL618"]),
        ("ctx['__class__']", ["NL618"]),
        ("__import__('os')", ["NL618"]),
        ("__builtins__", ["NL618"]),
        ("input.sql | raw_sql", ["NL621"]),
    ],
)
def test_what_no_template_may_use_is_refused_once(front: Front, expression: str, codes: list[str]) -> None:
    assert [one.code for one in found(front, in_field(expression))] == codes


@pytest.mark.spec("TP-01", "TP-05", "TP-08")
@pytest.mark.parametrize(
    "expression",
    [
        "ctx.a | default([]) | map(attribute='x') | select('defined') | join(', ')",
        "range(3) | list",
        "dict(ctx.a, b=1)",
        "ctx.name.upper().strip().split(',')[0]",
        "workload.items",
        "ctx.items",
        "input.get",
        "ctx.a is defined and ctx.b is not none",
        "true and not false or none",
        "ctx.kind == '__all__'",
        "['__a__']",
        "execution_id ~ '-' ~ _attempt",
        "'fixed' | raw_sql",
    ],
)
def test_right_templates_raise_no_alarm(front: Front, expression: str) -> None:
    assert found(front, in_field(expression)) == []


@pytest.mark.spec("TP-04")
@pytest.mark.parametrize(
    "value",
    [
        "true",
        "false",
        "'True'",
        "''",
        '"{{ output.data }}"',
        '" {{ output.data }} "',
        '"{% if ctx.a %}true{% endif %}"',
    ],
)
def test_a_condition_may_be_a_truth_or_an_expression(front: Front, value: str) -> None:
    assert found(front, CONDITION.format(value=value)) == []


@pytest.mark.spec("TP-04")
@pytest.mark.parametrize(
    ("value", "right"),
    [
        ("output.data.count > 3", '"{{ output.data.count > 3 }}"'),
        ("'ctx.ready'", '"{{ ctx.ready }}"'),
        ('output.status == "error"', "'{{ output.status == \"error\" }}'"),
        ("yes", "true"),
        ("Off", "false"),
        ("whenever you like", "whenever you like"),
        ("sometimes", "sometimes"),
        ('"{{ output.data.count }} > 3"', '"{{ output.data.count }} > 3"'),
        ("\"{{ 'no truth' }}\"", "\"{{ 'no truth' }}\""),
    ],
)
def test_a_condition_that_is_text_is_refused_and_repaired_where_certain(front: Front, value: str, right: str) -> None:
    assert {one.code for one in found(front, CONDITION.format(value=value))} == {"NL614"}
    assert repaired(front, CONDITION.format(value=value), value) == right


@pytest.mark.spec("TK-04", "EV-01", "EV-02", "LP-08")
@pytest.mark.parametrize(
    ("path", "fix"),
    [
        ("output.result", 'did you mean "output.data"?'),
        ("output.stauts", 'did you mean "output.status"?'),
        ("output.orders", "the payload is below data: write output.data.orders"),
        ("output['orders']", "the payload is below data: write output.data['orders']"),
        ("output[0]", "the payload is below data: write output.data[0]"),
        ("output.http.status_code", 'did you mean "output.http.status"?'),
        ("output.error.mesage", 'did you mean "output.error.message"?'),
        ("fetch.result", 'did you mean "fetch.data"?'),
        ("fetch.pg.code", "the payload is below data: write fetch.data.pg"),
    ],
)
def test_a_field_that_an_output_has_not_is_a_warning(front: Front, path: str, fix: str) -> None:
    result = found(front, CONDITION.format(value=f'"{{{{ {path} == 1 }}}}"'))

    assert [(one.code, one.severity, one.fix) for one in result] == [("NL619", "warning", fix)]


@pytest.mark.spec("TK-04", "SC-07")
@pytest.mark.parametrize(
    "path",
    [
        "output.data.anything.at.all",
        "output.error.kind",
        "output.meta.ts",
        "output.http.headers.etag",
        "output.ref",
        "_prev.anything",
        "fetch.http.status",
        "start.data.x",
    ],
)
def test_the_fields_of_an_output_raise_no_alarm(front: Front, path: str) -> None:
    assert found(front, CONDITION.format(value=f'"{{{{ {path} == 1 }}}}"')) == []


@pytest.mark.spec("UP-01")
def test_under_upstream_a_payload_is_read_on_its_envelope(front: Front) -> None:
    body = CONDITION.format(value='"{{ output.orders or fetch.status_code }}"')

    assert "NL619" not in front.codes(body, is_upstream=True)


ORDER = """
workload: {{}}
workflow:
  - step: start
    tool:
      - name: first
        kind: noop
        input: {{x: "{{{{ second.data }}}}"}}
      - name: second
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{{{ ctx.again }}}}"
                then: {{do: {do}}}
              - else: {{then: {{do: break}}}}
"""


@pytest.mark.spec("TP-06")
@pytest.mark.parametrize(
    ("do", "codes"), [("jump, to: first", []), ("jump, to: second", ["NL620"]), ("retry", ["NL620"])]
)
def test_a_later_task_is_read_only_after_a_jump_back(front: Front, do: str, codes: list[str]) -> None:
    assert [one.code for one in found(front, ORDER.format(do=do))] == codes


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize(("length", "codes"), [(8192, []), (8193, ["NL613"])])
def test_a_template_has_at_most_8192_characters(front: Front, length: int, codes: list[str]) -> None:
    text = "{{ ctx.a }}".ljust(length, "x")

    assert [one.code for one in found(front, FIELD.format(value=f"'{text}'"))] == codes


@pytest.mark.spec("PB-09")
def test_templates_in_a_refused_construct_are_not_judged(front: Front) -> None:
    body = FIELD.format(value="x") + '        eval: [{expr: "{{ vars.x && outcome.y }}", do: fail}]\n'

    assert found(front, body) == []


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ("()", []),
        ("(a)", ["a"]),
        ("(a, [b, c], 'd, e')", ["a", "[b, c]", "'d, e'"]),
        ("(f(a, b), {1: 2})", ["f(a, b)", "{1: 2}"]),
        ("a", None),
        ("('a\\'b')", None),
    ],
)
def test_the_arguments_of_a_call_are_taken_apart_at_its_own_commas(written: str, given: list[str] | None) -> None:
    assert arguments(written) == given


def test_a_long_pipeline_is_judged_in_time_that_grows_with_its_length(front: Front) -> None:
    def seconds(tasks: int) -> float:
        lines = [
            f'      - {{name: t{number}, kind: noop, input: {{a: "{{{{ t{max(number - 1, 0)}.data + workload.x }}}}"}},'
            f' set: {{ctx.k{number}: "{{{{ output.data }}}}"}}}}'
            for number in range(tasks)
        ]
        body = "\nworkload: {x: 1}\nworkflow:\n  - step: start\n    tool:\n" + "\n".join(lines) + "\n"
        draft = front.check(body).drafts[0]
        return min(timed(draft) for _ in range(3))

    def timed(draft: Draft) -> float:
        draft.prepared.clear()
        start = time.process_time()
        for rule in (module(name) for name in MODULES if name.startswith("nl6")):
            assert list(rule.check(draft)) == []
        return time.process_time() - start

    assert seconds(1600) < 30 * seconds(200)  # 8 times, and room for a busy machine; what is quadratic takes 64


PIECES = st.sampled_from(
    [
        *(
            "{{",
            "}}",
            "{%",
            "%}",
            "{#",
            "#}",
            " ",
            ".",
            "[",
            "]",
            "(",
            ")",
            "|",
            ",",
            "-",
            "\n",
            "'",
            '"',
            "&&",
            "!",
            "=",
        ),
        *("ctx", "a", "1", "ä", "is", "not", "if", "for", "in", "set", "endif", "else", "keychain", "iter", "output"),
        *("__class__", "items()", "get('a', 1)", "len(", "now()", "-b", "null"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=14), st.sampled_from([FIELD, CONDITION]))
def test_no_template_raises_and_every_repair_can_be_made(pieces: list[str], body: str) -> None:
    text = "".join(pieces).replace("'", "''").replace("\n", "\n" + " " * 20)

    result = Front().check(body.format(value=f"'{text}'"))

    apply_edits(result.source.text, result.findings)
