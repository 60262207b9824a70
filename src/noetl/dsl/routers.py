"""Whether a step's `next` has the shape of a router, so that what is said of its arcs is what the author meant.

NL502 and NL503 say what is wrong with the shape; everything that reasons about arcs asks here first, so that one
misspelt key does not become a row of findings.
"""

from __future__ import annotations

from noetl.dsl.draft import Step
from noetl.dsl.nodes import AnyNode, Mapping, Scalar

ROUTER_KEYS = ("spec", "arcs")
ARC_KEYS = ("step", "when", "set", "args", "spec")
MODES = ("exclusive", "inclusive")


def is_sound(step: Step) -> bool:
    """Whether the step has no `next`, or one that holds to the shape."""
    if "next" not in step.node.entries:
        return True
    if step.spec and "next_mode" in step.spec.entries:
        return False  # the mode that the author means is not read (NL208)
    if not isinstance(step.next, Mapping) or not step.next.entries.keys() <= set(ROUTER_KEYS):
        return False
    arcs = step.next.sequence("arcs")
    return arcs is not None and bool(arcs.items) and has_sound_mode(step.next) and all(map(is_sound_arc, arcs.items))


def has_sound_mode(router: Mapping) -> bool:
    spec = router.get("spec")
    if spec is None:
        return True
    mode = spec.get("mode") if isinstance(spec, Mapping) else spec
    return mode is None or (isinstance(mode, Scalar) and mode.value in MODES)


def is_sound_arc(node: AnyNode) -> bool:
    if not isinstance(node, Mapping) or not node.entries.keys() <= set(ARC_KEYS):
        return False
    target = node.scalar("step")
    return target is not None and is_name(target)


def is_name(node: Scalar) -> bool:
    """Whether a value can be a step's name: a text, not empty, and no template."""
    return isinstance(node.value, str) and bool(node.value.strip()) and "{{" not in node.value
