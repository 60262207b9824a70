"""What click makes of a line: the verbs as a group, and the exit code of the one that was asked for.

A verb's module is imported when that verb is asked for, so that `noetl --version`, `noetl --help` and completion cost
no more than click does.
"""

import importlib
from inspect import cleandoc
from typing import TYPE_CHECKING

import click

from noetl import __version__
from noetl.cli import exits
from noetl.cli.main import ALIASES, SPELT_ELSEWHERE, VERBS
from noetl.cli.voice import wants_colour

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class UnknownVerb(click.UsageError):
    """A verb that is none; `near` is what may have been meant."""

    def __init__(self, name: str, context: click.Context) -> None:
        from difflib import get_close_matches

        near = [SPELT_ELSEWHERE[name]] if name in SPELT_ELSEWHERE else get_close_matches(name, VERBS, n=1)
        advice = f'did you mean "{near[0]}"?' if near else f"the commands are: {', '.join(VERBS)}"
        super().__init__(f'noetl has no command "{name}"; {advice}', context)
        self.near = near[0] if near else ""


class Verbs(click.Group):
    """A click group whose commands are a table, each loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        return _load(VERBS[name].target) if name in VERBS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if ALIASES.get(name, name) not in VERBS and not name.startswith("-") and not ctx.resilient_parsing:
            raise UnknownVerb(name, ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in VERBS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        verbs = [CompletionItem(name, help=verb.help) for name, verb in VERBS.items() if name.startswith(incomplete)]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)


def _load(target: str) -> click.Command:
    module_name, _, attribute = target.partition(":")
    command = getattr(importlib.import_module(module_name), attribute)
    if not isinstance(command, click.Command):
        raise TypeError(f"{target} is {type(command).__name__}, not a click command")
    _keep_examples_whole(command)
    return command


def _keep_examples_whole(command: click.Command) -> None:
    """An example is a line to be pasted, so it is not wrapped, however narrow the terminal; \\b tells click so."""
    command.help = cleandoc(command.help or "").replace("\n\nExample:", "\n\n\b\nExample:")
    for below in getattr(command, "commands", {}).values():
        _keep_examples_whole(below)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 failed, 2 wrong input or usage, 3 service unreachable, 4 waiting, 130 interrupted.",
)
@click.version_option(__version__, "-V", "--version", prog_name="noetl", message="%(prog)s %(version)s")
def noetl() -> None:
    """NoETL runs playbooks: workflows written in YAML.

    Example: noetl run orders.yaml
    """


def run_verb(words: list[str]) -> int:
    """Run the verb that the words name and return its exit code; wrong usage is told here."""
    try:
        result = noetl.main(words, prog_name="noetl", standalone_mode=False, color=wants_colour())
    except click.ClickException as error:
        from noetl.cli.usage import tell

        tell(error)
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    return result if isinstance(result, int) else exits.DONE
