"""Each filter and test by example, what they refuse, and what is not there at all."""

import pytest

from noetl.expressions import FUNCTIONS, EvaluationFault, parse
from noetl.expressions.filters import FILTERS, TESTS
from noetl.expressions.methods import FUNCTION_TABLE

SCOPE: dict[str, object] = {
    "rows": [
        {"id": 2, "name": "bob", "tags": ["x"], "owner": {"name": "Zoe"}},
        {"id": 1, "name": "Ada", "tags": [], "owner": {"name": "yan"}},
        {"id": 3, "name": "Cy", "tags": ["x", "y"], "owner": {"name": "Zoe"}},
    ],
    "m": {"b": 1, "A": 2},
    "nested": [[1, 2], [3, [4]], 5],
    "words": ["b", "A", "a", "c"],
}

EXAMPLES = [
    ("{{ ' Ab ' | trim | upper ~ 'Ab' | lower }}", "ABab"),
    ("{{ 'xxaxx' | trim('x') }}", "a"),
    ("{{ 'xxaxx' | trim(chars='x') }}", "a"),
    ('{{ "it\'s a-b (c)" | title }}', "It's A-B (C)"),
    ("{{ 'ab cd' | capitalize }}", "Ab cd"),
    ("{{ 5 | string }}", "5"),
    ("{{ 'aab' | replace('a', 'c') | replace('c', 'd', 1) }}", "dcb"),
    ("{{ words | join('-') }}", "b-A-a-c"),
    ("{{ rows | join(', ', attribute='owner.name') }}", "Zoe, yan, Zoe"),
    ("{{ 'ab' | center(6) }}", "  ab  "),
    ("{{ 'a\nb\n\nc' | indent(2) }}", "a\n  b\n\n  c"),
    ("{{ 'a\nb' | indent('> ', first=true) }}", "> a\n> b"),
    ("{{ 'one two three four' | truncate(12, leeway=0) }}", "one two..."),
    ("{{ 'one two three' | truncate(8, true, '…', 0) }}", "one two…"),
    ('{{ "it\'s two words" | wordcount }}', 4),
    ("{{ '<a href=\"x\">' | e }}", "&lt;a href=&quot;x&quot;&gt;"),
    ("{{ 'a b/ü?' | urlencode }}", "a%20b/%C3%BC%3F"),
    ("{{ {'q': 'a b', 'n': 1} | urlencode }}", "q=a%20b&n=1"),
    (
        "{{ 1500 | filesizeformat ~ ' ' ~ 1536 | filesizeformat(true) ~ ' ' ~ 1 | filesizeformat }}",
        "1.5 kB 1.5 KiB 1 Byte",
    ),
    ("{{ 'a,b' | split(',') }}", ["a", "b"]),
    ("{{ 'a\nb' | splitlines }}", ["a", "b"]),
    ("{{ {'a': [1, 'é', none, 1.5]} | tojson }}", '{"a": [1, "é", null, 1.5]}'),
    ("{{ [1] | tojson(2) }}", "[\n  1\n]"),
    ("{{ '{\"a\": [1, null]}' | fromjson }}", {"a": [1, None]}),
    ("{{ 'hé' | b64encode | b64decode }}", "hé"),
    ("{{ 'abc' | sha256 }}", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
        "{{ ['7' | int, '0x1f' | int(base=16), 'x' | int, 'x' | int(-1), 3.9 | int, '1e3' | int, none | int] }}",
        [7, 31, 0, -1, 3, 1000, 0],
    ),
    ("{{ ['1.5' | float, 'x' | float(2.5), 3 | float] }}", [1.5, 2.5, 3.0]),
    ("{{ [-3 | abs, 2.567 | round(1), 2.1 | round(method='ceil'), 2.9 | round(0, 'floor')] }}", [3, 2.6, 3.0, 2.0]),
    ("{{ (-3) | abs }}", 3),
    ("{{ ['TRUE' | bool, '' | bool, 0 | bool, [1] | bool] }}", [True, False, False, True]),
    ("{{ [words | first, words | last, words | length, m | count, 'abc' | first] }}", ["b", "c", 4, 2, "a"]),
    ("{{ 'abc' | list }}", ["a", "b", "c"]),
    ("{{ [m | items, m | keys, m | values] }}", [[("b", 1), ("A", 2)], ["b", "A"], [1, 2]]),
    ("{{ m | dictsort }}", [("A", 2), ("b", 1)]),
    ("{{ m | dictsort(by='value', reverse=true) }}", [("A", 2), ("b", 1)]),
    ("{{ words | sort }}", ["A", "a", "b", "c"]),
    ("{{ words | sort(true, true) }}", ["c", "b", "a", "A"]),
    ("{{ rows | sort(attribute='owner.name,id') | map(attribute='id') }}", [1, 2, 3]),
    ("{{ words | unique }}", ["b", "A", "c"]),
    ("{{ rows | unique(attribute='owner.name') | map(attribute='id') }}", [2, 1]),
    ("{{ [words | min, words | max, [] | max] }}", ["A", "c", None]),
    ("{{ (rows | max(attribute='id')).name }}", "Cy"),
    ("{{ rows | sum(attribute='id') + [1, 2.5] | sum(start=1) }}", 10.5),
    ("{{ [words | reverse, 'abc' | reverse] }}", [["c", "a", "A", "b"], "cba"]),
    ("{{ [nested | flatten, nested | flatten(2)] }}", [[1, 2, 3, [4], 5], [1, 2, 3, 4, 5]]),
    ("{{ [1, 2, 3] | batch(2, 0) }}", [[1, 2], [3, 0]]),
    ("{{ [1, 2, 3, 4, 5] | slice(2) }}", [[1, 2, 3], [4, 5]]),
    ("{{ rows | map(attribute='name') | map('upper') | list }}", ["BOB", "ADA", "CY"]),
    ("{{ rows | map(attribute='x', default=0) }}", [0, 0, 0]),
    ("{{ rows | map(attribute='tags.0', default='-') }}", ["x", "-", "x"]),
    ("{{ rows | selectattr('tags') | map(attribute='id') }}", [2, 3]),
    ("{{ rows | selectattr('id', '>', 1) | rejectattr('id', 'eq', 3) | map(attribute='id') }}", [2]),
    ("{{ [1, 2, 3, 4] | select('even') | list + [0, 1] | reject }}", [2, 4, 0]),
    ("{{ rows | groupby('owner.name') | map(attribute='grouper') }}", ["yan", "Zoe"]),
    (
        "{% for name, group in rows | groupby('owner.name') %}{{ name }}:{{ group | length }} {% endfor %}",
        "yan:1 Zoe:2 ",
    ),
    (
        "{{ [1 is odd, 2 is even, 9 is divisibleby 3, 1 is in [1], 1 is not none, 'a' is lower, 'A' is upper] }}",
        [True] * 7,
    ),
    (
        "{{ [1 is number, 1.5 is float, 1 is integer, true is not integer, true is boolean, 'a' is string] }}",
        [True] * 6,
    ),
    (
        "{{ [{} is mapping, [] is sequence, {} is iterable, none is none, [] is empty, {'a': 1} is not empty] }}",
        [True] * 6,
    ),
    (
        "{{ [true is true, false is false, 1 is not true, 1 is eq 1, 1 is lt 2, 2 is ge 2, none is sameas none] }}",
        [True] * 7,
    ),
]


