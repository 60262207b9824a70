"""Two branches that run at once can write the same ctx key.

A branch sees ctx as it was when its step was scheduled, plus its own writes. Writes reach the log in the order in which
steps happen to end, and the later one wins: which value is left depends on timing. Let each branch write a key of its
own, and put them together after a join.

Wrong:

    - step: start
      tool: { kind: noop }
      next:
        spec: { mode: inclusive }
        arcs: [{ step: prices }, { step: stock }]
    - step: prices
      tool: { kind: noop }
      set: { ctx.rows: "{{ output.data }}" }
    - step: stock
      tool: { kind: noop }
      set: { ctx.rows: "{{ output.data }}" }

Right:

    - step: prices
      tool: { kind: noop }
      set: { ctx.price_rows: "{{ output.data }}" }
    - step: stock
      tool: { kind: noop }
      set: { ctx.stock_rows: "{{ output.data }}" }

Spec: SC-14.
"""

from collections.abc import Iterator

from noetl.dsl.analyze import Clash, clashes, fanning_ways
from noetl.dsl.draft import Assignment, Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.net import Net, net_of
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL510", name="branches-write-one-key", spec=("SC-14",), severity=WARNING)

FIX = "let each write a key of its own, and put them together after a join"


def check(draft: Draft) -> Iterator[Finding]:
    net = net_of(draft)
    if net is None:
        return
    for clash in clashes(net, draft.assignments):
        yield of_branches(net, clash)
    for number in sorted(net.reached):
        yield from of_arcs(net, number)


def of_branches(net: Net, clash: Clash) -> Finding:
    names = [write.step.name if write.step else "" for write in (clash.earlier, clash.later)]
    return RULE.at(
        clash.later.key.place,
        f'"{names[0]}" and "{names[1]}" run at once, and both write {keys(clash.earlier, clash.later)}',
        why=f"the branches are {net.path(clash.one)}, and {net.path(clash.other)}; the later write wins, by chance",
        fix=FIX,
    )


def keys(earlier: Assignment, later: Assignment) -> str:
    if earlier.target == later.target:
        return later.target
    inner, outer = sorted((earlier.target, later.target), key=len, reverse=True)
    return f"{outer}, which {inner} lies in"


def of_arcs(net: Net, number: int) -> Iterator[Finding]:
    """Two arcs of one router that can be taken together."""
    told: set[int] = set()
    for one, other in fanning_ways(net, number):
        earlier = {write.target for write in one.arc.sets if write.scope == "ctx"}
        for write in other.arc.sets:
            if write.target in earlier and id(write) not in told:
                told.add(id(write))
                yield RULE.at(
                    write.key.place,
                    f'two arcs of "{net.steps[number].name}" can be taken together, and both write {write.target}',
                    why=f'the arc to "{other.arc.target_name}" comes after the one to "{one.arc.target_name}" and wins',
                    fix=FIX,
                )
