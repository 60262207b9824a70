"""A loop bounds how many iterations run at once, but runs one after the other.

`max_in_flight` counts iterations of a parallel loop. Without `mode: parallel` a loop is sequential, and the bound does
nothing.

Wrong:

    loop:
      in: "{{ workload.cities }}"
      iterator: city
      spec:
        max_in_flight: 10

Right:

    loop:
      in: "{{ workload.cities }}"
      iterator: city
      spec:
        mode: parallel
        max_in_flight: 10

Spec: LP-01, LP-04.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Loop
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.nodes import Entry, Scalar
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL408", name="max-in-flight-without-parallel", spec=("LP-01", "LP-04"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        for loop in step.loops:
            entry = bound(loop)
            mode = loop.knob("mode")
            is_sequential = mode is None or (isinstance(mode, Scalar) and mode.value == "sequential")
            if entry and is_sequential and not (isinstance(entry.value, Scalar) and entry.value.value == 1):
                how = "mode is sequential" if mode else "mode is not given, and sequential is the default"
                yield RULE.at(
                    entry.key.place,
                    f'max_in_flight of step "{step.name}" has no effect: its loop runs one iteration after the other',
                    why=how,
                    fix="add mode: parallel beside it, or remove max_in_flight",
                )


def bound(loop: Loop) -> Entry | None:
    entry = loop.spec.entries.get("max_in_flight") if loop.spec else None
    return entry or (loop.policy.entries.get("max_in_flight") if loop.policy else None)
