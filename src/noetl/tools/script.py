"""kind: script — a program beside the playbook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.dsl.kinds import LIST, MAPPING, Field, Kind

if TYPE_CHECKING:
    from noetl.tools.contract import Hands, Tool

KIND = Kind(
    name="script",
    summary="Runs a script file beside the playbook, or under an allowed root, in a scrubbed environment.",
    fields=(
        Field(name="path", required=True, doc="The file. No `..`, and no symbolic link that leads out of its folder."),
        Field(
            name="interpreter",
            doc="What runs it, with its own options (`python3 -u`); if not given, what its first line names (#!), "
            "else the file itself if it is executable.",
        ),
        Field(name="arguments", types=(LIST,), doc="Its arguments."),
        Field(
            name="env",
            types=(MAPPING,),
            doc="Variables of its environment; besides there are only PATH, HOME, LANG, LC_…, TZ and TMPDIR.",
        ),
        Field(name="stdin", types=("any",), doc="What it reads; data is given as JSON."),
    ),
    result="standard output: JSON as data, other text as text without its last line break",
    helper="shell",
    helper_fields=("exit_code", "stdout", "stderr"),
)


def make(hands: Hands) -> Tool:
    from noetl.tools.script_tool import ScriptTool  # brings asyncio, which looking at the declaration does not need

    return ScriptTool(hands)
