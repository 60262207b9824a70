"""Whatever the data is, the SQL that is run is what the author wrote (security 8)."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.errors import UnusableSql
from noetl.sql import Bound, Name, Sql
from noetl.tools.sql_lexer import LITERALS, NUMBERED, VALUE, Token, tokens_of
from noetl.tools.sql_statements import Statement, bound_anew, statements
from tests.tools.sql_injections import INJECTIONS

PLACES = {
    "bare": "SELECT ¤ AS a",
    "quoted": "SELECT '¤' AS a",
    "in a text": "SELECT 'it''s ¤!' AS a",
    "escaped": r"SELECT E'\n¤\'' AS a",
    "dollar": "SELECT $$¤$$ AS a",
    "tagged": "SELECT $tag$ ¤ $tag$ AS a",
    "unicode": r"SELECT U&'\0041¤' AS a",
    "constant": "SELECT interval '¤ days' AS a",
    "comment": "SELECT 1 /* ¤ */ AS a -- ¤",
    "condition": "SELECT 1 WHERE a='¤'AND b IN (¤, ¤)",
}

BITS = st.sampled_from(
    [
        *" ;'\"$\\\n-/*():?%&¤§eEuUxX1.",
        "''",
        "$$",
        "$t$",
        "--",
        "/*",
        "*/",
        "E'",
        "U&'",
        "BEGIN ATOMIC ",
        "END",
        "SELECT ",
    ]
)
TEXTS = st.lists(BITS, max_size=24).map("".join)
DATA = st.one_of(
    st.text(), st.sampled_from(INJECTIONS), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.text())
)


def filled(text: str, values: list[object]) -> Sql:
    """A value for each ¤ and a name for each §."""
    pieces: list[str | Bound | Name] = []
    left = list(values)
    for character in text:
        if character == "¤":
            pieces.append(Bound(left.pop()))
        else:
            pieces.append(Name((f"n{left.pop()}",)) if character == "§" else character)
    return Sql(tuple(pieces))


def texts_of(sql: Sql) -> list[str] | None:
    try:
        return [one.text for one in statements(sql)]
    except UnusableSql:
        return None


WORDS = st.sampled_from(
    [" ", ",", "(", ")", "¤", " ¤ ", "::int", ";", "\n", "a", "'a'", "'¤'", "/* ; */", "$1", "?", "\0"]
)
COMMANDS = st.lists(WORDS, max_size=16).map(lambda words: "SELECT " + "".join(words))


def outcome(sql: Sql, bind: Callable[[Sql], list[Statement]]) -> list[Statement] | tuple[str, int | None]:
    try:
        return bind(sql)
    except UnusableSql as fault:
        return str(fault), fault.line


@pytest.mark.spec("TL-03")
@given(text=st.one_of(TEXTS, COMMANDS), data=st.data())
def test_a_command_that_came_before_is_bound_as_if_it_were_new(text: str, data: st.DataObject) -> None:
    holes = text.count("¤") + text.count("§")
    rounds = data.draw(st.lists(st.lists(DATA, min_size=holes, max_size=holes), min_size=2, max_size=2))

    found = [outcome(filled(text, values), statements) for values in rounds]

    assert repr(found) == repr([outcome(filled(text, values), bound_anew) for values in rounds])  # repr: NaN is no NaN


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize("place", PLACES)
def test_no_injection_changes_the_text_in_any_place(place: str) -> None:
    text = PLACES[place]
    (expected,) = statements(filled(text, ["x"] * text.count("¤")))

    for payload in INJECTIONS:
        (found,) = statements(filled(text, [payload] * text.count("¤")))
        assert found.text == expected.text
        assert all(payload in value for value in found.values)


def test_the_list_of_injections_is_long_and_has_no_doubles() -> None:
    assert len(INJECTIONS) == len(set(INJECTIONS)) >= 60


@pytest.mark.spec("TL-03")
@given(text=TEXTS, data=st.data())
def test_the_text_depends_on_what_the_author_wrote_and_never_on_data(text: str, data: st.DataObject) -> None:
    holes = text.count("¤")
    one = data.draw(st.lists(DATA, min_size=holes, max_size=holes))
    other = data.draw(st.lists(DATA, min_size=holes, max_size=holes))
    values = text.replace("§", "")

    assert texts_of(filled(values, one)) == texts_of(filled(values, other))


@pytest.mark.spec("TL-03")
@given(text=TEXTS, data=st.data())
def test_what_is_sent_has_the_tokens_that_the_author_wrote(text: str, data: st.DataObject) -> None:
    """A database reads the sent text on its own: it must come to the same tokens, or a value has got out."""
    holes = text.count("¤") + text.count("§")
    sql = filled(text, data.draw(st.lists(st.text(), min_size=holes, max_size=holes)))
    try:
        found = statements(sql)
    except UnusableSql:
        return

    for one in found:
        sent = list(tokens_of(one.text))
        placeholders = [token.text for token in sent if token.kind == NUMBERED]
        if one.values:
            assert placeholders == [f"${number + 1}" for number in range(len(one.values))]
        assert statements(one.text) == [type(one)(text=one.text, line=1)]


@pytest.mark.spec("UP-03")
@given(text=st.one_of(TEXTS, st.text()))
def test_tokens_together_are_the_text_and_statements_lose_nothing_of_it(text: str) -> None:
    try:
        tokens = list(tokens_of(text))
        found = statements(text)
    except UnusableSql:
        return

    assert "".join(token.text for token in tokens) == text
    assert [token.start for token in tokens] == starts(tokens)
    rest = text
    for one in found:
        between, _, rest = rest.partition(one.text)
        assert statements(between) == []


def starts(tokens: list[Token]) -> list[int]:
    found, at = [], 0
    for token in tokens:
        found.append(at)
        at += len(token.text)
    return found


@pytest.mark.spec("TL-03")
@given(author=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), value=st.text())
def test_a_value_in_quotes_is_joined_to_what_the_author_wrote_there(author: str, value: str) -> None:
    quoted = author.replace("'", "''")
    escaped = quoted.replace("\\", "\\\\")

    (plain,) = statements(Sql((f"SELECT '{quoted}", Bound(value), f"{quoted}'")))
    (decoded,) = statements(Sql((f"SELECT E'{escaped}", Bound(value), f"{escaped}'")))

    assert plain.values == decoded.values == (author + value + author,)


def test_the_places_hold_every_sort_of_literal() -> None:
    kinds = {token.kind for text in PLACES.values() for token in tokens_of(text.replace("¤", "\0")) if token.holes}

    assert kinds >= (LITERALS - {"bits"}) | {VALUE, "comment"}
