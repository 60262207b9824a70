"""A step adds an event at a boundary that it never reaches.

A step without a loop ends with `step.done`, one with a loop with `loop.done`; both may end with `step.failed` instead.
An event that waits for the other one is never added to the log.

Wrong:

    - step: load
      loop: { in: "{{ workload.cities }}", iterator: city }
      spec:
        policy:
          emit:
            events: [{ name: cities.loaded, on: step.done }]
      tool: { kind: noop }

Right:

    - step: load
      loop: { in: "{{ workload.cities }}", iterator: city }
      spec:
        policy:
          emit:
            events: [{ name: cities.loaded, on: loop.done }]
      tool: { kind: noop }

Spec: ST-10, RT-03.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.nodes import Mapping, Scalar, shorten
from noetl.dsl.repairs import replace
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL214", name="event-at-foreign-boundary", spec=("ST-10", "RT-03"), severity=WARNING)

OF_LOOP, OF_STEP = "loop.done", "step.done"


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        has_loop = "loop" in step.node.entries
        foreign, own = (OF_STEP, OF_LOOP) if has_loop else (OF_LOOP, OF_STEP)
        for boundary in boundaries(step):
            if boundary.value == foreign:
                yield RULE.at(
                    boundary.place,
                    f'step "{shorten(step.name)}" has {"a" if has_loop else "no"} loop and never ends with {foreign}',
                    why=f"a step with a loop ends with {OF_LOOP}, one without with {OF_STEP}, or with step.failed",
                    fix=f"write on: {own}",
                    edits=replace(boundary, 0, len(boundary.text), own),
                )


def boundaries(step: Step) -> Iterator[Scalar]:
    """The boundaries at which a step adds events."""
    emit = step.policy.mapping("emit") if step.policy else None
    events = emit.sequence("events") if emit else None
    for event in events.items if events else ():
        boundary = event.scalar("on") if isinstance(event, Mapping) else None
        if boundary:
            yield boundary
