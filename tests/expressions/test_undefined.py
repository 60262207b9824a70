"""TP-07: an undefined value chains, is false, and cannot be printed; the fault says what was missing, and where."""

import pytest

from noetl.expressions import EvaluationFault, parse

SCOPE: dict[str, object] = {"ctx": {"page": 1, "none": None, "Not A Name": 1, "rows": []}, "iter": {}, "n": 5}


def value(source: str) -> object:
    return parse(source).evaluate(SCOPE)


def fault(source: str) -> EvaluationFault:
    with pytest.raises(EvaluationFault) as caught:
        value(source)
    return caught.value


@pytest.mark.spec("TP-07")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ nope }}", None),
        ("{{ nope.a.b['c'][0].d }}", None),
        ("{{ ctx.gone.deeper }}", None),
        ("{{ ctx.none.deeper }}", None),
        ("{{ n.deeper }}", None),
        ("{{ ctx.rows[0] }}", None),
        ("{{ ctx.rows[0].id | default('none yet') }}", "none yet"),
        ("{{ nope.a | default(7) }}", 7),
        ("{{ ctx.none | default(7) }}", None),
        ("{{ ctx.none | default(7, true) }}", 7),
        ("{{ nope | d }}", ""),
        ("{{ nope is defined }}", False),
        ("{{ nope.a is undefined }}", True),
        ("{{ ctx.page is defined }}", True),
        ("{{ nope == none }}", False),
        ("{{ nope == '' }}", False),
        ("{{ nope == nope }}", False),
        ("{{ nope != 1 }}", True),
        ("{{ 1 == nope }}", False),
        ("{{ nope in [1, none] }}", False),
        ("{{ 1 in nope }}", False),
        ("{{ nope not in ctx }}", True),
        ("{{ not nope }}", True),
        ("{{ nope or 3 }}", 3),
        ("{{ nope and 3 }}", None),
        ("{{ 1 if nope else 2 }}", 2),
        ("{{ 1 if nope }}", None),
        ("{{ nope | list }}", []),
        ("{{ nope | length }}", 0),
        ("{{ nope | items }}", []),
        ("{{ nope | first }}", None),
        ("{{ [] | first }}", None),
        ("{{ [nope, {'a': nope}] }}", [None, {"a": None}]),
        ("{{ [[nope]][0] }}", [None]),
        ("{{ [{}] | map(attribute='x') }}", [None]),
        ("{% for a in nope %}x{% else %}none{% endfor %}", "none"),
        ("{% if nope.a %}x{% endif %}", ""),
        ("a{{ 'b' if nope }}c", "ac"),
    ],
)
def test_undefined_chains_and_is_false(source: str, expected: object) -> None:
    assert value(source) == expected


@pytest.mark.spec("TP-07")
@pytest.mark.parametrize(
    "source",
    [
        *(
            "x{{ nope }}",
            "x{{ ctx.gone.a }}",
            "{{ nope ~ '' }}",
            "{{ [nope] | join }}",
            "{{ nope | join }}",
            "{{ nope | string }}",
        ),
        *("{{ nope | upper }}", "{{ nope | tojson }}", "{{ [nope] | tojson }}", "{{ nope | int }}", "x{{ [nope] }}"),
        *("{{ nope + 1 }}", "{{ 1 - nope }}", "{{ -nope }}", "{{ nope < 1 }}", "{{ 1 >= nope }}", "x{{ {'a': nope} }}"),
        *(
            "{{ 'a'.replace(nope, 'b') }}",
            "{{ range(nope) }}",
            "{{ nope.upper() }}",
            "{{ [1, nope] | sort }}",
            "{{ {nope: 1} }}",
        ),
        *(
            "{{ [nope] | sum }}",
            "{% set a = nope %}{{ a }}",
            "{% for a in [nope] %}{{ a }}{% endfor %}",
            "{{ dict(nope) }}",
        ),
    ],
)
def test_an_undefined_value_that_is_needed_is_a_fault_of_kind_undefined(source: str) -> None:
    assert fault(source).kind == "undefined"


@pytest.mark.spec("TP-07")
def test_the_fault_names_the_expression_its_place_and_the_names_that_exist() -> None:
    found = fault("page {{ ctx.pgae }} of {{ n }}")

    assert found.expression == "page {{ ctx.pgae }} of {{ n }}"
    assert found.expression[found.offset :].startswith(".pgae")
    assert found.names == ("none", "page", "rows")
    assert found.message == "ctx.pgae is undefined; there is none, page, rows"
    assert str(found).endswith("(in page {{ ctx.pgae }} of {{ n }} at character 12)")


@pytest.mark.spec("TP-07")
def test_an_unknown_name_is_answered_with_the_names_of_the_scope() -> None:
    found = fault("{{ workload.x }}!")

    assert (found.offset, found.names) == (3, ("ctx", "iter", "n"))
    assert found.message.startswith("workload is undefined")


@pytest.mark.spec("TP-07")
def test_the_first_missing_part_of_a_path_is_the_one_named() -> None:
    assert fault("{{ ctx.a.b.c }}!").message.startswith("ctx.a is undefined")
    assert fault("{{ ctx['x y'].c }}!").message.startswith("ctx['x y'] is undefined")
    assert fault("{{ ctx.rows[iter.i ~ ''] }}!").message.startswith("iter.i is undefined")
    assert fault("{{ ctx.rows[n] }}!").message.startswith("the element [n] is undefined")


@pytest.mark.spec("TP-07")
def test_a_long_expression_is_cut() -> None:
    assert len(fault("{{ nope }}" + "x" * 1000).expression) == 200
