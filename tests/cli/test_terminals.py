"""Narrow terminals, wide letters, colours and terminals without UTF-8, on a real pseudo-terminal."""

import re

import pytest

from noetl.cli.words import columns_of, cut, padded, table
from tests.cli.running import HEAD, noetl
from tests.cli.terminal import on_terminal

NAME = "日本語のとても長いステップ名前でございます"
WIDE = HEAD + f"workflow: [{{step: {NAME}, tool: {{kind: noop, input: {{city: Zürich}}}}}}]\n"
SLOW = (
    HEAD
    + "workflow:\n  - step: start\n    tool: {kind: noop}\n    next: {spec: {mode: inclusive}, arcs: ["
    + ", ".join(f"{{step: {'ひろい' * 6 if number % 2 else 'long_' * 12}{number}}}" for number in range(50))
    + "]}\n"
    + "".join(
        f"  - step: {'ひろい' * 6 if number % 2 else 'long_' * 12}{number}\n"
        "    tool: {kind: python, code: 'import time; time.sleep(0.1)'}\n"
        for number in range(50)
    )
)


@pytest.fixture
def home(tmp_path):
    (tmp_path / "wide.yaml").write_text(WIDE, encoding="utf-8")
    noetl("run", "wide.yaml", "-q", home=tmp_path)
    return tmp_path


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_a_table_becomes_lists_where_columns_do_not_fit(home):
    narrow, wide = (plain(on_terminal("list", home=home, columns=columns)) for columns in (40, 60))

    assert max(map(columns_of, narrow.splitlines())) <= 40
    assert "  PLAYBOOK  tests/trial@1\n" in narrow
    assert re.search(
        r"^1   success  \S+ \S+  .* tests/trial@1$", wide.replace("1  success", "1   success"), re.MULTILINE
    )


@pytest.mark.parametrize("columns", [40, 60, 300])
def test_show_cuts_names_visibly_and_lines_bars_up_with_wide_letters(home, columns):
    shown = plain(on_terminal("show", "last", home=home, columns=columns))

    (line,) = [line for line in shown.splitlines() if line.startswith("✓ ")]
    assert "…" in line
    assert f"{NAME}_task" in line  # whole: what is cut in one place stands in another
    assert ("━" in line) == (columns >= 60)


@pytest.mark.parametrize(
    ("environ", "is_coloured"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
    ],
)
@pytest.mark.parametrize(
    "words", [("list",), ("show", "last"), ("run", "wide.yaml"), ("run", "bad.yaml"), ("check", "bad.yaml")]
)
def test_colours_are_there_where_they_are_wanted(home, words, environ, is_coloured):
    (home / "bad.yaml").write_text(WIDE.replace("kind: noop", "kind: nope"), encoding="utf-8")

    seen = on_terminal(*words, home=home, **environ)

    assert bool(re.search(r"\x1b\[(?:1|3\d|9\d)m", seen)) == is_coloured


@pytest.mark.parametrize("words", [("list",), ("run", "wide.yaml")])
def test_a_pipe_gets_colours_only_if_it_is_forced(home, words):
    usual, forced = noetl(*words, home=home), noetl(*words, home=home, FORCE_COLOR="1")

    assert "\x1b[" not in usual.stdout + usual.stderr
    assert "\x1b[" in forced.stdout + forced.stderr


def test_a_terminal_without_utf_8_gets_readable_text(home):
    shown = on_terminal("show", "last", home=home, PYTHONIOENCODING="ascii")
    latin = on_terminal("run", "wide.yaml", home=home, PYTHONIOENCODING="latin-1")

    assert plain(shown).isascii()
    assert "+ success" in plain(shown)
    assert "Z\\xfcrich" in shown
    assert "\N{REPLACEMENT CHARACTER}rich" in latin  # its own byte for ü, which is no UTF-8


def test_what_goes_into_a_pipe_is_utf_8_whatever_the_terminal_knows(home):
    assert "Zürich" in noetl("show", "last", home=home, PYTHONIOENCODING="ascii").stdout


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 100])
def test_the_drawing_of_fifty_steps_with_long_names_stays_within_its_terminal(tmp_path, columns):
    (tmp_path / "slow.yaml").write_text(SLOW, encoding="utf-8")

    seen = on_terminal("run", "slow.yaml", home=tmp_path, columns=columns)

    drawn = [line for line in plain(seen).replace("\r", "\n").splitlines() if line[:1] in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" and line]
    assert drawn
    assert max(map(columns_of, drawn)) <= columns
    assert "more step" in seen  # there are fifty, and 24 rows
    assert "✓ success" in plain(seen)


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("日本", 4), ("é", 1), ("e\u0301", 1), ("🎉", 2), ("", 0)])
def test_letters_take_the_room_that_a_terminal_gives_them(text, columns):
    assert columns_of(text) == columns


@pytest.mark.parametrize("width", range(8))
@pytest.mark.parametrize("text", ["", "abc", "日本語日本語", "a日b本c語", "longer than that"])
def test_a_cut_text_fits_and_says_that_it_was_cut(text, width):
    shown = cut(text, width)

    assert columns_of(shown) <= width
    assert shown == text or shown.endswith("…") or width == 0
    assert columns_of(padded(text, width)) == width


def test_columns_line_up_under_wide_letters():
    head, first, second = table([("日本", "x"), ("abcd", "y")], ("N", "M"), terminal=0)

    assert columns_of(first.partition("x")[0]) == columns_of(second.partition("y")[0]) == columns_of(head) - 1
