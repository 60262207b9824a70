"""Two tokens of one fan-out can come to the same step, which then runs once for each of them.

An inclusive router starts branches that run at once. Where they lead to one step without a join, that step and all that
follows it run once per token. That is sometimes meant; more often the step should wait for all branches and run once.

Wrong:

    - step: start
      tool: { kind: noop }
      next:
        spec: { mode: inclusive }
        arcs: [{ step: prices }, { step: stock }]
    - step: prices
      tool: { kind: noop }
      next: { arcs: [{ step: report }] }
    - step: stock
      tool: { kind: noop }
      next: { arcs: [{ step: report }] }
    - step: report
      tool: { kind: noop }

Right:

    - step: report
      spec: { policy: { admit: { join: all } } }
      tool: { kind: noop }

Spec: ST-11, RT-10.
"""

from collections.abc import Iterator

from noetl.dsl.analyze import multiplying, tokens_of
from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.net import Meeting, Net, net_of
from noetl.dsl.rules import contract
from noetl.dsl.rules.dead_arcs import routed_arcs

RULE = contract.Rule(code="NL509", name="tokens-meet-without-join", spec=("ST-11", "RT-10"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    net = net_of(draft)
    if net is None or draft.is_upstream:  # UP-05: there such a step joins by itself
        return
    in_growth = {net.component[fan.step] for fan in multiplying(net)}
    twins = {(routed.step.name, routed.arc.target_name) for routed in routed_arcs(draft) if routed.twin}
    for meeting in tokens_of(net).meetings:
        ends = net.steps[meeting.one[0]].name, net.steps[meeting.step].name
        is_said_of_twins = meeting.one == meeting.other and len(meeting.one) == len(ends) and ends in twins
        if net.component[meeting.step] not in in_growth and not is_said_of_twins:
            yield finding(net, meeting)


def finding(net: Net, meeting: Meeting) -> Finding:
    step = net.steps[meeting.step]
    one, other = sorted((meeting.one, meeting.other))
    ways = f"{net.path(one)}, and {net.path(other)}" if one != other else f"{net.path(one)}, by two arcs"
    return RULE.at(
        step.name_node.place,
        f'two tokens can come to "{step.name}", so it runs once for each',
        why=f'"{net.steps[one[0]].name}" sends out both: {ways}',
        fix="to run it once, when both have come, write spec: { policy: { admit: { join: all } } }",
    )
