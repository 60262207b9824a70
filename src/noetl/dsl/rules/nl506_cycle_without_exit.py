"""A cycle of steps has no way out: every round leads into the next one.

Cycles are fine when something ends them: an arc that leads elsewhere, or a guard that can be false so that the branch
ends. Here every arc leads back into the cycle and one of them always fires, so the workflow runs until a step fails or
someone cancels it.

Wrong:

    - step: poll
      tool: { kind: http, url: "https://example.com/job" }
      next:
        arcs:
          - step: poll

Right:

      next:
        arcs:
          - step: poll
            when: "{{ output.data.state == 'running' }}"
          - step: report

Spec: RT-10.
"""

from collections.abc import Iterator

from noetl.dsl.analyze import endless_cycles
from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.net import Net, net_of
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL506", name="cycle-without-exit", spec=("RT-10",), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    net = net_of(draft)
    if net is None:
        return
    for cycle in endless_cycles(net):
        yield finding(net, cycle)


def finding(net: Net, cycle: list[int]) -> Finding:
    closing = next(way for way in net.ways[cycle[-2]] if way.target == cycle[-1] and way.firing.can_fire)
    way_in = net.way_from_entry(cycle[0])
    coming = f"a token that comes by {net.path(way_in)}" if len(way_in) > 1 else "the first token"
    return RULE.at(
        (closing.arc.target or closing.arc.node).place,
        f"the cycle {net.path(cycle)} has no way out",
        why=f"no arc leads out of it and one that leads back always fires: {coming} goes round until a step fails",
        fix="give the arc back a `when` that can be false, and an arc after it that leads on",
    )
