"""SQL as tokens and statements: what is written between quotes or in comments never counts, and commands add up
(TL-03, UP-03).
"""

import pytest
from hypothesis import strategies as st

from noetl.errors import UnusableSql
from noetl.sql import Name
from noetl.tools.sql_lexer import COMMENT, DOLLAR, ESCAPED, QUOTED_NAME, SPACE, TEXT, UNICODE, Token, tokens_of
from noetl.tools.sql_statements import statements
from tests.properties.laws import law

PIECES = (
    *" ;,()=1",
    "SELECT ",
    "a",
    " b ",
    "'it''s'",
    "E'\\''",
    "$$ ; ' $$",
    "$t$;$$;$t$",
    '"x;y"',
    "-- ; '\n",
    "/* ; /* ' */ */",
    "BEGIN ATOMIC ",
    " END ",
    "CASE ",
    "::",
    ".5e1",
    "\n",
)
COMMANDS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
ANY = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
INSIDE = st.lists(
    st.sampled_from(("'", '"', ";", "--", "/*", "*/", "$$", "\\", "\n", "x", "é", "$t$")), max_size=8
).map("".join)


def texts(command: str) -> list[str] | None:
    try:
        return [one.text for one in statements(command)]
    except UnusableSql:
        return None


def telling(tokens: list[Token]) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokens if token.kind not in (SPACE, COMMENT)]


@pytest.mark.spec("UP-03")
@law(1000, first=COMMANDS, second=COMMANDS)
def test_the_statements_of_two_commands_are_those_of_both_one_after_the_other(first: str, second: str) -> None:
    """Where the first leaves nothing open: no parenthesis and no block."""
    one, other = texts(first), texts(second)

    both = texts(f"{first}\n;\n{second}")

    if one is not None and other is not None and not leaves_open(first):
        assert both == one + other


def leaves_open(command: str) -> bool:
    """Whether its end is inside something; a parenthesis that closes nothing is none."""
    depth = 0
    for token in tokens_of(command):
        depth = max(0, depth + {"(": 1, ")": -1}.get(token.text, 0))
    return depth > 0 or "BEGIN ATOMIC" in command


@pytest.mark.spec("UP-03")
@law(1000, command=COMMANDS)
def test_a_statement_by_itself_is_that_statement(command: str) -> None:
    for text in texts(command) or []:
        assert texts(text) == [text]


@pytest.mark.spec("TL-03")
@law(1000, inside=INSIDE | ANY)
def test_whatever_stands_between_quotes_is_one_token(inside: str) -> None:
    doubled = inside.replace("'", "''")
    written = {
        TEXT: f"'{doubled}'",
        ESCAPED: "E'" + doubled.replace("\\", "\\\\") + "'",
        UNICODE: f"U&'{doubled}'",
        DOLLAR: f"$q${inside.replace('$q$', '')}$q$",
        QUOTED_NAME: Name((inside,)).quoted,
    }

    for kind, text in written.items():
        assert [(token.kind, token.text) for token in tokens_of(f"{text};")] == [(kind, text), ("sign", ";")]


@pytest.mark.spec("TL-03")
@law(1000, command=COMMANDS, inside=INSIDE, place=st.integers(0, 12))
def test_a_comment_between_two_tokens_changes_no_token(command: str, inside: str, place: int) -> None:
    try:
        tokens = list(tokens_of(command))
    except UnusableSql:
        return
    spaces = [token.end for token in tokens if token.kind == SPACE] or [0]
    at = spaces[place % len(spaces)]
    line = "--" + inside.replace("\n", "") + "\n"
    block = "/*" + inside.replace("/*", "").replace("*/", "").replace("*", "").replace("/", "") + "*/"

    for comment in (line, block, block + line):
        assert telling(list(tokens_of(command[:at] + comment + command[at:]))) == telling(tokens)


@pytest.mark.spec("TL-03")
@law(1000, text=ANY | COMMANDS, more=INSIDE)
def test_any_text_is_tokens_or_a_refusal_that_names_a_line_of_it(text: str, more: str) -> None:
    text += more

    lines, tokens = read(text)

    assert 0 <= lines <= text.count("\n") + 1
    assert lines or "".join(token.text for token in tokens) == text
    assert all(token.text for token in tokens)


def read(text: str) -> tuple[int, list[Token]]:
    """The line of the refusal, or 0; and the tokens."""
    try:
        return 0, list(tokens_of(text))
    except UnusableSql as refusal:
        return refusal.line or -1, []
