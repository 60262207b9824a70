"""The way in: `noetl VERB …`. Finds the verb in a table, runs it, and turns whatever happens into an exit code.

Comes in: the arguments. Goes out: an exit code of exits.py. A verb's module is imported when that verb is asked for
and not before, so that `noetl --version`, `noetl --help` and completion cost no more than click does; the one-line
helps stand in the table for the same reason. No traceback ever reaches a person: an expected error says what to do,
an unexpected one how to report it.
"""

import contextlib
import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from noetl import __version__
from noetl.cli import exits

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

TRACEBACK_VARIABLE = "NOETL_TRACEBACK"
GARBAGE_THRESHOLD = 100_000  # a verb lives a moment: looking for garbage every 700 objects is a third of its time
OS_ERRORS: tuple[tuple[tuple[type[OSError], ...], int], ...] = (
    ((FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError), exits.WRONG_INPUT),
    ((ConnectionError, TimeoutError), exits.UNREACHABLE),
)


class Verb(NamedTuple):
    target: str  # module:attribute
    help: str


VERBS = {
    "run": Verb("noetl.cli.run:command", "Run a playbook to its end, with live progress."),
    "resume": Verb("noetl.cli.resume:command", "Go on with an execution where it stopped."),
    "list": Verb("noetl.cli.list:command", "List executions, newest first."),
    "show": Verb("noetl.cli.show:command", "Show an execution: its steps over time, the error."),
    "events": Verb("noetl.cli.events:command", "Print the log of an execution, or follow it."),
    "replay": Verb("noetl.cli.replay:command", "Fold a log again: the state at any event, or a check."),
    "cancel": Verb("noetl.cli.cancel:command", "End an execution before its end."),
    "signal": Verb("noetl.cli.signal:command", "Write to the ctx of an execution that waits."),
    "sweep": Verb("noetl.cli.sweep:command", "Remove stored results that nothing needs any more."),
    "catalog": Verb("noetl.cli.catalog:command", "Keep playbooks under a path, version by version."),
    "schedule": Verb("noetl.cli.schedule:command", "Start playbooks by themselves, by cron or every so often."),
    "trigger": Verb("noetl.cli.trigger:command", "Start playbooks by requests and messages from outside."),
    "keychain": Verb("noetl.cli.keychain:command", "Keep credentials encrypted, for playbooks to use by name."),
    "server": Verb("noetl.cli.server:command", "Start, stop and look at servers of this machine."),
    "worker": Verb("noetl.cli.worker:command", "Start, stop, scale and look at workers of this machine."),
    "token": Verb("noetl.cli.token:command", "Make, list and revoke the tokens that servers ask for."),
    "doctor": Verb("noetl.cli.doctor:command", "Check store, queue, servers and workers, and say what to do."),
    "check": Verb("noetl.cli.check:command", "Find the faults of playbooks, all in one pass."),
    "explain": Verb("noetl.cli.explain:command", "Print the page of a finding's code: what, why, wrong, right."),
    "fmt": Verb("noetl.cli.fmt:command", "Lay playbooks out in the one usual way; comments stay."),
    "migrate": Verb("noetl.cli.migrate:command", "Rewrite older playbooks in today's spelling."),
    "schema": Verb("noetl.cli.schema:command", "Print the JSON Schema that editors complete and check with."),
    "graph": Verb("noetl.cli.graph:command", "Draw a playbook's steps, arcs, loops and joins."),
    "completion": Verb("noetl.cli.completion:command", "Print the script that completes noetl in your shell."),
}

# What clients of the public NoETL are used to (UP-10): where the meaning is the same it works, else it is pointed to.
ALIASES = {"status": "show", "exec": "run"}
SPELT_ELSEWHERE = {"execute": "run", "executions": "list", "register": "catalog register", "credential": "keychain"}


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
            raise click.UsageError(_unknown_verb(name), ctx)
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
    return command


def _unknown_verb(name: str) -> str:
    from difflib import get_close_matches

    near = [SPELT_ELSEWHERE[name]] if name in SPELT_ELSEWHERE else get_close_matches(name, VERBS, n=1)
    advice = f'did you mean "{near[0]}"?' if near else f"the commands are: {', '.join(VERBS)}"
    return f'noetl has no command "{name}"; {advice}'


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 failed, 2 wrong input or usage, 3 service unreachable, 4 waiting, 130 interrupted.",
)
@click.version_option(__version__, "-V", "--version", prog_name="noetl", message="%(prog)s %(version)s")
def noetl() -> None:
    """NoETL runs playbooks: workflows written in YAML."""


def main(args: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    _speak_utf8()
    code = _run(args)
    _settle_output()
    return code


def _run(args: Sequence[str] | None) -> int:
    try:
        result = noetl.main(args, prog_name="noetl", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return exits.INTERRUPTED
    except BrokenPipeError:  # the reader, say `head`, has had enough: nothing failed
        return exits.DONE
    except Exception as error:
        return _report(error)
    return result if isinstance(result, int) else exits.DONE


def _speak_utf8() -> None:
    """Print UTF-8 whatever the locale says; what has no UTF-8, such as an odd file name, is escaped and never fails."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller: noetl … >&-
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _settle_output() -> None:
    """Write what is left; where that fails, point the stream nowhere, or the interpreter would complain at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: Exception) -> int:
    """Say what went wrong. An error that carries an `exit_code` was expected, and so were those of the system."""
    if os.environ.get(TRACEBACK_VARIABLE):
        import traceback

        traceback.print_exception(error)
    code: Any = getattr(error, "exit_code", None)
    if isinstance(code, int):
        click.echo(f"error: {error}", err=True)
        return code
    if isinstance(error, UnicodeEncodeError) and "surrogates" in error.reason:
        click.echo("error: an argument or a file name is not UTF-8 text; give it in UTF-8", err=True)
        return exits.WRONG_INPUT
    if isinstance(error, OSError):
        click.echo(f"error: {_os_error(error)}", err=True)
        return next((code for kinds, code in OS_ERRORS if isinstance(error, kinds)), exits.FAILED)
    click.echo(
        f"error: this is a fault of NoETL {__version__}, not yours: {type(error).__name__}: {error}\n"
        f"   fix: set {TRACEBACK_VARIABLE}=1, run the same command again and report what it prints",
        err=True,
    )
    return exits.FAILED


def _os_error(error: OSError) -> str:
    place = f'"{os.fsdecode(error.filename)}": ' if isinstance(error.filename, str | bytes) else ""
    return place + (error.strerror or str(error) or type(error).__name__)
