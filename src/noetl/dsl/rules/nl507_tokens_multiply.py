"""A fan-out lies on a cycle that more than one of its tokens can go round, so every round makes more of them.

An inclusive router sends a token along every arc that matches. When two of them can come back to it, the next round
starts with two tokens and ends with four. Nothing bounds that but the patience of whoever pays for it.

Wrong:

    - step: crawl
      tool: { kind: http, url: "{{ ctx.url }}" }
      next:
        spec: { mode: inclusive }
        arcs:
          - step: crawl
            when: "{{ output.data.next }}"
          - step: store
    - step: store
      tool: { kind: noop }
      next:
        arcs:
          - step: crawl
            when: "{{ ctx.again }}"

Right: let one token come back, or join them first.

    - step: store
      tool: { kind: noop }

Spec: RT-10.
"""

from collections.abc import Iterator

from noetl.dsl.analyze import multiplying_fans
from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.net import net_of
from noetl.dsl.nodes import Mapping
from noetl.dsl.rules import contract
from noetl.dsl.source import Place

RULE = contract.Rule(code="NL507", name="tokens-multiply", spec=("RT-10",), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    net = net_of(draft)
    if net is None:
        return
    for fan, one, other in multiplying_fans(net):
        step = net.steps[fan.step]
        yield RULE.at(
            place_of_mode(step),
            f'"{step.name}" sends out two tokens that can both come back to it, so every round makes more',
            why=f"the ways back: {net.path(one)}, and {net.path(other)}" if one else "both arcs lead back to it",
            fix="let only one of them lead back, or join them before: spec: { policy: { admit: { join: all } } }",
        )


def place_of_mode(step: Step) -> Place:
    """Where the router says that it is inclusive."""
    spec = step.next.mapping("spec") if isinstance(step.next, Mapping) else None
    mode = spec.get("mode") if spec else None
    return mode.place if mode else step.name_node.place
