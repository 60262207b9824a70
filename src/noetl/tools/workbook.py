"""kind: workbook — calls a task of the playbook's workbook."""

from noetl.dsl.kinds import Field, Kind

KIND = Kind(
    name="workbook",
    summary="Calls a reusable task of this playbook's workbook, with its own input and output.",
    fields=(Field(name="task", required=True, is_template=False, doc="The workbook task's name."),),
    result="the called task's output data",
)
