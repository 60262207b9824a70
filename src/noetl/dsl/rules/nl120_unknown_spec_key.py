"""A `spec` has a key that nothing reads.

Knobs live under `spec`, and one that is misspelt is as good as not there. It is a warning, not an error, because a
`spec` may hold knobs for a tool kind that is installed elsewhere. A knob of one kind stands under the `spec` of its
task, or under `spec.<kind>` of the executor, a step or a loop as a default for all tasks of that kind.

Wrong:

    tool:
      kind: http
      url: https://example.com/items
      spec: { timeot: 30 }

Right:

      spec: { timeout: 30 }

Spec: PB-13, TK-18.
"""

from collections.abc import Iterator

from noetl.dsl.departures import LAYERS, ShapeFault
from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding, listed, near_miss
from noetl.dsl.kinds import Kind
from noetl.dsl.nodes import Mapping, shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.shape_faults import UNKNOWN, shape_faults
from noetl.dsl.rules.whereabouts import at, value_at
from noetl.dsl.shapes import SHAPES

RULE = contract.Rule(code="NL120", name="unknown-spec-key", spec=("PB-13", "TK-18"), severity=WARNING)

UNDER_SPEC = frozenset(("timeout", "emit.event"))  # closed mappings that stand only there


def check(draft: Draft) -> Iterator[Finding]:
    for one in shape_faults(draft, UNKNOWN):
        if one.shape.is_spec or one.name in UNDER_SPEC:
            yield finding(draft, one)


def finding(draft: Draft, one: ShapeFault) -> Finding:
    kind = kind_of(draft, one)
    known = [*one.shape.keys, *(knob.name for knob in kind.knobs)] if kind else list(one.shape.keys)
    return RULE.at(
        one.node.place,
        f'{at(draft, one.path[:-1])} has no key "{shorten(one.key)}", so it has no effect',
        why=f"it may have: {listed(dict.fromkeys(known), 16)}",
        fix=fix(draft, one, known),
    )


def kind_of(draft: Draft, one: ShapeFault) -> Kind | None:
    """The kind of the task under whose spec a key stands."""
    task = value_at(draft, one.path[:-2]) if one.name == "task.spec" else None
    return draft.kinds.get(task.text("kind") or "") if isinstance(task, Mapping) else None


def fix(draft: Draft, one: ShapeFault, known: list[str]) -> str:
    others = tuple(draft.kinds) if one.name in LAYERS else ()
    miss = near_miss(one.key, (*known, *others))
    if miss:
        return f'did you mean "{miss}"?'
    if one.name in LAYERS and one.name != "task.spec":
        owner = next((kind for kind in map(draft.kinds.get, draft.kinds) if kind and kind.knob(one.key)), None)
        if owner:
            return f"it is a knob of kind: {owner.name}: write {owner.name}: {{ {one.key}: … }}"
    if one.name == "loop.policy" and one.key in SHAPES["step.policy"].keys:
        return "it is a policy of the step: write it under spec.policy of the step, beside loop"
    return "delete it"
