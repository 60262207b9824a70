"""Where a document leaves the table of `shapes.py`: one walk for all the rules that say so.

Keys with a rule of their own (`misplaced.py`) are left out, and so are the parts of the table whose shape another rule
explains better than "wrong type" can.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from noetl.dsl.departures import ShapeFault, departures
from noetl.dsl.draft import Draft
from noetl.dsl.nodes import Mapping, Scalar
from noetl.dsl.rules import pipeline_refusals
from noetl.dsl.rules.misplaced import refused
from noetl.dsl.shapes import SHAPES

UNKNOWN, MISSING, WRONG_TYPE = "unknown-key", "missing-key", "wrong-type"
NOT_A_CHOICE, OUT_OF_RANGE = "not-a-choice", "out-of-range"
FAULTS_MAX = 1000

# What a rule of its own says of a shape: NL111, NL112, NL121, NL201, NL210, NL5xx, NL610.
CLAIMED: dict[str, frozenset[str]] = {
    UNKNOWN: frozenset(("next", "arc", "admit.rule", "admit.else", "admit.then")),
    MISSING: frozenset(("step", "admit.else", "admit.then", "next", "arc")),
    WRONG_TYPE: frozenset(
        "apiVersion kind step step.name step.policy admit admit.rules admit.rule admit.else admit.then"
        " next arcs arc arc.step set".split()
    ),
}


def shape_faults(draft: Draft, fault: str) -> Iterator[ShapeFault]:
    """The departures of one sort; the first so many, for nobody reads more and each is looked up in a dictionary."""
    return islice((one for one in departures_of(draft) if one.fault == fault), FAULTS_MAX)


def departures_of(draft: Draft) -> list[ShapeFault]:
    made = draft.prepared.get("shape faults")
    if not isinstance(made, list):
        skip = refused(draft) | pipeline_refusals.refused(draft)
        found = departures(draft.root, draft.kinds, skip) if is_playbook(draft.root) else ()
        made = draft.prepared["shape faults"] = [one for one in found if not is_claimed(one)]
    return made


def is_claimed(one: ShapeFault) -> bool:
    """Whether a rule of its own says it."""
    is_root = one.name == "root" and one.fault == MISSING and one.key in ("apiVersion", "kind")
    is_empty = one.name == "workflow" and isinstance(one.node, Scalar) and one.node.value is None
    is_of_pipeline = one.name != "timeout" and pipeline_refusals.speaks_of(one)
    return is_root or is_empty or is_of_pipeline or one.name in CLAIMED.get(one.fault, ())


def is_playbook(root: Mapping) -> bool:
    """Whether a document has anything of a playbook; of one that has not, a single rule says so."""
    return not root.entries.keys().isdisjoint(SHAPES["root"].keys)
