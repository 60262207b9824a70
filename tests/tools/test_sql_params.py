"""The type of `params` says what a placeholder is; everything else in the SQL stays as it is written."""

from typing import Any

import pytest

from noetl.errors import UnusableSql
from noetl.sql import Bound, Sql
from noetl.tools.sql_statements import statements


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize(
    ("command", "params", "text", "values"),
    [
        ("SELECT :a, :b, :a", {"a": 1, "b": 2}, "SELECT $1, $2, $1", (1, 2)),
        ("SELECT :a::int, x::text, y := :a", {"a": 1}, "SELECT $1::int, x::text, y := $1", (1,)),
        ("SELECT t[1:2], t[i:j], t[(i):j], :a", {"a": 1}, "SELECT t[1:2], t[i:j], t[(i):j], $1", (1,)),
        ("SELECT t[: n], {'k':v}, :a", {"a": 1}, "SELECT t[: n], {'k':v}, $1", (1,)),
        ("SELECT a=:a, b>:a, ARRAY[:a]", {"a": 1}, "SELECT a=$1, b>$1, ARRAY[$1]", (1,)),
        ("SELECT ':a', \":a\", $$ :a $$, :a -- :a", {"a": 1}, "SELECT ':a', \":a\", $$ :a $$, $1 -- :a", (1,)),
        ("SELECT %(a)s, a=%(a)s, :b", {"a": 1, "b": 2}, "SELECT $1, a=$1, $2", (1, 2)),
        ("SELECT j ? 'k', j ?| :a, j ?& :a, j @? :a", {"a": 1}, "SELECT j ? 'k', j ?| $1, j ?& $1, j @? $1", (1,)),
        ("SELECT :größe", {"größe": 1}, "SELECT $1", (1,)),
        ("SELECT $2, $1, $2", ["a", "b"], "SELECT $1, $2, $1", ("b", "a")),
        ("SELECT $1 WHERE j ? 'k' AND a %s", ["a"], "SELECT $1 WHERE j ? 'k' AND a %s", ("a",)),
        ("SELECT %s, b=%s WHERE j ? 'k'", [1, 2], "SELECT $1, b=$2 WHERE j ? 'k'", (1, 2)),
        ("SELECT ?, b=?, ?||'x', j ?| t, j ?& t, j @? t", [1, 2, 3],
         "SELECT $1, b=$2, $3||'x', j ?| t, j ?& t, j @? t", (1, 2, 3)),
        ("SELECT '?', '%s', '$1', ?", [1], "SELECT '?', '%s', '$1', $1", (1,)),
        ("SELECT 1 LIMIT?OFFSET?", [1, 2], "SELECT 1 LIMIT $1 OFFSET $2", (1, 2)),
        ("SELECT ?::text", [None], "SELECT $1::text", (None,)),
        ("SELECT $1, %s, :x, ?, %(y)s", None, "SELECT $1, %s, :x, ?, %(y)s", ()),
        ("SELECT a % s", {}, "SELECT a % s", ()),
    ],
)  # fmt: skip
def test_params_fill_their_placeholders_and_nothing_else(
    command: str, params: Any, text: str, values: tuple[object, ...]
) -> None:
    (found,) = statements(command, params)

    assert (found.text, found.values) == (text, values)


@pytest.mark.spec("UP-03")
def test_the_params_are_those_of_all_statements_together() -> None:
    assert [one.values for one in statements("SELECT ?; SELECT ?, ?", [1, 2, 3])] == [(1,), (2, 3)]
    assert [one.values for one in statements(["SELECT :a", "SELECT :b"], {"a": 1, "b": 2})] == [(1,), (2,)]
    assert [one.values for one in statements("SELECT $2; SELECT $1, $2", [1, 2])] == [(2,), (1, 2)]


@pytest.mark.spec("TL-03")
def test_params_and_templates_go_together() -> None:
    (found,) = statements(Sql(("SELECT :a, ", Bound("x"), ", ':a ", Bound("y"), "', :a")), {"a": 1})

    assert (found.text, found.values) == ("SELECT $1, $2, $3, $1", (1, "x", ":a y"))


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize(
    ("command", "params", "message"),
    [
        ("SELECT 1,\n:c", {"a": 1, "b": 2}, 'line 2 .*:c has no value: params has no "c", only: a, b; for a slice'),
        ("SELECT %(c)s", {"a": 1}, 'has no "c", only: a$'),
        ("SELECT $3", [1, 2], r"\$3 has no value: params has 2 values, and this is number 3"),
        ("SELECT $0", [1, 2], r"\$0 has no value"),
        ("SELECT ?, ?", [1], "params has 1 values, and this is number 2"),
        ("SELECT :a", {"a": 1, "b": 2, "c": 3}, "does not use: b, c; write :b outside of quotes"),
        ("SELECT ':a'", {"a": 1}, "does not use: a; write :a"),
        ("SELECT '%s'", ["x"], r"does not use: 1; write \$1"),
        ("SELECT ?", [1, 2], "does not use: 2"),
        ("SELECT 1", {"a": 1}, "does not use: a"),
    ],
)
def test_params_that_are_missing_or_not_used_are_named(command: str, params: Any, message: str) -> None:
    with pytest.raises(UnusableSql, match=message):
        statements(command, params)
