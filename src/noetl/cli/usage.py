"""Wrong usage, said as every other error is: what is wrong, how the command is used, what to do next.

Comes in: what click found. Goes out: lines on standard error. click's own sentences are kept, but for their capital and
full stop; where a command of a group was misspelt, the near miss is guessed.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

import click

from noetl.cli import voice
from noetl.cli.advice import advise
from noetl.cli.voice import say
from noetl.dsl.findings import printable

DID_YOU_MEAN = re.compile(r"\.? \(?Did you mean (?:one of: )?(.*?)\?\)?\.?$")
LISTED = ("catalog", "schedule", "trigger", "keychain", "token")  # the groups that have a `list`
UNKNOWN_COMMAND = re.compile(r"No such command '(.*)'\.", re.DOTALL)


def tell(error: click.ClickException) -> None:
    """Print the error, the usage of the command that was meant, and where its help is."""
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        welcome(error)
        return
    say(f"error: {sentence(error, context)}", err=True)
    if context is None:
        verbs = [word for word in voice.heard[:1] if not word.startswith("-")]
        advise("UsageError" if verbs else "UsageError.of_noetl", command=verbs)
        return
    say(f"usage: {' '.join([context.command_path, *context.command.collect_usage_pieces(context)])}", err=True)
    verb = context.command_path.partition(" ")[2].split() or meant(error)
    advise("UsageError" if verb else "UsageError.of_noetl", command=verb)


def welcome(error: click.exceptions.NoArgsIsHelpError) -> None:
    """`noetl` alone, or a group and nothing of it: whoever types that wants to know what there is."""
    say(error.ctx.get_help(), err=True)
    _, _, verb = error.ctx.command_path.partition(" ")
    situation = "welcomed" if not verb else "UnknownDocument" if verb in LISTED else f"welcomed.{verb}"
    advise(situation, verb=verb, folder=...)


def meant(error: click.ClickException) -> list[str]:
    """The command of which a verb that is none is a near miss."""
    near = str(getattr(error, "near", ""))
    return [] if near.startswith("-") else near.split()


def sentence(error: click.ClickException, context: click.Context | None) -> str:
    message = error.format_message()
    if context and isinstance(context.command, click.Group) and (unknown := UNKNOWN_COMMAND.fullmatch(message)):
        names = context.command.list_commands(context)
        near = get_close_matches(unknown[1], names, n=1)
        advice = f'did you mean "{near[0]}"?' if near else f"the commands are: {', '.join(names)}"
        return f'{context.command_path} has no command "{printable(unknown[1])}"; {advice}'
    message = DID_YOU_MEAN.sub(r"; did you mean \1?", message)
    if re.match(r"[A-Z][a-z]+ ", message):
        message = message[0].lower() + message[1:]
    return "\n".join(map(printable, message.removesuffix(".").split("\n")))
