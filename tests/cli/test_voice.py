"""What is said while a playbook runs looks as if click had said it."""

import io
import sys

import click
import pytest

from noetl.cli.voice import say
from noetl.cli.words import CODES, COLOURS, coloured


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
@pytest.mark.parametrize("err", [False, True])
@pytest.mark.parametrize("text", ["", "a → b", "two\nlines", coloured("red", "red", bold=True) + " and plain"])
def test_a_line_is_said_as_click_says_it(stream, err, text, monkeypatch):
    said, by_click = stream(), stream()

    monkeypatch.setattr(sys, "stderr" if err else "stdout", said)
    say(text, err=err)
    monkeypatch.setattr(sys, "stderr" if err else "stdout", by_click)
    click.echo(text, err=err)

    assert said.getvalue() == by_click.getvalue()


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("colour", [*CODES, None])
def test_a_text_is_coloured_as_click_colours_it(colour, bold, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)

    text = coloured("text", colour, bold=bold)

    assert text == click.style("text", fg=colour, bold=bold or None)


def test_every_status_has_a_colour_of_the_terminal():
    assert set(COLOURS.values()) <= set(CODES)


def test_no_colour_is_used_where_none_is_wanted(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")

    assert coloured("text", "red", bold=True) == "text"
