"""kind: playbook — a child execution."""

from noetl.dsl.kinds import NUMBER, TEXT, Field, Kind

KIND = Kind(
    name="playbook",
    summary="Runs another playbook as a child execution and waits for its output.",
    fields=(
        Field(name="path", required=True, doc="Its catalog path, or a file beside the caller."),
        Field(name="version", types=(TEXT, NUMBER), doc="A registered version; the newest if not given."),
        Field(name="return_step", doc="The step whose output comes back; the child's own output if not given."),
    ),
    result="the child's output data",
    records_input=True,
    helper="playbook",
    helper_fields=("execution_id", "status"),
)
