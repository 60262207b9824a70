"""Which departures from the table of `shapes.py` the rules of blocks 3, 4 and 7 speak of, so that no generic rule does.

A fault is told once, by the rule that knows most about it: a policy that is a list is NL308's, not a wrong type.
"""

from __future__ import annotations

from noetl.dsl.departures import ShapeFault
from noetl.dsl.draft import Draft, Rule
from noetl.dsl.nodes import Mapping, Scalar

WRONG_TYPES = frozenset(
    (
        *("tool", "task", "task.name", "task.kind", "task.auth", "task.policy", "task.rules", "task.rule", "task.else"),
        *("then", "then.do", "loop", "loop.in", "loop.iterator", "loop.reducer", "result.store"),
    )
)
NOT_CHOICES = frozenset(("then.do", "loop.reducer"))
MISSING = frozenset(("task", "loop"))
UNKNOWN = frozenset(("task.rule", "task.else", "then", "loop"))


def speaks_of(fault: ShapeFault) -> bool:
    """Whether a rule of these blocks tells this fault."""
    if fault.fault == "wrong-type":
        return fault.name in WRONG_TYPES
    if fault.fault == "not-a-choice":
        return fault.name in NOT_CHOICES
    if fault.fault == "missing-key":
        return fault.name in MISSING
    return fault.fault == "unknown-key" and fault.name in UNKNOWN


def refused(draft: Draft) -> frozenset[int]:
    """Nodes that these rules refuse as a whole: what stands under a policy's key that is a misspelt `rules`, …"""
    found: set[int] = set()
    for step in draft.steps:
        if "pipe" in step.node.entries:
            found.add(id(step.node.entries["pipe"].value))
    for task in draft.tasks:
        if isinstance(task.policy, Mapping) and "rules" not in task.policy.entries:
            found.update(id(entry.value) for entry in task.policy.entries.values())
        found.update(id(entry.value) for key, entry in task.direct.items() if key in ("eval", "pipe"))
    found.update(id(rule.then.get("to")) for rule in draft.rules if rule.then and rule.do == "jump" and no_target(rule))
    return frozenset(found)


def no_target(rule: Rule) -> bool:
    """A jump whose `to` is empty: NL312 says so."""
    to = rule.then.get("to") if rule.then else None
    return isinstance(to, Scalar) and to.value is None
