"""Reading templates: what counts as one, what is refused and where, and the facts about it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2.exceptions import TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from noetl.expressions import Part, Template, TemplateSyntaxFault, Use, looks_like_template, parse
from noetl.expressions.lexer import tokenize


@pytest.mark.parametrize("text", ["{{ x }}", "a {% if x %}", "{# note #}", "{{", "{%", "{#"])
def test_text_with_an_opening_looks_like_a_template(text: str) -> None:
    assert looks_like_template(text)


@pytest.mark.parametrize("text", ["", "plain", "{ x }", "}}", "{'a': 1}", "$" + "{x}"])
def test_text_without_an_opening_does_not_look_like_a_template(text: str) -> None:
    assert not looks_like_template(text)


@pytest.mark.spec("TP-03")
@pytest.mark.parametrize(
    ("source", "offset", "words"),
    [
        ("{{ a b }}", 5, "expected token '}}', got 'b'"),
        ("ab {{ (1 + }}", 11, "unexpected '}', expected ')'"),
        ("{{ x", 0, "this tag is not closed"),
        ("{% if x %}yes", 13, "nexpected end of template"),
        ("{% if x %}yes{% endfor %}", 16, "unknown tag 'endfor'"),
        ("x\n{{ 'abc }}", 5, "no closing quote"),
        ("{# never", 0, "comment has no end"),
        ("{% raw %}{{", 0, "raw section has no end"),
        ("{{ a.b. }}", 8, "expected name or number"),
        ("{{ }}", 3, "Expected an expression"),
        ("{{ a ? b }}", 5, "unexpected character '?'"),
        ("{{ a } }}", 5, "no bracket is open"),
        ("{{ [1, 2 }}", 9, "unexpected '}', expected ']'"),
        ("{{ [1, 2", 3, "this bracket is not closed"),
        ("{{ 18446744073709551616 }}", 3, "64 bits"),
        ("{{ 1e999 }}", 3, "64 bits"),
        ("{{ " + "9" * 5000 + " }}", 3, "64 bits"),
        (r"{{ '\N{no such}' }}", 3, "bad escape"),
        ("{% unknown %}", 3, "unknown tag 'unknown'"),
    ],
)
def test_a_fault_of_syntax_names_its_place(source: str, offset: int, words: str) -> None:
    with pytest.raises(TemplateSyntaxFault) as caught:
        parse(source)

    assert (caught.value.offset, caught.value.kind) == (offset, "syntax")
    assert words in caught.value.message


@pytest.mark.spec("TP-03", "TP-05")
@pytest.mark.parametrize(
    "source",
    [
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% from 'x' import y %}",
        "{% extends 'x' %}",
        "{% block x %}{% endblock %}",
        "{% macro m() %}{% endmacro %}",
        "{% call m() %}{% endcall %}",
        "{% autoescape true %}{% endautoescape %}",
        "{% set a.b = 1 %}",
        "{% for x in y recursive %}{% endfor %}",
    ],
)
def test_what_reaches_beyond_one_template_is_refused_in_words(source: str) -> None:
    with pytest.raises(TemplateSyntaxFault, match=r"cannot be used|not to a part"):
        parse(source)


@pytest.mark.spec("TP-05")
@pytest.mark.parametrize(
    "source",
    [
        "{{ " + "(" * 2000 + ")" * 2000 + " }}",
        "{{ " + "[" * 2000 + "]" * 2000 + " }}",
        "{{ " + "{1:" * 1000 + "1" + "}" * 1000 + " }}",
        "{{ " + "not " * 1900 + "x }}",
        "{{ " + "-" * 5000 + "1 }}",
        "{{ " + "1 if 1 else " * 600 + "1 }}",
        "{{ a" + ".b" * 3000 + " }}",
        "{{ a" + "[0]" * 2000 + " }}",
        "{{ a" + "()" * 2000 + " }}",
        "{{ a" + "|e" * 3000 + " }}",
        "{{ 1" + "+1" * 3000 + " }}",
        "{{ 1" + "**1" * 2000 + " }}",
        "{{ 1" + " and 1" * 1000 + " }}",
        "{% if 1 %}" * 500 + "{% endif %}" * 200,
        "{% for a in b %}" * 200 + "{% endfor %}" * 300,
    ],
    ids=lambda source: source[:20],
)
def test_nesting_is_bounded_before_it_can_hurt(source: str) -> None:
    with pytest.raises(TemplateSyntaxFault, match=r"nested|brackets"):
        parse(source)


@pytest.mark.spec("TP-05")
def test_reasonable_nesting_is_fine() -> None:
    assert parse("{{ " + "(" * 30 + "1" + ")" * 30 + " }}").evaluate({}) == 1
    assert parse("{{ 0" + " + 1" * 150 + " }}").evaluate({}) == 150


@pytest.mark.spec("TP-03")
@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="{}%#'\"\\()[]-+|.,:~ \r\nabraw01", max_size=60))
def test_parse_of_any_text_gives_a_template_or_a_syntax_fault(text: str) -> None:
    found: Template | TemplateSyntaxFault
    try:
        found = parse(text)
    except TemplateSyntaxFault as fault:
        found = fault

    assert isinstance(found, Template) or 0 <= found.offset <= len(text)


PIECES = (
    *("{{", "}}", "{%", "%}", "{#", "#}", "{{-", "-}}", "{%-", "-%}", "{#-", "-#}", "{%+", "+%}"),
    *("raw", "endraw", "if", "x", "'a'", '"b"', "'", "(", ")", "[", "]", "{", "}", "1", "1.5", "0x1f", "1_0", "1e3"),
    *(".", "|", "~", "**", "//", "==", "<=", "=", ":", ",", " ", "  ", "\n", "é", "日本", "$", "?", "not in"),
)


JINJA = ImmutableSandboxedEnvironment(keep_trailing_newline=True)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join).map("{}.".format))  # Jinja2 lets a final {# pass
def test_tokens_are_those_of_jinja2(source: str) -> None:
    try:
        ours = [(mark.type, mark.value) for mark in tokenize(source).marks]
    except TemplateSyntaxFault:
        with pytest.raises(TemplateSyntaxError):
            JINJA.parse(source)
    else:
        assert ours == [(token.type, token.value) for token in JINJA.lexer.wrap(JINJA.lexer.tokeniter(source, None))]


@pytest.mark.spec("TP-01")
@pytest.mark.parametrize("source", ["{{ x }}", " {{ x }}\n", "{{- x -}}", "\t{{x}} ", "{{ x, y }}", "{{ '}}' }}"])
def test_exactly_one_hole_is_an_expression(source: str) -> None:
    assert parse(source).is_expression


@pytest.mark.spec("TP-01")
@pytest.mark.parametrize(
    "source",
    ["", "x", "a{{ x }}", "{{ x }}{{ y }}", "{# c #}{{ x }}", "{% set a = 1 %}{{ a }}", "{% raw %}{% endraw %}{{ x }}"],
)
def test_anything_else_is_text(source: str) -> None:
    assert not parse(source).is_expression


def test_facts_say_what_is_text_and_what_is_statement() -> None:
    found = parse("a {{ x }} b {# c #}{% if y %} d {% endif %}{% raw %}{{ e }}{% endraw %}")

    assert found.has_statements
    assert found.literal_text == "a  b  d {{ e }}"
    assert found.names == {"x", "y"}


def test_reads_spell_out_their_path_with_exact_spans() -> None:
    source = "{{ outcome.result['data'][0].x ~ outcome [ 'a' ] . b }}"

    first, second = parse(source).reads

    assert first.path == ("outcome", "result", "data", 0, "x")
    assert [source[part.offset : part.end] for part in first.parts] == [".result", "['data']", "[0]", ".x"]
    assert source[second.offset : second.path_end] == "outcome [ 'a' ] . b"
    assert second.parts[0] == Part("a", 41, 48)


def test_a_computed_subscript_ends_the_path_and_is_read_itself() -> None:
    reads = parse("{{ ctx.pages[iter.page].rows[0] }}").reads

    assert [read.path for read in reads] == [("ctx", "pages"), ("iter", "page")]


def test_underscore_names_appear_in_reads() -> None:
    (read,) = parse("{{ ctx.__class__['__mro__'] }}").reads

    assert [part.key for part in read.parts] == ["__class__", "__mro__"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("{% set a = b %}{{ a }}", {"b"}),
        ("{{ a }}{% set a = 1 %}{{ a }}", {"a"}),
        ("{% for a in a %}{{ a }}{{ loop.index }}{% endfor %}", {"a"}),
        ("{% for a, b in c %}{{ a ~ b }}{% else %}{{ b }}{% endfor %}{{ a }}", {"a", "b", "c"}),
        ("{% for a in b if a.x > c %}{% endfor %}", {"b", "c"}),
        ("{% with a = b, c = a %}{{ a ~ c }}{% endwith %}{{ c }}", {"a", "b", "c"}),
        ("{% set a %}{{ b }}{% endset %}{{ a }}", {"b"}),
        ("{% for x in y %}{% set z = x %}{% endfor %}{{ z }}", {"y", "z"}),
        ("{% filter replace(a, b) %}{{ c }}{% endfilter %}", {"a", "b", "c"}),
        ("{{ range(n) }}{{ dict(a=b) }}", {"n", "b"}),
        ("{{ range }}", {"range"}),
        ("{{ now() }}", set()),
        ("{{ loop.index }}", {"loop"}),
        ("{{ x is divisibleby(y) and z | default(w) }}", {"w", "x", "y", "z"}),
        ("{{ x[a:b] }}{{ {k: v} }}{{ f.g(*h, **i) }}", {"a", "b", "f", "h", "i", "k", "v", "x"}),
        ("{{ 'a.b' }}{# c #}{% raw %}{{ d }}{% endraw %}", set()),
    ],
)
def test_names_are_the_free_ones(source: str, names: set[str]) -> None:
    assert parse(source).names == names


def test_filters_and_tests_have_the_span_of_their_name() -> None:
    source = "{{ a | upper | join(', ') if b is not none and c is defined }}{% filter trim %}x{% endfilter %}"

    found = parse(source)

    assert [(use.name, source[use.offset : use.end]) for use in found.filters] == [
        ("upper", "upper"),
        ("join", "join"),
        ("trim", "trim"),
    ]
    assert found.tests == (Use("none", 38, 42), Use("defined", 52, 59))


def test_calls_say_what_is_called_on_what() -> None:
    source = "{{ ctx.a.items( ) ~ range(3) ~ 'x'.upper() ~ now() ~ ctx['f'](1) }}"

    found = parse(source)

    assert [(call.method, call.form, source[call.offset : call.end]) for call in found.calls] == [
        ("items", "method", ".items( )"),
        ("range", "function", "range(3)"),
        ("upper", "method", ".upper()"),
        ("now", "function", "now()"),
        ("", "value", "(1)"),
    ]
    assert [call.read and call.read.path for call in found.calls] == [("ctx", "a"), None, None, None, ("ctx", "f")]
    assert found.calls[0].read in found.reads


def test_a_template_is_parsed_once_and_does_not_change() -> None:
    found = parse("{{ some_name }}")

    assert parse("{{ some_name }}") is found
    with pytest.raises(AttributeError):
        found.source = "other"


def test_checking_builds_no_program() -> None:
    assert parse("{{ never.evaluated }}")._program is None
