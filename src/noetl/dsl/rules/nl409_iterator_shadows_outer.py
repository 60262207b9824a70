"""An iterator has a name that already means something where it can be read.

Two loops of one nest with the same iterator make {{ iter.item }} the inner element; the outer one can only be had as
{{ iter.parent.item }}. A task or step of the same name makes the bare name ambiguous to a reader.

Wrong:

    loop:
      in: "{{ workload.cities }}"
      iterator: item
      loop:
        in: "{{ iter.item.hotels }}"
        iterator: item

Right:

    loop:
      in: "{{ workload.cities }}"
      iterator: city
      loop:
        in: "{{ iter.city.hotels }}"
        iterator: hotel

Spec: SC-04, TP-06.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Loop, Step
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.nodes import Scalar
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL409", name="iterator-shadows-outer", spec=("SC-04", "TP-06"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    names = frozenset(draft.step_names)
    for step in draft.steps:
        for loop in step.loops:
            if loop.iterator and isinstance(loop.iterator.value, str):
                yield from shadows(step, loop, loop.iterator, names)


def shadows(step: Step, loop: Loop, iterator: Scalar, names: frozenset[str]) -> Iterator[Finding]:
    name, outer = iterator.text, loop.outer
    while outer and not (outer.iterator and outer.iterator.text == name):
        outer = outer.outer
    label = next((task for task in step.tasks if task.label == name), None)
    if outer and outer.iterator:
        message = f'two loops of step "{step.name}" call their element "{name}"'
        why = (
            f"iter.{name} is the inner element, and the outer one (line {outer.iterator.line}) only iter.parent.{name}"
        )
    elif label:
        message = f'the iterator and a task of step "{step.name}" are both called "{name}"'
        why = f"once the task has run, {{{{ {name} }}}} is its output, and the element only {{{{ iter.{name} }}}}"
    elif name in names:
        message = f'the iterator of step "{step.name}" is called like a step: "{name}"'
        why = f"inside the loop {{{{ {name} }}}} is the element, elsewhere the output of that step"
    else:
        return
    yield RULE.at(iterator.place, message, why=why, fix="give the iterator another name")
