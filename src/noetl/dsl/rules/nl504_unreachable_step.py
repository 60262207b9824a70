"""No arc leads to a step, so it never runs.

Steps do not run in the order of the list. The workflow starts at one step (`executor.spec.entry_step`, else `start`,
else the first), and from there only arcs lead on. A step that no arc names, directly or by way of others, is dead.

Wrong:

    - step: start
      tool: { kind: http, url: "https://example.com/orders" }
    - step: store
      tool: { kind: noop }

Right:

    - step: start
      tool: { kind: http, url: "https://example.com/orders" }
      next:
        arcs:
          - step: store
    - step: store
      tool: { kind: noop }

Spec: RT-10, RT-06.
"""

from collections.abc import Iterator

from noetl.dsl.analyze import unreachable
from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding, listed
from noetl.dsl.net import Net, net_of
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL504", name="unreachable-step", spec=("RT-10", "RT-06"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    net = net_of(draft)
    if net is None:
        return
    for first, *others in unreachable(net):
        yield finding(net, first, others)


def finding(net: Net, first: int, others: list[int]) -> Finding:
    step = net.steps[first]
    after = listed((f'"{net.steps[number].name}"' for number in others), most=5)
    follow = f", nor to what follows it: {after}" if others else ""
    return RULE.at(
        step.name_node.place,
        f'no arc leads to step "{step.name}"{follow}',
        why=f'the workflow starts at "{net.steps[net.entry].name}", and from there only arcs lead on, not the list',
        fix=advise(net, first),
    )


def advise(net: Net, number: int) -> str:
    step, before = net.steps[number], net.steps[number - 1]
    if number and before.next is None:
        return f'if it comes after "{before.name}", write there next: {{ arcs: [{{ step: {step.name} }}] }}'
    return f"name it in an arc of the step it comes after (- step: {step.name}), or remove it"
