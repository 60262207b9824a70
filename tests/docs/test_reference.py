"""Everything that has a name has its place in the reference: commands, settings, events, operations, codes, kinds."""

import re
from pathlib import Path

import click
import pytest

from noetl.api.table import OPERATIONS
from noetl.cli.group import noetl
from noetl.cli.main import VERBS
from noetl.config import SETTINGS
from noetl.config.meanings import MEANINGS
from noetl.dsl.pages import all_pages
from noetl.engine.events import EVENTS, NAMES
from noetl.tools.registry import declarations

DOCS = Path(__file__).parent.parent.parent / "docs"


def headings(name):
    return set(re.findall(r"^#+ (.+)$", (DOCS / name).read_text("utf-8"), re.MULTILINE))


def commands(group, path):
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


COMMANDS = dict(commands(noetl, "noetl"))


def test_there_are_commands_below_commands():
    assert {*COMMANDS} > {f"noetl {verb}" for verb in VERBS} | {"noetl keychain set", "noetl worker scale"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_help_with_an_example_and_its_place_in_the_reference(name):
    (example,) = re.findall(r"^ *Example: (.+)$", COMMANDS[name].help, re.MULTILINE)

    assert name in example
    assert name in headings("reference/commands.md")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_a_command_gives_options_that_it_has(name):
    help_text = " ".join(COMMANDS[name].help.partition("Example:")[2].split())
    flags = re.findall(r"(?<=\s)--[a-z][a-z-]*", help_text.partition(name)[2].partition(" | ")[0])
    known = {flag for one in walk_options(COMMANDS[name]) for flag in one}

    assert [flag for flag in flags if flag not in known] == []


def walk_options(command):
    yield from ((*one.opts, *one.secondary_opts) for one in command.params)
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from walk_options(below)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.key)
def test_a_setting_has_its_place_with_its_variable_and_its_meaning(setting):
    section = (DOCS / "reference" / "settings.md").read_text("utf-8").partition(f"\n## {setting.key}\n")[2]

    assert f"`{setting.variable}`" in section.partition("\n## ")[0]
    assert len(MEANINGS[setting.key].words.split()) > 1


def test_nothing_is_explained_that_is_no_setting():
    assert {*MEANINGS} == {setting.key for setting in SETTINGS}


@pytest.mark.parametrize("kind", EVENTS, ids=NAMES.get)
def test_an_event_has_its_place(kind):
    assert NAMES[kind] in headings("reference/events.md")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{one.method} {one.path}")
def test_an_operation_has_its_place(operation):
    assert f"{operation.method} {operation.path}" in headings("reference/api.md")


@pytest.mark.parametrize("code", [page.code for page in all_pages()])
def test_a_code_has_its_page(code):
    assert (DOCS / "rules" / f"{code}.md").exists()
    assert f"[{code}]({code}.md)" in (DOCS / "rules" / "README.md").read_text("utf-8")


@pytest.mark.parametrize("kind", declarations)
def test_a_kind_has_its_page(kind):
    assert (DOCS / "tools" / f"{kind}.md").exists()
