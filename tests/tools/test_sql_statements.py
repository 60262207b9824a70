"""SQL of a playbook becomes statements: split where they end, values apart from the text."""

import pytest

from noetl.errors import UnusableSql
from noetl.secret import Secret
from noetl.sql import Bound, Name, Sql
from noetl.tools.sql_statements import Statement, statements


def sql(text: str, *values: object) -> Sql:
    """A command with a value, or a Name, for each ¤."""
    texts = text.split("¤")
    pieces: list[str | Bound | Name] = [texts[0]]
    for value, following in zip(values, texts[1:], strict=True):
        pieces += [value if isinstance(value, Name) else Bound(value), following]
    return Sql(tuple(pieces))


def one(text: str, *values: object) -> tuple[str, tuple[object, ...]]:
    """The only statement of a command."""
    (found,) = statements(sql(text, *values))
    return found.text, found.values


@pytest.mark.spec("UP-03")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        (" ;; SELECT 1 ;\n; ", ["SELECT 1"]),
        ("", []),
        ("-- nothing; at all", []),
        ("SELECT ';' ; SELECT ''';'", ["SELECT ';'", "SELECT ''';'"]),
        (r"SELECT 'a\'; SELECT 2", [r"SELECT 'a\'", "SELECT 2"]),
        (r"SELECT E'a\';'; SELECT 2", [r"SELECT E'a\';'", "SELECT 2"]),
        ('SELECT 1 AS "a;""b;"; SELECT 2', ['SELECT 1 AS "a;""b;"', "SELECT 2"]),
        ("SELECT $$ ; ' $$; SELECT 2", ["SELECT $$ ; ' $$", "SELECT 2"]),
        ("SELECT $a$ $$ ; $b$ $a$; SELECT 2", ["SELECT $a$ $$ ; $b$ $a$", "SELECT 2"]),
        ("SELECT a$b$c; SELECT 2", ["SELECT a$b$c", "SELECT 2"]),
        ("SELECT 1 -- it's; over\n; SELECT 2", ["SELECT 1 -- it's; over", "SELECT 2"]),
        ("SELECT /* a; /* b; */ c; */ 1; SELECT 2", ["SELECT /* a; /* b; */ c; */ 1", "SELECT 2"]),
        ("/*+ hint */ SELECT 1; /* bye */", ["/*+ hint */ SELECT 1"]),
        ("SELECT 1 /* ' */; SELECT 2", ["SELECT 1 /* ' */", "SELECT 2"]),
        ("SELECT a-- it's\n;SELECT 2", ["SELECT a-- it's", "SELECT 2"]),
        ("SELECT U&'d;' , N'n;', B'1', X'f'; SELECT 2", ["SELECT U&'d;' , N'n;', B'1', X'f'", "SELECT 2"]),
        ("SELECT U&\"d;\"; SELECT 2", ["SELECT U&\"d;\"", "SELECT 2"]),
        ("CREATE RULE r AS ON INSERT TO t DO ALSO (SELECT 1; SELECT 2); SELECT 3",
         ["CREATE RULE r AS ON INSERT TO t DO ALSO (SELECT 1; SELECT 2)", "SELECT 3"]),
        ("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3",
         ["CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END", "SELECT 3"]),
        ("BEGIN; SELECT 1; END; SELECT 2", ["BEGIN", "SELECT 1", "END", "SELECT 2"]),
        ("SELECT 1); SELECT 2", ["SELECT 1)", "SELECT 2"]),
    ],
)  # fmt: skip
def test_a_command_is_split_where_its_statements_end(command: str, expected: list[str]) -> None:
    assert [statement.text for statement in statements(command)] == expected


@pytest.mark.spec("UP-03")
def test_a_statement_knows_its_line_and_its_command() -> None:
    found = statements(["-- first\nSELECT 1;\n\nSELECT\n2", sql("\n\nSELECT '\n¤\n', ¤\n;  SELECT 3", "a", "b")])

    assert [(one.line, one.command) for one in found] == [(1, 0), (4, 0), (3, 1), (6, 1)]
    assert found[2] == Statement(text="SELECT $1\n\n, $2", values=("\na\n", "b"), line=3, command=1)


@pytest.mark.spec("UP-03")
def test_values_of_a_dropped_comment_do_not_move_to_other_statements() -> None:
    first, second = statements(sql("SELECT ¤; -- ¤\n; /* ¤ */ ; SELECT ¤ -- ¤", 1, 2, 3, 4, 5))

    assert (first.values, second.values) == ((1,), (4,))


