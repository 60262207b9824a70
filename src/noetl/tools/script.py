"""kind: script — a program beside the playbook."""

from noetl.dsl.kinds import LIST, MAPPING, Field, Kind

KIND = Kind(
    name="script",
    summary="Runs a script file beside the playbook, or under an allowed root.",
    fields=(
        Field(name="path", required=True, doc="The file."),
        Field(name="interpreter", doc="What runs it; its first line if not given."),
        Field(name="arguments", types=(LIST,), doc="Its arguments."),
        Field(name="env", types=(MAPPING,), doc="Variables of its environment; nothing else is in it."),
        Field(name="stdin", types=("any",), doc="What it reads; data is given as JSON."),
    ),
    result="standard output: JSON as data, other text as text",
    helper="shell",
    helper_fields=("exit_code", "stdout", "stderr"),
)
