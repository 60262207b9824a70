"""What a template gives: native values, keys rather than methods, text as Jinja2 prints it, and no second rendering."""

from types import MappingProxyType, SimpleNamespace

import pytest

from noetl.expressions import STORED, EvaluationFault, Identifier, RawSql, Value, parse

SCOPE: dict[str, object] = {
    "workload": {"items": [1, 2], "keys": "k", "values": {"get": 3}, "pop": None, "update": "u", "copy": {"upper": 1}},
    "ctx": {"n": 1, "text": "[1, 2]", "float": "1e5", "none": "None", "list": [1, "a", None], "flag": "false"},
    "rows": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}],
    "count": 3,
}


def value(source: str, scope: dict[str, object] | None = None) -> object:
    return parse(source).evaluate(SCOPE if scope is None else scope)


@pytest.mark.spec("TP-01")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ ctx.n }}", 1),
        (" {{- ctx.list -}}\n", [1, "a", None]),
        ("{{ ctx.n == 1 }}", True),
        ("{{ none }}", None),
        ("{{ 1.5 }}", 1.5),
        ("{{ 'text' }}", "text"),
        ("{{ 1, 2 }}", (1, 2)),
        ("{{ {'a': [ctx.n]} }}", {"a": [1]}),
        ("{{ rows }}", SCOPE["rows"]),
        ("{{ range(3) }}", range(3)),
        ("{{ rows | map(attribute='id') }}", [1, 2]),
        ("{{ {'pages': range(2), 'gone': ctx.gone} }}", {"pages": [0, 1], "gone": None}),
        ("{{ rows | groupby('id') }}", [(1, [{"id": 1, "name": "Ada"}]), (2, [{"id": 2, "name": "Bob"}])]),
    ],
)
def test_a_single_hole_gives_the_native_value(source: str, expected: object) -> None:
    found = value(source)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.spec("TP-01", "TP-07")
@pytest.mark.parametrize("name", ["text", "float", "none", "flag"])
def test_text_that_looks_like_a_value_stays_text(name: str) -> None:
    assert value(f"{{{{ ctx.{name} }}}}") == SCOPE["ctx"][name]  # type: ignore[index]


@pytest.mark.spec("TP-07")
@pytest.mark.parametrize("data", ["{{ keychain.x }}", "{% for a in b %}", "{# c #}", "{{ 7 * 7 }}", "{{", "%}"])
@pytest.mark.parametrize(
    "source",
    ["{{ x }}", "a{{ x }}", "{{ x ~ '' }}", "{{ [x] | join }}", "{% set y = x %}{{ y }}", "{{ x | upper | lower }}"],
)
def test_data_that_looks_like_a_template_comes_back_literally(data: str, source: str) -> None:
    assert str(value(source, {"x": data, "keychain": {"x": "stolen"}})).endswith(data.lower())


@pytest.mark.spec("TP-01")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a{{ ctx.n }}b", "a1b"),
        ("{{ ctx.n }}{{ ctx.n }}", "11"),
        ("x {{ true }} {{ none }} {{ 1.0 }}", "x True None 1.0"),
        ("x{{ ctx.list }}", "x[1, 'a', None]"),
        ("x{{ {'a': (1,)} }}", "x{'a': (1,)}"),
        ("x{{ range(3) }}", "xrange(0, 3)"),
        ("", ""),
        ("plain\n", "plain\n"),
        ("{# c #}x", "x"),
        ("  {%- if true %} y {% endif -%}  ", " y "),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("x{{ 'é' }}{{ '\\u00e9' }}", "xéé"),
    ],
)
def test_anything_else_gives_text_as_jinja2_prints_it(source: str, expected: str) -> None:
    assert value(source) == expected


@pytest.mark.spec("TP-08")
@pytest.mark.parametrize("name", ["items", "keys", "values", "pop", "update", "copy"])
def test_a_dot_on_a_mapping_reads_its_key(name: str) -> None:
    expected = SCOPE["workload"][name]  # type: ignore[index]

    assert value(f"{{{{ workload.{name} }}}}") == expected
    assert value(f"{{{{ workload['{name}'] }}}}") == expected
    assert value(f"{{{{ [workload] | map(attribute='{name}') | first }}}}") == expected


@pytest.mark.spec("TP-08")
@pytest.mark.parametrize("name", ["clear", "fromkeys", "get", "items", "keys", "pop", "setdefault", "update", "values"])
def test_methods_of_a_mapping_are_not_reachable(name: str) -> None:
    assert value(f"{{{{ ctx.{name} }}}}") is None
    assert value(f"{{{{ ctx['{name}'] }}}}") is None
    with pytest.raises(EvaluationFault) as caught:
        value(f"{{{{ ctx.{name}() }}}}")
    assert caught.value.kind == "security"


