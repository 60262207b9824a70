"""kind: python — Python code in a child process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.dsl.kinds import INTEGER, LIST, MAPPING, TEXT, Field, Kind

if TYPE_CHECKING:
    from noetl.tools.contract import Hands, Tool

KIND = Kind(
    name="python",
    summary="Runs Python code in a process of its own (`spec.isolation: process`), a sandbox or the worker itself; "
    "it sees `input`, the mapping of its named values, and each of them as a variable.",
    fields=(
        Field(name="code", is_template=False, doc="The code. Assign `result`, define main(**input), or return."),
        Field(
            name="script",
            types=(TEXT, MAPPING),
            doc="A .py file with the code: its path beside the playbook or under a script root, "
            "or {uri, source: {type: file}}; from the web, {uri, source: {type: http, sha256}}.",
        ),
        Field(
            name="libs",
            types=(LIST, MAPPING),
            doc="Modules to import before the code runs: a list of names, or a mapping of variable to module.",
        ),
        Field(
            name="auth",
            types=(TEXT, LIST, MAPPING),
            doc="Keychain entries handed to the code as input.auth: one name (its fields), "
            "a list of names or a mapping to names (each with its fields).",
        ),
    ),
    one_of=(("code", "script"),),
    at_most_one_of=(("code", "script"),),
    knobs=(Field(name="memory_mb", types=(INTEGER,), minimum=16, doc="Memory the code may use."),),
    defaults={"isolation": "process"},
    result="the value of a top-level return, else of main(), else of `result`, as JSON data: "
    "tuples and sets as lists, dates, Decimal, UUID and paths as text; anything else is an error that says where it is",
    helper="py",
    helper_fields=("exception_type", "stdout"),
)


def make(hands: Hands) -> Tool:
    from noetl.tools.python_tool import PythonTool  # brings asyncio, which looking at the declaration does not need

    return PythonTool(hands)
