"""kind: shell — commands of the system."""

from noetl.dsl.kinds import LIST, MAPPING, TEXT, Field, Kind

KIND = Kind(
    name="shell",
    summary="Runs commands in a scrubbed environment.",
    fields=(
        Field(name="command", types=(TEXT, LIST), doc="One command: a list of words, or a text for the shell."),
        Field(name="cmds", types=(LIST,), doc="Several commands, run in order."),
        Field(name="cwd", doc="The directory they run in."),
        Field(name="env", types=(MAPPING,), doc="Variables of their environment; nothing else is in it."),
        Field(name="stdin", types=("any",), doc="What they read; data is given as JSON."),
    ),
    one_of=(("command", "cmds"),),
    at_most_one_of=(("command", "cmds"),),
    result="standard output: JSON as data, other text as text",
    helper="shell",
    helper_fields=("exit_code", "stdout", "stderr"),
)
