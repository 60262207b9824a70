"""kind: noop — does nothing; its policy and `set` do the work."""

from noetl.dsl.kinds import Kind

KIND = Kind(
    name="noop",
    summary="Does nothing: a place for policy rules and set.",
    result="its input if it has any, else _prev (in a loop iteration without input: null)",
    can_fail=False,
    records_input=True,
)