@pytest.mark.parametrize(("source", "expected"), EXAMPLES)
def test_filters_and_tests_by_example(source: str, expected: object) -> None:
    assert parse(source).evaluate(SCOPE) == expected


def test_every_filter_and_test_has_an_example() -> None:
    used_filters = {use.name for source, _ in EXAMPLES for use in parse(source).filters}
    used_tests = {use.name for source, _ in EXAMPLES for use in parse(source).tests}
    other_names = {"d", "default", "escape", "ident", "raw_sql"}  # in test_undefined.py and test_values.py
    other_tests = {
        "defined",
        "undefined",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "equalto",
        "lessthan",
        "greaterthan",
        "ne",
        "le",
        "gt",
    }

    assert set(FILTERS) - used_filters == other_names
    assert set(TESTS) - used_tests == other_tests


def test_the_functions_are_range_and_dict() -> None:
    assert set(FUNCTION_TABLE) == FUNCTIONS == {"range", "dict"}


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize(
    "name",
    [
        *(
            "attr",
            "xmlattr",
            "format",
            "pprint",
            "urlize",
            "random",
            "shuffle",
            "safe",
            "forceescape",
            "striptags",
            "wordwrap",
        ),
        *("tojsom", "now", "eval", "__class__"),
    ],
)
def test_other_filters_are_not_there(name: str) -> None:
    for source in (f"{{{{ 'a' | {name} }}}}", f"{{{{ ['a'] | map('{name}') }}}}"):
        with pytest.raises(EvaluationFault) as caught:
            parse(source).evaluate({})
        assert caught.value.kind in ("security", "template")


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize("name", ["lipsum", "cycler", "joiner", "namespace", "now", "random", "open", "self", "super"])
def test_other_functions_are_not_there(name: str) -> None:
    with pytest.raises(EvaluationFault) as caught:
        parse(f"{{{{ {name}() }}}}").evaluate({})

    assert caught.value.kind == "security"


