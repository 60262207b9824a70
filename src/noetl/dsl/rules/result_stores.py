"""Where a playbook says in which store results are kept (RS-06)."""

from collections.abc import Iterator
from typing import NamedTuple

from noetl.dsl.draft import Draft
from noetl.dsl.nodes import AnyNode, Mapping, Scalar
from noetl.dsl.rules.pipelines import said


class Chosen(NamedTuple):
    """One choice of a store."""

    owner: str  # as messages call it
    key: Scalar
    node: AnyNode


def chosen_stores(draft: Draft) -> Iterator[Chosen]:
    """Every choice of a store in a playbook."""
    for owner, holder in holders(draft):
        if holder and "store" in holder.entries:
            entry = holder.entries["store"]
            yield Chosen(owner, entry.key, entry.value)


def holders(draft: Draft) -> Iterator[tuple[str, Mapping | None]]:
    """Every mapping that can say where results go."""
    yield "the executor", draft.executor_policy("results")
    for owner, spec in specs(draft):
        yield owner, spec.mapping("result") if spec else None


def specs(draft: Draft) -> Iterator[tuple[str, Mapping | None]]:
    yield "the executor", draft.executor_spec
    for step in draft.steps:
        yield f'step "{step.name}"', step.spec
        for loop in step.loops:
            yield f'the loop of step "{step.name}"', loop.spec
    for task in draft.tasks:
        yield said(task), task.spec
