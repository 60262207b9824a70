"""Every command has a help that says what it does, with an example that the command itself understands."""

import re
import shlex
from itertools import takewhile

import click
import pytest
from click.testing import CliRunner

from noetl.cli.group import noetl
from noetl.cli.main import VERBS

EXAMPLE = re.compile(r"Example: (noetl .+)")


def commands():
    """Every command there is, by the words that it is asked for with."""
    waiting = [((name,), noetl.get_command(click.Context(noetl), name)) for name in VERBS]
    while waiting:
        words, command = waiting.pop()
        yield words, command
        waiting += [((*words, name), below) for name, below in getattr(command, "commands", {}).items()]


COMMANDS = {" ".join(words): command for words, command in commands()}


def help_of(name, columns=80):
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(noetl, [*name.split(), "--help"], terminal_width=columns)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_says_what_it_does_in_one_line_and_ends_with_an_example_that_parses(name):
    said = help_of(name)
    summary, *_ = COMMANDS[name].help.split("\n")
    examples = EXAMPLE.findall(said.output)

    assert said.exit_code == 0
    assert len(summary) <= 120
    assert summary.endswith((".", ":")) or len(COMMANDS[name].help.split("\n\n")[0].split("\n")) > 1
    assert examples, f"noetl {name} --help has no Example: line"
    for example in examples:
        assert_parses(example)


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize("name", COMMANDS)
def test_an_example_is_one_line_however_narrow_the_terminal(name, columns):
    wide, narrow = (EXAMPLE.findall(help_of(name, width).output) for width in (200, columns))

    assert narrow == wide


def assert_parses(line):
    """The words of an example, up to where the shell takes over, are what the command takes; nothing is run."""
    words = [*takewhile(lambda word: word not in ("|", "<", ">"), shlex.split(line))][1:]
    command, context = noetl, click.Context(noetl, info_name="noetl")
    while isinstance(command, click.Group):
        name, command, words = command.resolve_command(context, words)
        context = click.Context(command, parent=context, info_name=name)
    context.resilient_parsing = False
    command.parse_args(context, words)


@pytest.mark.parametrize("line", ["noetl show", "noetl list --statu failed", "noetl catalog lst", "noetl token create"])
def test_an_example_that_does_not_parse_is_seen(line):
    with pytest.raises(click.UsageError):
        assert_parses(line)
