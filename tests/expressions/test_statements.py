"""Statements: if, for, set, with, filter; their scopes, and the loop variable."""

import pytest

from noetl.expressions import EvaluationFault, Value, parse

SCOPE: dict[str, object] = {
    "rows": [{"n": "a", "v": 1}, {"n": "b", "v": 2}, {"n": "c", "v": 3}],
    "m": {"k": "v"},
    "x": "outer",
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% if x %}a{% elif y %}b{% else %}c{% endif %}", "a"),
        ("{% if y %}a{% elif x %}b{% else %}c{% endif %}", "b"),
        ("{% if y %}a{% elif z %}b{% else %}c{% endif %}", "c"),
        ("{% for r in rows %}{{ r.n }}{% endfor %}", "abc"),
        ("{% for r in rows if r.v > 1 %}{{ loop.index }}{{ r.n }}{% endfor %}", "1b2c"),
        ("{% for r in rows if r.v > 9 %}x{% else %}none{% endfor %}", "none"),
        ("{% for k in m %}{{ k }}{% endfor %}", "k"),
        ("{% for k, v in m | items %}{{ k }}={{ v }}{% endfor %}", "k=v"),
        ("{% for c in 'ab' %}[{{ c }}]{% endfor %}", "[a][b]"),
        ("{% for i in range(3) %}{{ i }}{{ ',' if not loop.last }}{% endfor %}", "0,1,2"),
        (
            "{% for i in 'ab' %}{% for j in 'cd' %}{{ i ~ j ~ loop.index0 }} {% endfor %}{{ loop.index }}|{% endfor %}",
            "ac0 ad1 1|bc0 bd1 2|",
        ),
        (
            "{% for r in rows %}{{ loop.first }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }} {% endfor %}",
            "True332 False321 False310 ",
        ),
        (
            "{% for r in rows %}{{ loop.previtem.n | default('-') }}{{ loop.nextitem.n | default('-') }}{% endfor %}",
            "-bacb-",
        ),
        ("{% for r in rows %}{{ loop.cycle('x', 'y') }}{% endfor %}", "xyx"),
        ("{% for v in [1, 1, 2] %}{{ v if loop.changed(v) }}{% endfor %}", "12"),
        ("{% for x in [1] %}{{ x }}{% endfor %}{{ x }}", "1outer"),
        ("{% set x = 1 %}{{ x }}", "1"),
        ("{% set a, b = 1, 2 %}{{ a }}{{ b }}", "12"),
        ("{{ x }}{% set x = 1 %}{{ x }}", "outer1"),
        ("{% for i in [1, 2] %}{% set x = i %}{{ x }}{% endfor %}{{ x }}", "12outer"),
        ("{% for i in [1, 2] %}{{ x }}{% set x = i %}{% endfor %}", "outerouter"),
        ("{% if true %}{% set x = 'in' %}{% endif %}{{ x }}", "in"),
        ("{% with x = 1, y = x %}{{ x }}{{ y }}{% endwith %}{{ x }}", "1outerouter"),
        ("{% set t %}a{{ x }}{% endset %}{{ t | upper }}", "AOUTER"),
        ("{% set t | upper | replace('A', 'b') %}a{{ x }}{% endset %}{{ t }}", "bOUTER"),
        ("{% filter upper %}a{{ x }}{% endfilter %}b", "AOUTERb"),
        ("{% filter replace('a', 'b') | upper %}a{% endfilter %}", "B"),
        ("{% for i in range(3) %}\n{{ i }}\n{%- endfor %}\n", "\n0\n1\n2\n"),
    ],
)
def test_statements_mean_what_jinja2_says(source: str, expected: str) -> None:
    assert parse(source).evaluate(SCOPE) == expected


def test_a_fault_inside_a_loop_knows_its_place() -> None:
    source = "{% for r in rows %}{{ r.gone }}{% endfor %}"

    with pytest.raises(EvaluationFault) as caught:
        parse(source).evaluate(SCOPE)

    assert caught.value.names == ("n", "v")
    assert source[caught.value.offset :].startswith(".gone")


def test_names_set_by_one_evaluation_are_gone_in_the_next() -> None:
    assert parse("{% set kept = 1 %}{{ kept }}").evaluate(SCOPE) == "1"

    assert parse("{{ kept is defined }}{% set kept = 2 %}").evaluate(SCOPE) == "False"
    assert parse("{{ kept is defined }}{% set kept = 2 %}").fragments(SCOPE)[0] == Value(False)
    assert parse("{{ kept }}").evaluate(SCOPE) is None


def test_evaluating_twice_gives_the_same() -> None:
    found = parse("{% set a = [] %}{% for r in rows %}{% set a = a + [r.v] %}{{ a }}{% endfor %}")

    assert found.evaluate(SCOPE) == found.evaluate(SCOPE) == "[1][2][3]"