def test_a_mistyped_filter_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(EvaluationFault, match="did you mean 'tojson'"):
        parse("{{ 1 | to_json }}").evaluate({})


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("{{ 'x' | fromjson }}", "type"),
        ("{{ '[NaN]' | fromjson }}", "type"),
        ("{{ '[18446744073709551616]' | fromjson }}", "limit"),
        ("{{ ('[' * 65 ~ ']' * 65) | fromjson }}", "limit"),
        ("{{ {1: 2} | tojson }}", "type"),
        ("{{ range(3) | tojson }}", "type"),
        ("{{ '*' | b64decode }}", "type"),
        ("{{ '/w==' | b64decode }}", "type"),
        ("{{ 5 | length }}", "type"),
        ("{{ none | list }}", "type"),
        ("{{ 5 | items }}", "type"),
        ("{{ [1, 'a'] | sort }}", "type"),
        ("{{ ['a', 'b'] | sum }}", "type"),
        ("{{ [[1]] | unique }}", "type"),
        ("{{ 'a' | round }}", "type"),
        ("{{ 1 | round(method='x') }}", "type"),
        ("{{ 'perhaps' | bool }}", "type"),
        ("{{ [1] | batch(0) }}", "type"),
        ("{{ 'a' | join(1) }}", "type"),
        ("{{ [1] | map }}", "type"),
        ("{{ 'a' | upper(1) }}", "type"),
        ("{{ 'a' | replace('x') }}", "type"),
        ("{{ 1 is divisibleby }}", "type"),
        ("{{ 1 is divisibleby 0 }}", "type"),
        ("{{ 1 + 'a' }}", "type"),
        ("{{ [1] + (2,) + {} }}", "type"),
        ("{{ {} < {} }}", "type"),
        ("{{ 1 in 5 }}", "type"),
        ("{{ 1 in 'a' }}", "type"),
        ("{{ 1 // 0 }}", "type"),
        ("{{ (-8) ** 0.5 }}", "type"),
        ("{{ 0 ** -1 }}", "type"),
        ("{{ 2.0 ** 5000 }}", "limit"),
        ("{{ [1][::0] }}", "type"),
        ("{{ [1]['a':] }}", "type"),
        ("{{ {[1]: 2} }}", "type"),
        ("{% for a, b in [1] %}{% endfor %}", "type"),
        ("{% for a in 5 %}{% endfor %}", "type"),
    ],
)
def test_values_that_do_not_fit_are_a_fault_with_a_place(source: str, kind: str) -> None:
    with pytest.raises(EvaluationFault) as caught:
        parse(source).evaluate({})

    assert caught.value.kind == kind
    assert caught.value.offset is not None