@pytest.mark.spec("UP-03")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("SELECT 1;\nSELECT 'abc", "line 2 of the SQL: a text that begins with ' is never closed"),
        ("SELECT 'abc''", "begins with ' is never closed"),
        (r"SELECT E'abc\'", "begins with E' is never closed"),
        ('SELECT "abc', 'begins with " is never closed'),
        ("SELECT $a$ $b$", r"begins with \$a\$ is never closed"),
        ("SELECT 1 /* /* */", r"line 1 of the SQL: a comment that begins with /\* is never closed"),
        ("SELECT '\0'", r"U\+0000"),
    ],
)
def test_what_is_opened_and_never_closed_is_refused_with_its_line(command: str, message: str) -> None:
    with pytest.raises(UnusableSql, match=message):
        statements(command)


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("SELECT ¤", ("it's",), ("SELECT $1", ("it's",))),
        ("SELECT ¤::int+¤", (1, None), ("SELECT $1::int+$2", (1, None))),
        ("SELECT ¤, ¤", ([1], {"a": 1}), ("SELECT $1, $2", ([1], {"a": 1}))),
        ("SELECT a[¤:¤]", (1, 2), ("SELECT a[$1:$2]", (1, 2))),
        ("SELECT '¤'", ("it's",), ("SELECT $1", ("it's",))),
        ("SELECT '¤-x'", ("a",), ("SELECT $1", ("a-x",))),
        ("SELECT 'it''s ¤, ¤!'", ("a", "b"), ("SELECT $1", ("it's a, b!",))),
        (r"SELECT '\n¤'", ("a",), ("SELECT $1", (r"\na",))),
        (r"SELECT E'\n\t\\\'''\x41\101\q¤'", (r"\n",), ("SELECT $1", ("\n\t\\''AAq\\n",))),
        (r"SELECT E'\u00e9\U0001F600¤'", (r"\t",), ("SELECT $1", ("\u00e9\U0001f600\\t",))),
        (r"SELECT E'\ud83d\ude00¤'", ("x",), ("SELECT $1", ("\U0001f600x",))),
        (r"SELECT U&'\0041\+01F600\\''¤'", (r"\0041",), ("SELECT $1", ("A\U0001f600\\'\\0041",))),
        ("SELECT $$it's ¤$$", ("$$",), ("SELECT $1", ("it's $$",))),
        ("SELECT $a$¤$a$ || ¤", ("x", "y"), ("SELECT $1 || $2", ("x", "y"))),
        ("SELECT N'¤'", ("a",), ("SELECT $1", ("a",))),
        ("SELECT '¤', '¤', '¤'", (True, 1.5, 7), ("SELECT $1, $2, $3", ("true", "1.5", "7"))),
        ("SELECT '¤', ' ¤'", (None, None), ("SELECT $1, $2", (None, " "))),
        ("SELECT '¤'::jsonb", ({"a": [1, None]},), ("SELECT $1::jsonb", ('{"a":[1,null]}',))),
        ("SELECT date '¤'", ("2024-05-06",), ("SELECT CAST($1 AS DATE)", ("2024-05-06",))),
        ("SELECT now() - interval\n '¤ days'", (3,), ("SELECT now() - CAST($1 AS INTERVAL)", ("3 days",))),
        ("SELECT timestamp with time zone '¤'", ("x",), ("SELECT CAST($1 AS TIMESTAMP WITH TIME ZONE)", ("x",))),
        ("SELECT a LIKE '¤%'", ("x",), ("SELECT a LIKE $1", ("x%",))),
        ("SELECT date, '¤'", ("x",), ("SELECT date, $1", ("x",))),
        ("SELECT a LIKE'¤'AND'¤'OR b", ("x", "y"), ("SELECT a LIKE $1 AND $2 OR b", ("x", "y"))),
        ("SELECT '¤'$$a$$", ("x",), ("SELECT $1 $$a$$", ("x",))),
        ("SELECT 1 -- ¤", ("\n; DROP TABLE t",), ("SELECT 1 --  ", ())),
        ("SELECT /* *¤/ */ 1", ("x",), ("SELECT /* * / */ 1", ())),
    ],
)  # fmt: skip
def test_a_value_is_bound_where_it_stands(text: str, values: tuple[object, ...], expected: object) -> None:
    assert one(text, *values) == expected


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("SELECT * FROM ¤", ("orders",), ('SELECT * FROM "orders"', ())),
        ("SELECT * FROM ¤ o", ("a.b", 'c"; --'), ('SELECT * FROM "a.b"."c""; --" o', ())),
        ("SELECT o.¤ FROM o", ("id",), ('SELECT o."id" FROM o', ())),
        ("SELECT '¤'::regclass", ("it's",), ("SELECT $1::regclass", ('"it\'s"',))),
        ("SELECT 1 /* ¤ */", ("*/ DROP TABLE t",), ("SELECT 1 /*   */", ())),
    ],
)
def test_a_name_is_quoted_where_it_stands(text: str, name: tuple[str, ...], expected: object) -> None:
    assert one(text, Name(name)) == expected


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("¤", "cannot begin with a value.*raw_sql"),
        ("SELECT 1; /* a */ ¤", "cannot begin with a value"),
        ("'¤'", "cannot begin with a value"),
        ('SELECT 1 AS "a_¤"', r"line 1 .*quoted name.*\| ident"),
        ("SELECT * FROM log_¤", r"part of a word.*\| ident"),
        ("SELECT * FROM ¤_log", r"\| ident"),
        ("SELECT 1\n, s.¤", r"line 2 .*\| ident"),
        ("SELECT ¤.s", r"\| ident"),
        ("SELECT $¤", "part of a word"),
        ("SELECT ¤$$ a $$", "part of a word"),
        ("SELECT ¤1", "part of a word"),
        ('SELECT "a"¤', "part of a word"),
        ("SELECT U&¤", "part of a word"),
        ("SELECT X'¤'", r"B'' or X''.*CAST"),
        (r"SELECT E'\¤'", "backslash"),
        (r"SELECT E'\xe9¤'", r"\\xe9 is not a character"),
        (r"SELECT E'\000¤'", "is not a character"),
        (r"SELECT E'\UFFFFFFFF¤'", "is not a character"),
        (r"SELECT E'\ud83d¤'", "half of a character"),
        ("SELECT interval '¤' day", "interval '{{ … }} day'"),
        ("SELECT ¤, $1", r"\$1 stands beside other values.*params"),
        ("DO $$ BEGIN PERFORM '¤'; END $$", "binds no value in DO.*set_config"),
        ("CREATE OR REPLACE FUNCTION f() RETURNS int AS $$ SELECT ¤ $$ LANGUAGE sql", "no value in CREATE FUNCTION"),
        ("COMMENT ON\nTABLE t\nIS '¤'", "line 1 .*no value in COMMENT"),
    ],
)
def test_a_value_that_cannot_be_bound_is_refused_and_not_printed(text: str, message: str) -> None:
    with pytest.raises(UnusableSql, match=message) as caught:
        one(text, "canary")

    assert "canary" not in str(caught.value)


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize("text", ['"a"¤', '¤"a"', "a¤", "¤a", "U&¤"])
def test_a_name_that_would_grow_together_with_its_neighbour_is_refused(text: str) -> None:
    with pytest.raises(UnusableSql, match="part of a word"):
        one(f"SELECT 1 AS {text}", Name(("x",)))


