"""How durations, data and tables read."""

import pytest

from noetl.cli.words import clean, data_lines, duration, moment, one_line, plural, table


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-0.001, "0 ms"),
        (0.042, "42 ms"),
        (0.9996, "1.0 s"),
        (1.25, "1.2 s"),
        (59.96, "1 m 00 s"),
        (185, "3 m 05 s"),
        (3599.6, "1 h 00 m"),
        (7800, "2 h 10 m"),
        (90000, "1 d 01 h"),
    ],
)
def test_a_duration_reads_as_people_say_it(seconds, words):
    assert duration(seconds) == words


def test_a_moment_is_in_the_reader_s_time_zone(monkeypatch):
    assert moment(None) == "-"
    assert moment("2026-03-01T12:00:00.125Z")[13:] == ":00:00"


@pytest.mark.parametrize("text", ["\x1b[2J", "\x07", "\x9b31m", "a\rb", "\x1b]0;title\x07"])
def test_data_cannot_talk_to_the_terminal(text):
    for said in (clean(text), *data_lines(text), *data_lines({"a": text}), one_line(text, 80)):
        assert said.isprintable()


def test_a_text_is_shown_as_it_is_and_data_as_json():
    assert data_lines("a\nb") == ["a", "b"]
    assert data_lines({"a": [1]}) == ["{", '  "a": [', "    1", "  ]", "}"]


def test_one_line_is_cut_where_it_is_too_long():
    assert one_line({"a": "x" * 50}, 10) == '{"a":"xxx…'


def test_columns_are_as_wide_as_their_widest_cell():
    assert table([("1", "success", "x"), ("4097", "no", "y")], ("ID", "STATUS", "P")) == [
        "ID    STATUS   P",
        "1     success  x",
        "4097  no       y",
    ]


def test_counts_agree_with_their_word():
    assert (plural(1, "step"), plural(2, "step"), plural(1234, "step")) == ("1 step", "2 steps", "1,234 steps")


def test_a_narrow_table_has_no_lines_for_cells_that_are_empty_and_keeps_what_is_inside_inside():
    rows = [("price", "9", "", "33 s"), ("  loop, 3 ×", "", "", ""), ("  multiply", "3", "10 s", "33 s")]

    lines = "\n".join(table(rows, ("step", "attempts", "each", "at worst"), terminal=20)).splitlines()

    assert lines == [
        "step",
        "price",
        "  attempts  9",
        "  at worst  33 s",
        "  loop, 3 ×",
        "  multiply",
        "    attempts  3",
        "    each      10 s",
        "    at worst  33 s",
    ]
