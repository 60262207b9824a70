"""A loop says two different things about how it runs.

`mode` and `max_in_flight` may stand under `loop.spec` or under `loop.spec.policy` and mean the same. In both places
they must agree, since nothing says which one would count.

Wrong:

    loop:
      in: "{{ workload.cities }}"
      iterator: city
      spec:
        mode: parallel
        max_in_flight: 10
        policy:
          max_in_flight: 5

Right:

    loop:
      in: "{{ workload.cities }}"
      iterator: city
      spec:
        mode: parallel
        max_in_flight: 10

Spec: LP-12.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Loop
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import Scalar, plain
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL403", name="loop-knobs-disagree", spec=("LP-12",))

KNOBS = ("mode", "max_in_flight")


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        for loop in step.loops:
            for knob in KNOBS:
                yield from disagreement(step.name, loop, knob)


def disagreement(step: str, loop: Loop, knob: str) -> Iterator[Finding]:
    outer = loop.spec.get(knob) if loop.spec else None
    inner = loop.policy.get(knob) if loop.policy else None
    if outer is None or inner is None or plain(outer) == plain(inner):
        return
    values = [node.text if isinstance(node, Scalar) else "…" for node in (outer, inner)]
    yield RULE.at(
        inner.place,
        f'the loop of step "{step}" has two values for {knob}: {values[0]} and {values[1]}',
        why=f"loop.spec.{knob} (line {outer.line}) and loop.spec.policy.{knob} mean the same",
        fix="keep one of them",
    )