@pytest.mark.spec("TL-03")
def test_a_name_with_a_sign_that_no_sql_can_hold_is_refused() -> None:
    with pytest.raises(UnusableSql, match=r"U\+0000"):
        one("SELECT 1 AS ¤", Name(("a\0b",)))


@pytest.mark.spec("TL-03")
def test_two_values_that_touch_are_refused() -> None:
    with pytest.raises(UnusableSql, match="part of a word"):
        one("SELECT ¤¤", 1, 2)


@pytest.mark.spec("TL-03")
def test_a_definition_may_have_names_and_a_table_be_made_from_values() -> None:
    assert one("CREATE VIEW ¤ AS SELECT 1", Name(("v",)))[0] == 'CREATE VIEW "v" AS SELECT 1'
    assert one("CREATE TABLE t AS SELECT ¤", 1) == ("CREATE TABLE t AS SELECT $1", (1,))


@pytest.mark.spec("KC-05")
def test_a_secret_stays_sealed_also_as_a_part_of_a_text() -> None:
    _, values = one("SELECT ¤, 'Bearer ¤', '¤'", Secret("s3cret"), Secret("s3cret"), {"a": [Secret("s3cret")]})

    assert values == (Secret("s3cret"), Secret("Bearer s3cret"), Secret('{"a":["s3cret"]}'))
    assert "s3cret" not in repr(values)


@pytest.mark.spec("TL-03")
def test_a_value_of_a_type_without_sql_is_refused() -> None:
    with pytest.raises(UnusableSql, match="type object cannot be bound"):
        one("SELECT ¤", object())


@pytest.mark.spec("TL-03")
def test_a_range_is_bound_as_a_list() -> None:
    assert one("SELECT ¤", range(3)) == ("SELECT $1", ([0, 1, 2],))


@pytest.mark.spec("TL-03")
def test_more_values_than_a_statement_can_have_are_refused() -> None:
    with pytest.raises(UnusableSql, match="65535 values, but this has 65536; load rows with copy"):
        statements(sql("SELECT 1" + ", ¤" * 65_536, *range(65_536)))
