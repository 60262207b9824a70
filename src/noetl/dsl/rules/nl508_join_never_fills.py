"""A join waits for tokens that never stop being able to come, or for tokens that never come at all.

A join fires when no live token elsewhere can still reach it, and takes all that wait there. Two joins that lead to each
other can each hold a token and wait for the other; a token that goes round a cycle for ever can always still come. And
where never more than one token comes, there is nothing to join: often the router that should fan out is exclusive.

Wrong:

    - step: start
      tool: { kind: noop }
      next:
        arcs:
          - step: prices
            when: "{{ workload.with_prices }}"
          - step: stock
    - step: prices
      tool: { kind: noop }
      next: { arcs: [{ step: merge }] }
    - step: stock
      tool: { kind: noop }
      next: { arcs: [{ step: merge }] }
    - step: merge
      spec: { policy: { admit: { join: all } } }
      tool: { kind: noop }

Right:

    - step: start
      tool: { kind: noop }
      next:
        spec: { mode: inclusive }
        arcs:
          - step: prices
            when: "{{ workload.with_prices }}"
          - step: stock

Spec: ST-11, RT-10.
"""

from collections.abc import Iterator

from noetl.dsl.analyze import StuckJoin, needless_joins, stuck_joins
from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import INFO, WARNING, Finding
from noetl.dsl.net import Net, net_of
from noetl.dsl.rules import contract
from noetl.dsl.source import Place

RULE = contract.Rule(code="NL508", name="join-never-fills", spec=("ST-11", "RT-10"), severity=WARNING, also=(INFO,))


def check(draft: Draft) -> Iterator[Finding]:
    net = net_of(draft)
    if net is None:
        return
    told: set[int] = set()
    for stuck in stuck_joins(net):
        told.update((stuck.join, stuck.rival))
        yield waits_for_ever(net, stuck)
    for join in needless_joins(net) if not draft.is_upstream else ():
        if join not in told:
            yield has_nothing_to_join(net, join)


def waits_for_ever(net: Net, stuck: StuckJoin) -> Finding:
    join, rival = net.steps[stuck.join], net.steps[stuck.rival]
    tokens = f"one token waits there ({net.path(stuck.to_join)}) while another"
    if rival.is_join:
        message = f'the joins "{join.name}" and "{rival.name}" can wait for each other for ever'
        there = f'waits at "{rival.name}" ({net.path(stuck.to_rival)})'
        fix = "let one of them not lead back to the other, or take the join off one"
    else:
        message = f'the join "{join.name}" can wait for ever'
        there = f'goes round by "{rival.name}" without an end ({net.path(stuck.to_rival)})'
        fix = "give that cycle a way to end: a `when` on its arc back"
    why = f"{tokens} {there} and could still come: {net.path(stuck.back)}"
    return RULE.at(place_of_join(join), message, why=why, fix=fix)


def has_nothing_to_join(net: Net, number: int) -> Finding:
    step = net.steps[number]
    return RULE.at(
        place_of_join(step),
        f'the join "{step.name}" has nothing to join: never more than one token comes to it',
        why=f"no inclusive router on the way sends out two that both lead here: {net.path(net.way_from_entry(number))}",
        fix="remove join, or let the router that should fan out do so: next: { spec: { mode: inclusive }, … }",
        severity=INFO,
    )


def place_of_join(step: Step) -> Place:
    node = step.admit.get("join") if step.admit else None
    return node.place if node else step.name_node.place
