"""A step asks for a pool that no worker can have.

A worker joins one pool, and a pool's name has letters, digits, `-` and `_`, at most 64 of them: it is a word of the
subjects that servers and workers talk on. A job of any other pool would wait for ever, since no worker can be started
for it. Where one process does everything, pools do not matter, so this is a warning.

Wrong:

    - step: train
      spec: { pool: "gpu/large" }

Right:

    - step: train
      spec: { pool: gpu-large }

Spec: RO-01.
"""

import re
from collections.abc import Iterator

from noetl.config import POOL
from noetl.dsl.departures import is_template
from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.nodes import Mapping, Scalar
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL215", name="bad-pool-name", spec=("RO-01",), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    yield from judged(draft.executor_spec, "the executor")
    for step in draft.steps:
        yield from judged(step.spec, f'step "{step.name}"')


def judged(spec: Mapping | None, whose: str) -> Iterator[Finding]:
    """NL117 speaks of what is no text, NL125 of templates."""
    node = spec.get("pool") if spec else None
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or is_template(node):
        return
    if not POOL.fullmatch(node.value):
        yield RULE.at(
            node.place,
            f'no worker can join the pool "{node.text}", which {whose} asks for',
            why="a pool's name has letters, digits, - and _, at most 64 of them; jobs of this one would wait for ever",
            fix=f"write pool: {usable(node.value)}",
        )


def usable(name: str) -> str:
    """The nearest name that a worker can be started with."""
    words = re.findall(r"[A-Za-z0-9_-]+", name)
    return "-".join(words)[:64] or "default"
