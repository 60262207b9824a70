"""kind: shell at work: a call's commands in, programs out, which programs.py runs."""

from __future__ import annotations

from noetl.engine.output import Output
from noetl.tools.contract import Call, Hands
from noetl.tools.program_streams import Program
from noetl.tools.programs import Programs, as_stdin, environment_of, words_of, working_directory
from noetl.tools.refused import Refused

COMMANDS_MAX = 1_000


class ShellTool:
    """Runs the commands of shell tasks."""

    times_itself = True

    def __init__(self, hands: Hands) -> None:
        self.programs = Programs(hands)

    async def run(self, call: Call) -> Output:
        try:
            programs = programs_of(call)
        except Refused as refused:
            return refused.output
        return await self.programs.run(call, programs)

    async def close(self) -> None:
        await self.programs.close()


def programs_of(call: Call) -> list[Program]:
    commands = commands_of(call)
    env = environment_of(call.input.get("env"))
    cwd = working_directory(call.input.get("cwd"), call.folder)
    stdin = as_stdin(call.input.get("stdin"))
    return [
        Program(
            label="the command" if len(commands) == 1 else f"command {number} of {len(commands)}",
            words=words_of_command(command),
            env=env,
            cwd=cwd,
            stdin=stdin if number == 1 else None,
        )
        for number, command in enumerate(commands, 1)
    ]


def commands_of(call: Call) -> list[object]:
    commands = call.input.get("cmds")
    if commands is None:
        return [call.input.get("command")]
    if not isinstance(commands, list | tuple) or not 0 < len(commands) <= COMMANDS_MAX:
        raise Refused("type", f"cmds must be a list of 1 to {COMMANDS_MAX} commands")
    return list(commands)


def words_of_command(command: object) -> tuple[str, ...]:
    """A text is read by the shell; a list of words is run as it is, and no word can become another command."""
    if isinstance(command, str) and command.strip():
        return ("/bin/sh", "-c", command)
    words = words_of(command, "a command that is not a text")
    if not words or not words[0]:
        raise Refused("type", "a command needs at least the name of a program")
    return words
