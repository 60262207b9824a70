"""kind: python — Python code in a child process."""

from noetl.dsl.kinds import INTEGER, LIST, MAPPING, TEXT, Field, Kind

KIND = Kind(
    name="python",
    summary="Runs Python code; it sees `input`, the mapping of its named values.",
    fields=(
        Field(name="code", is_template=False, doc="The code. Assign `result`, define main(**input), or return."),
        Field(name="script", types=(TEXT, MAPPING), doc="A file with the code, beside the playbook."),
        Field(name="libs", types=(LIST, MAPPING), doc="Modules to import before the code runs."),
        Field(name="auth", types=(TEXT, MAPPING), doc="Keychain entries handed to the code as input.auth."),
    ),
    one_of=(("code", "script"),),
    at_most_one_of=(("code", "script"),),
    knobs=(Field(name="memory_mb", types=(INTEGER,), minimum=16, doc="Memory the code may use."),),
    defaults={"isolation": "process"},
    result="the value of `result`, of main(), or of a top-level return",
    helper="py",
    helper_fields=("exception_type", "stdout"),
)