@pytest.mark.spec("TP-08")
def test_a_call_of_a_mapping_method_says_what_to_use_instead() -> None:
    with pytest.raises(EvaluationFault, match=r"use \| items"):
        value("{% for k, v in workload.items() %}{% endfor %}")


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ 'aXb'.upper() }}", "AXB"),
        ("{{ ' a '.strip() }}", "a"),
        ("{{ 'a,b,c'.split(',', 1) }}", ["a", "b,c"]),
        ("{{ 'a-b'.split(sep='-') }}", ["a", "b"]),
        ("{{ 'a b'.rsplit() }}", ["a", "b"]),
        ("{{ 'a\nb'.splitlines() }}", ["a", "b"]),
        ("{{ 'abc'.startswith('a') and 'abc'.endswith(('x', 'c')) }}", True),
        ("{{ 'aba'.replace('a', 'c', 1) }}", "cba"),
        ("{{ '-'.join([1, 'a']) }}", "1-a"),
        ("{{ 'abc'.find('c') ~ 'abcb'.count('b') }}", "22"),
        ("{{ '12'.isdigit() }}", True),
        ("{{ '7'.zfill(3) ~ 'a'.ljust(3, '.') ~ 'a'.rjust(2) }}", "007a.. a"),
        ("{{ 'v1'.removeprefix('v') }}", "1"),
        ("{{ 'k=v=w'.partition('=') }}", ("k", "=", "v=w")),
        ("{{ ctx.list.index('a') ~ ctx.list.count(1) }}", "11"),
        ("{{ rows[0]['name'][0] ~ rows[-1].name[1:] ~ rows.1.id }}", "Aob2"),
        ("{{ dict(a=1, run=2, offset=3, function=4) }}", {"a": 1, "run": 2, "offset": 3, "function": 4}),
        ("{{ dict(rows[0], name='x') }}", {"id": 1, "name": "x"}),
        ("{{ dict([('a', 1)], **{'b': 2}) }}", {"a": 1, "b": 2}),
        ("{{ range(1, 10, 4) | list }}", [1, 5, 9]),
    ],
)
def test_allowed_methods_and_functions_work(source: str, expected: object) -> None:
    assert value(source) == expected


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize(
    "source",
    [
        *("{{ 'a'.format(1) }}", "{{ 'a'.format_map({}) }}", "{{ 'a'.encode() }}", "{{ 'a'.translate({}) }}"),
        *("{{ ctx.list.append(1) }}", "{{ ctx.list.pop() }}", "{{ ctx.list.sort() }}", "{{ (1).bit_length() }}"),
        *(
            "{{ (1.5).hex() }}",
            "{{ none.x() }}",
            "{{ ctx() }}",
            "{{ ctx['n']() }}",
            "{{ 'a'.upper()() }}",
            "{{ open('x') }}",
        ),
        "{{ rows._x() }}",
    ],
)
def test_everything_else_cannot_be_called(source: str) -> None:
    with pytest.raises(EvaluationFault) as caught:
        value(source)

    assert caught.value.kind in ("security", "undefined")


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize("name", ["x", "upper", "append", "real", "imag", "numerator", "start", "stop", "_x"])
@pytest.mark.parametrize("base", ["'a'", "1", "1.5", "[1]", "(1,)", "range(2)", "true", "none"])
def test_attributes_of_plain_values_do_not_exist(base: str, name: str) -> None:
    assert value(f"{{{{ ({base}).{name} }}}}") is None


class Plain:
    """An object that a room above declares fit for templates."""

    __noetl_plain__ = True

    def __init__(self) -> None:
        self.uri = "s3://x"
        self._secret = "hidden"

    def method(self) -> str:
        return "called"

    def __str__(self) -> str:
        return "***"


@pytest.mark.spec("TP-05")
def test_a_plain_object_shows_its_public_data_only() -> None:
    scope: dict[str, object] = {"ref": Plain()}

    assert value("{{ ref.uri }}", scope) == "s3://x"
    assert value("{{ ref['uri'] }}", scope) == "s3://x"
    assert value("{{ ref._secret }}", scope) is None
    assert value("{{ ref.method }}", scope) is None
    assert value("t={{ ref }}", scope) == "t=***"
    assert value("{{ ref }}", scope) is scope["ref"]
    for source in ("{{ ref.method() }}", "{{ ref.__dict__ }}", "{{ ref | tojson }}"):
        with pytest.raises(EvaluationFault):
            value(source, scope)


