"""SQL of a task: what its templates give stays apart from what the author wrote (security 8)."""

from typing import Any

import pytest

from noetl.dsl.model import Parts, Value
from noetl.dsl.source import Place
from noetl.engine.values import Fault, rendered, rendered_field
from noetl.expressions import parse
from noetl.secret import Secret
from noetl.sql import Bound, Name, Sql
from tests.engine.books import ran

SCOPE = {
    "x": "it's",
    "n": 1,
    "rows": [{"id": 1}, {"id": 2}],
    "keychain": {"db": {"password": "s3cret"}},
    "sealed": Secret("s3cret"),
}


def value(parts: Parts, *reads: str) -> Value:
    return Value(place=Place("t.yaml", 7, 3, 7, 9), parts=parts, reads=frozenset(reads), is_sql=True)


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize(
    ("source", "pieces"),
    [
        ("SELECT {{ x }}, '{{ n }}'", ("SELECT ", Bound("it's"), ", '", Bound(1), "'")),
        ("SELECT {{ 'a.b' | ident }}", ("SELECT ", Name(("a", "b")))),
        ("SELECT {{ ['a.b', x] | ident }}", ("SELECT ", Name(("a.b", "it's")))),
        ("SELECT {{ 'now()' | raw_sql }}", ("SELECT ", "now()")),
        ("{{ 'SELECT 1' | raw_sql }}", ("SELECT 1",)),
        ("SELECT{% for r in rows %} {{ r.id }},{% endfor %} 0",
         ("SELECT", " ", Bound(1), ",", " ", Bound(2), ",", " 0")),
        ("SELECT 1{% if n == 2 %} WHERE {{ x }}{% endif %}", ("SELECT 1",)),
        ("{% set a = x ~ '!' %}SELECT {{ a }}", ("SELECT ", Bound("it's!"))),
        ("SELECT {% filter upper %}a{{ x }}{% endfilter %}", ("SELECT ", Bound("AIT'S"))),
        ("SELECT {{ sealed }}", ("SELECT ", Bound(Secret("s3cret")))),
    ],
)  # fmt: skip
def test_what_a_template_gives_stays_apart_from_the_text(source: str, pieces: tuple[Any, ...]) -> None:
    assert rendered(value(parse(source)), SCOPE) == Sql(pieces)


@pytest.mark.spec("TL-03")
def test_commands_without_templates_have_the_same_shape() -> None:
    found = rendered(value(["SELECT 1", parse("SELECT {{ n }}")]), SCOPE)

    assert found == [Sql(("SELECT 1",)), Sql(("SELECT ", Bound(1)))]


@pytest.mark.spec("TL-03", "TP-07")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{ x }}", r"t.yaml:7:3: .*never run.*\| raw_sql"),
        (" {{ 'a' | ident }}\n", "never run"),
        ("{{ x | raw_sql if n == 2 else x }}", "never run"),
        ("SELECT {{ gone }}", "gone"),
        ("SELECT {{ '' | ident }}", "ident needs a name"),
        ("SELECT {{ 'a..b' | ident }}", "ident needs a name"),
        ("SELECT {{ [] | ident }}", "ident needs a name"),
        ("SELECT {{ 1 | ident }}", "ident needs text"),
        ("SELECT {{ 'a.b.c.d.e' | ident }}", "ident needs a name"),
    ],
)
def test_what_cannot_be_a_part_of_sql_is_refused_at_run_time_too(source: str, message: str) -> None:
    with pytest.raises(Fault, match=message) as caught:
        rendered(value(parse(source)), SCOPE)

    assert caught.value.error.details["place"] == "t.yaml:7:3"


@pytest.mark.spec("KC-05")
def test_values_made_from_a_credential_are_sealed_and_the_text_is_not() -> None:
    parts: Parts = [parse("SELECT {{ keychain.db.password }}, '{{ n }}'"), "SELECT 2"]

    found = rendered_field(value(parts, "keychain", "n"), SCOPE)

    assert found == [Sql(("SELECT ", Bound(Secret("s3cret")), ", '", Bound(1), "'")), Sql(("SELECT 2",))]
    assert "s3cret" not in repr(found)


@pytest.mark.spec("KC-05", "EV-01")
def test_rules_and_sets_read_sql_as_text_without_its_values() -> None:
    made = ran(
        """
        keychain: [{name: db, kind: postgres_credential}]
        workload: {x: canary}
        workflow:
          - step: start
            tool:
              - name: a
                kind: postgres
                auth: db
                commands: ["SELECT {{ workload.x }}", "SELECT * FROM {{ 't' | ident }}"]
                set: {ctx.seen: "{{ input.commands }}"}
                spec:
                  policy:
                    rules:
                      - when: "{{ 'SELECT' in input.commands[0] }}"
                        then: {do: continue, set: {ctx.first: "{{ input.commands[0] }}"}}
                      - else: {then: {do: fail}}
        """,
        {"a": [[]]},
    )

    assert made.state.ctx == {"seen": ["SELECT …", 'SELECT * FROM "t"'], "first": "SELECT …"}
