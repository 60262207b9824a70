"""docs/reference/commands.md: every command and what is below it, as click knows them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from noetl.cli import exits
from noetl.cli.group import noetl
from noetl.cli.main import VERBS
from reference.tables import code, page, table

INTRO = """Every command with its arguments, options and an example: what `noetl COMMAND --help` prints.
[Commands](../commands.md) explains them and has the JSON that they print."""
CODES = {
    exits.DONE: "done",
    exits.FAILED: "the workflow or the check failed",
    exits.WRONG_INPUT: "the input or usage was wrong",
    exits.UNREACHABLE: "the store is in use, or a service could not be reached",
    exits.WAITING: "the execution waits for a signal",
    exits.INTERRUPTED: "interrupted; `noetl resume` goes on",
}
EXAMPLE = "Example:"
ROOT = click.Context(noetl, info_name="noetl")


def commands_page() -> str:
    exit_codes = ["## Exit codes", "", "A command whose codes mean something else says so in its section.", ""]
    exit_codes += table(("code", "means"), [(str(code_), words) for code_, words in CODES.items()])
    return page("Commands: reference", INTRO, [*index(), *exit_codes, *sections()])


def index() -> list[str]:
    rows = ((f"[`noetl {name}`](#noetl-{name})", verb.help) for name, verb in VERBS.items())
    return table(("command", "does"), rows)


def sections() -> Iterator[str]:
    for name in VERBS:
        for path, one, context in walk(*below(noetl, ROOT, name)):
            yield from section(path, one, context)


def walk(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    """A command and those below it, each with its full name."""
    yield context.command_path, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from walk(*below(command, context, name))


def below(group: click.Group, context: click.Context, name: str) -> tuple[click.Command, click.Context]:
    """A command of a group, and the context that knows its full name."""
    command = group.get_command(context, name)
    if command is None:
        raise LookupError(f"{context.command_path} has no {name}")
    return command, click.Context(command, info_name=name, parent=context)


def section(path: str, command: click.Command, context: click.Context) -> Iterator[str]:
    """One heading; those below a group are one level lower."""
    yield from ("#" * (2 if path.count(" ") == 1 else 3) + f" {path}", "")
    words, example = parted(command)
    yield from ("```", " ".join([path, *command.collect_usage_pieces(context)]), "```", "", words, "")
    if example:
        yield from (EXAMPLE, "", "```", example, "```", "")
    if isinstance(command, click.Group):
        names = command.list_commands(context)
        yield from ("Below it: " + ", ".join(f"[{name}](#{path.replace(' ', '-')}-{name})" for name in names) + ".", "")
    yield from table(("option", "is"), options(command, context))


def parted(command: click.Command) -> tuple[str, str]:
    """The help without its example, and the example."""
    words, _, example = inspect.cleandoc(command.help or "").replace("\f", "").replace("\b\n", "").partition(EXAMPLE)
    return "\n\n".join(paragraph(one) for one in words.strip().split("\n\n")), " ".join(example.split())


def paragraph(text: str) -> str:
    """Help is plain text: what Markdown would take for markup is kept from it. After \\b click keeps the lines, too."""
    if text.startswith("\b\n"):
        return f"```\n{text[2:]}\n```"
    return escaped(text)


def escaped(text: str) -> str:
    return re.sub(r"([*_<>\[\]])", r"\\\1", text)


def options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    for one in command.get_params(context):
        record = one.get_help_record(context)
        if record is not None and record[1] and "--help" not in one.opts:
            yield code(record[0]), escaped(record[1])