@pytest.mark.spec("TP-05")
def test_any_other_object_shows_nothing() -> None:
    scope: dict[str, object] = {"o": SimpleNamespace(a=1), "m": MappingProxyType({"a": 1}), "f": print, "t": str}

    for name in scope:
        assert value(f"{{{{ {name}.a }}}}", scope) is None
        for source in (
            "x{{ %s }}",
            "{{ %s() }}",
            "{{ %s | tojson }}",
            "{{ %s ~ '' }}",
            "{{ %s | list }}",
            "{{ %s.a() }}",
        ):
            with pytest.raises(EvaluationFault):
                value(source % name, scope)


@pytest.mark.spec("TP-05")
def test_faults_never_repeat_a_value_of_the_scope() -> None:
    canary = "canary-7f3a"
    scope: dict[str, object] = {"s": canary, "m": {canary: 1}, "l": [canary], "dunder": f"__{canary}"}
    sources = [
        *("{{ s + 1 }}", "{{ s | int(base=99) }}", "{{ s | fromjson }}", "{{ s | b64decode }}", "{{ m[l] + 1 }}"),
        *(
            "{{ l | map(s) }}",
            "{{ l | select(s) }}",
            "{{ l | map(attribute=s) | join }}",
            "{{ s.nope() }}",
            "{{ m | sum }}",
        ),
        *(
            "{{ {l: 1} }}",
            "{{ l < 1 }}",
            "{{ m[dunder] }}",
            "{{ s[s] ~ '' }}",
            "{{ dict(s) }}",
            "{{ l | join(**m) }}",
            "{{ x }}-",
        ),
        *(
            "{{ m.x ~ '' }}",
            "{{ s % 1 }}",
            "{{ s | round }}",
            "{{ l | sort(attribute=s) }}",
            "{{ range(s) }}",
            "{{ -s }}",
        ),
    ]

    for source in sources:
        with pytest.raises(EvaluationFault) as caught:
            value(source, scope)
        assert canary not in f"{caught.value} {caught.value.args} {caught.value.names}", source


@pytest.mark.spec("TP-01")
def test_sql_helpers_mark_their_text() -> None:
    assert type(value("{{ 'users' | ident }}")) is Identifier
    assert type(value("{{ 'now()' | raw_sql }}")) is RawSql


@pytest.mark.spec("TP-01")
def test_fragments_keep_values_apart_from_text() -> None:
    found = parse("insert {% for r in rows %}({{ r.id }}, {{ r.name ~ '!' }}){% endfor %} {{ 't' | ident }}").fragments(
        SCOPE
    )

    assert found[:4] == ("insert ", "(", Value(1), ", ")
    assert found[-1] == Value("t")
    assert isinstance(found[-1], Value)
    assert type(found[-1].value) is Identifier
    assert parse("{{ ctx.n }}").fragments(SCOPE) == (Value(1),)
    with pytest.raises(EvaluationFault, match="undefined"):
        parse("{{ ctx.gone }}").fragments(SCOPE)


def test_a_scope_may_be_any_mapping() -> None:
    assert parse("{{ a.b }}").evaluate(MappingProxyType({"a": {"b": 1}})) == 1


@pytest.mark.spec("RS-04")
@pytest.mark.parametrize(
    "source",
    [
        "{{ x | length }}",
        "{{ x | default(1) }}",
        "{{ x | tojson }}",
        "{{ [x] | map('upper') }}",
        "{{ [x] | join }}",
        "{{ x is mapping }}",
        "{{ x is empty }}",
        "{{ x == 1 }}",
        "{{ 1 != x }}",
        "{{ x < 1 }}",
        "{{ 1 in x }}",
        "{{ x in [1] }}",
        "{{ x in {'a': 1} }}",
        "{{ x + 1 }}",
        "{{ -x }}",
        "{{ x ~ 'a' }}",
        "{{ x[1:] }}",
        "{{ x[0] }}",
        "{{ x.a }}",
        "{{ x.upper() }}",
        "a{{ x }}",
        "{% for one in x %}{% endfor %}",
    ],
)
def test_a_payload_kept_outside_the_log_refuses_every_use_and_names_resolve(source: str) -> None:
    with pytest.raises(EvaluationFault, match="kind resolve") as caught:
        value(source, {"x": STORED})

    assert caught.value.kind == "reference"


@pytest.mark.spec("RS-04")
def test_a_payload_kept_outside_the_log_is_not_bound_in_sql() -> None:
    with pytest.raises(EvaluationFault, match="kind resolve"):
        parse("select {{ x }}").fragments({"x": STORED})


@pytest.mark.spec("RS-04")
@pytest.mark.parametrize(("source", "expected"), [("{{ x is defined }}", True), ("{{ x is none }}", False)])
def test_whether_there_is_a_payload_can_be_asked_wherever_it_is_kept(source: str, expected: bool) -> None:
    assert value(source, {"x": STORED}) is expected
