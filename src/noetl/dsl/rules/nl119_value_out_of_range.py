"""A number is outside the range that its place takes.

The bounds keep a slip from becoming an outage: a retry of no attempts never runs, a loop of a million items at once
takes the machine with it, a timeout of a year is none.

Wrong:

    then: { do: retry, attempts: 0, delay: -1 }

Right:

    then: { do: retry, attempts: 3, delay: 1 }

Spec: LP-01, LP-04, TK-08, TK-18, RS-06.
"""

from collections.abc import Iterator

from noetl.dsl.departures import ShapeFault
from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.shape_faults import OUT_OF_RANGE, shape_faults
from noetl.dsl.rules.whereabouts import at

RULE = contract.Rule(code="NL119", name="value-out-of-range", spec=("LP-01", "LP-04", "TK-08", "TK-18", "RS-06"))


def check(draft: Draft) -> Iterator[Finding]:
    for one in shape_faults(draft, OUT_OF_RANGE):
        yield RULE.at(
            one.node.place,
            f"{at(draft, one.path)} must be {bounds(one)}, found {value(one):,}",
            why=one.shape.doc[:1].lower() + one.shape.doc[1:].rstrip("."),
            fix=f"write {limit(one)}",
        )


def bounds(one: ShapeFault) -> str:
    low, high = one.shape.minimum, one.shape.maximum
    if low is not None and high is not None:
        return f"from {said(low)} to {said(high)}"
    return f"at least {said(low)}" if low is not None else f"at most {said(high)}"


def said(number: float | None) -> str:
    return f"{number:,}" if number is not None else ""


def value(one: ShapeFault) -> float:
    found = getattr(one.node, "value", 0)
    return found if isinstance(found, int | float) else 0


def is_low(one: ShapeFault) -> bool:
    return one.shape.minimum is not None and value(one) < one.shape.minimum


def limit(one: ShapeFault) -> str:
    low, high = one.shape.minimum, one.shape.maximum
    return f"{said(low)} or more" if is_low(one) else f"{said(high)} or less"
