"""kind: shell — commands of the system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.dsl.kinds import LIST, MAPPING, TEXT, Field, Kind

if TYPE_CHECKING:
    from noetl.tools.contract import Hands, Tool

KIND = Kind(
    name="shell",
    summary="Runs commands in a scrubbed environment. "
    "A template inside a text command becomes part of what the shell reads: "
    "give values from outside as words of a list, through env or as stdin.",
    fields=(
        Field(
            name="command",
            types=(TEXT, LIST),
            doc="One command: a list of words, run as it is, or a text for /bin/sh.",
        ),
        Field(
            name="cmds",
            types=(LIST,),
            doc="Several commands, run in order until one fails; their output is joined.",
        ),
        Field(name="cwd", doc="The directory they run in, counted from the playbook's folder, which is the default."),
        Field(
            name="env",
            types=(MAPPING,),
            doc="Variables of their environment; besides there are only PATH, HOME, LANG, LC_…, TZ and TMPDIR.",
        ),
        Field(name="stdin", types=("any",), doc="What the first of them reads; data is given as JSON."),
    ),
    one_of=(("command", "cmds"),),
    at_most_one_of=(("command", "cmds"),),
    result="standard output: JSON as data, other text as text without its last line break",
    helper="shell",
    helper_fields=("exit_code", "stdout", "stderr"),
)


def make(hands: Hands) -> Tool:
    from noetl.tools.shell_tool import ShellTool  # brings asyncio, which looking at the declaration does not need

    return ShellTool(hands)
