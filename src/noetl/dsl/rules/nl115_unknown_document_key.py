"""`metadata` or `executor` has a key that it does not know.

What nobody reads would be ignored without a word, so it is refused. Words to find a playbook by go under
`metadata.labels`; knobs of the execution go under `executor.spec`.

Wrong:

    metadata:
      name: orders
      owner: billing

Right:

    metadata:
      name: orders
      labels: { owner: billing }

Spec: PB-04, PB-05, PB-13.
"""

from collections.abc import Iterator

from noetl.dsl.departures import ShapeFault
from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, did_you_mean, listed
from noetl.dsl.nodes import shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.shape_faults import UNKNOWN, shape_faults

RULE = contract.Rule(code="NL115", name="unknown-document-key", spec=("PB-04", "PB-05", "PB-13"))

OTHERWISE = {
    "metadata": "delete it, or keep it under metadata.labels",
    "executor": "delete it; knobs go under executor.spec",
}


def check(draft: Draft) -> Iterator[Finding]:
    for one in shape_faults(draft, UNKNOWN):
        if one.shape.block == "1" and one.name != "root" and not one.shape.is_spec:
            yield finding(one)


def finding(one: ShapeFault) -> Finding:
    where = one.shape.where
    return RULE.at(
        one.node.place,
        f'{where} has no key "{shorten(one.key)}"',
        why=f"{where} has: {listed(one.shape.keys)}",
        fix=did_you_mean(one.key, one.shape.keys, OTHERWISE.get(where, "delete it")),
    )
