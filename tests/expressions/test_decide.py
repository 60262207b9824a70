"""Truth while only some paths are known, and constants."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.expressions import EvaluationFault, OneOf, SomeMapping, constant, decide, parse

KNOWN: dict[tuple[str, ...], object] = {
    ("event", "name"): "step.failed",
    ("output", "status"): "error",
    ("output", "http"): {"status": 503},
    ("n",): 5,
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ event.name == 'step.failed' }}", True),
        ("{{ event['name'] == 'step.done' }}", False),
        ("{{ event.name != 'step.done' }}", True),
        ("{{ event.name in ['step.done', 'step.failed'] }}", True),
        ("{{ event.name not in ('step.done',) }}", True),
        ("{{ event.name in ctx.names }}", None),
        ("{{ output.status == 'error' and event.name == 'step.done' }}", False),
        ("{{ ctx.x and output.status == 'success' }}", False),
        ("{{ output.status == 'success' and ctx.x }}", False),
        ("{{ ctx.x or output.status == 'error' }}", True),
        ("{{ ctx.x or output.status == 'success' }}", None),
        ("{{ ctx.x and output.status == 'error' }}", None),
        ("{{ not output.status == 'error' }}", False),
        ("{{ not ctx.x }}", None),
        ("{{ not (ctx.x and false) }}", True),
        ("{{ output.http.status in [429, 503] }}", True),
        ("{{ output.http.status >= 500 }}", True),
        ("{{ 400 <= output.http.status < 500 }}", False),
        ("{{ 1 < n < ctx.x }}", None),
        ("{{ 9 < n < ctx.x }}", False),
        ("{{ n }}", True),
        ("{{ n - 5 }}", None),
        ("{{ -5 < n }}", True),
        ("{{ 1 if n == 5 else 0 }}", True),
        ("{{ 1 if ctx.x else 2 }}", True),
        ("{{ 1 if ctx.x else 0 }}", None),
        ("{{ true if n > 9 }}", False),
        ("{{ ctx.x == ctx.x }}", None),
        ("{{ ctx.x is defined }}", None),
        ("{{ n is defined }}", True),
        ("{{ n is not defined }}", False),
        ("{{ event is defined }}", True),
        ("{{ output.http.nothing is defined }}", False),
        ("{{ output.http.nothing }}", False),
        ("{{ n is number }}", None),
        ("{{ n | string }}", None),
        ("{{ range(3) }}", None),
        ("{{ true }}", True),
        ("{{ false or none }}", False),
        ("{{ [] }}", False),
        ("{{ [1] }}", True),
        ("{{ {} }}", False),
        ("{{ 0 }}", False),
        ("{{ 'true' }}", True),
        ("{{ 'False' }}", False),
        ("{{ 'maybe' }}", None),
        ("{{ output.status < 3 }}", None),
        ("true", True),
        ("False", False),
        ("", False),
        ("maybe", None),
        ("x{{ true }}", None),
        ("{% if true %}true{% endif %}", None),
        ("{# c #}true", None),
    ],
)
def test_truth_with_some_paths_known(source: str, expected: bool | None) -> None:
    assert decide(parse(source), KNOWN) is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ event.name == 'call.done' or event.name == 'step.done' }}", True),
        ("{{ event.name in ['call.done', 'step.done', 'other'] }}", True),
        ("{{ event.name == 'call.done' }}", None),
        ("{{ event.name == 'other' }}", False),
        ("{{ event.name == 'call.done' and event.name == 'step.done' }}", False),
        ("{{ event.name == 'call.done' and s == 1 }}", None),
        ("{{ s > 0 and event.name != 'x' }}", True),
        ("{{ s > 1 }}", None),
    ],
)
def test_a_path_may_be_one_of_several_values(source: str, expected: bool | None) -> None:
    known: dict[tuple[str, ...], object] = {
        ("event", "name"): OneOf({"call.done", "step.done"}),
        ("s",): OneOf({1, 2}),
        ("unused",): OneOf(set(range(1000))),
    }

    assert decide(parse(source), known) is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ 1 }}", (True, 1)),
        ("{{ -1 }}", (True, -1)),
        ("{{ 'a' }}", (True, "a")),
        ("{{ none }}", (True, None)),
        ("{{ [1, ('a', {'b': 2.5})] }}", (True, [1, ("a", {"b": 2.5})])),
        ("{{ 1 == 1 }}", (True, True)),
        ("{{ x }}", (False, None)),
        ("{{ [x] }}", (False, None)),
        ("{{ 1 + 1 }}", (False, None)),
        ("plain text", (True, "plain text")),
        ("a {{ 1 }}", (False, None)),
        ("{% if 1 %}a{% endif %}", (False, None)),
    ],
)
def test_constants(source: str, expected: tuple[bool, object]) -> None:
    assert constant(parse(source)) == expected


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> str:
    atoms = [
        "a",
        "b.c",
        "1",
        "0",
        "'x'",
        "none",
        "true",
        "[a, 1]",
        "a == 1",
        "b.c == a",
        "a in [1, 2]",
        "b.c is defined",
        "a < 2",
    ]
    if depth == 0 or draw(st.booleans()):
        return f"({draw(st.sampled_from(atoms))})"
    left, right = draw(conditions(depth - 1)), draw(conditions(depth - 1))
    form = draw(
        st.sampled_from(["({0} and {1})", "({0} or {1})", "not ({0})", "({0} if {1} else {0})", "(({0}) == ({1}))"])
    )
    return form.format(left, right)


@settings(max_examples=200, deadline=None)
@given(
    conditions(),
    st.sampled_from([0, 1, 2, "x", None]),
    st.sampled_from([0, 1, "x", None]),
    st.booleans(),
    st.booleans(),
)
def test_a_decision_holds_for_every_value_of_what_is_unknown(
    condition: str, a: object, c: object, is_a_known: bool, is_c_known: bool
) -> None:
    known: dict[tuple[str, ...], object] = {}
    if is_a_known:
        known[("a",)] = a
    if is_c_known:
        known[("b", "c")] = c
    source = parse(f"{{{{ {condition} }}}}")

    decided = decide(source, known)

    try:
        actual = source.evaluate({"a": a, "b": {"c": c}})
    except EvaluationFault:
        return
    if decided is not None and not isinstance(actual, str):
        assert decided is bool(actual)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ e }}", True),
        ("{{ not e }}", False),
        ("{{ e is none }}", False),
        ("{{ e is not none and e is defined }}", True),
        ("{{ e == none or e == 'x' or 3 == e }}", False),
        ("{{ e in [1, none] }}", False),
        ("{{ [e] }}", True),
        ("{{ {'a': e} }}", True),
        ("{{ e.kind }}", None),
        ("{{ e.kind == 'x' }}", None),
        ("{{ e == {} }}", None),
        ("{{ e == e }}", None),
        ("{{ e < 3 }}", None),
        ("{{ 'x' in e }}", None),
        ("{{ e | length > 9 }}", None),
    ],
)
def test_a_path_may_be_a_mapping_of_which_nothing_else_is_known(source: str, expected: bool | None) -> None:
    assert decide(parse(source), {("e",): SomeMapping()}) is expected
