"""A result schema stands where no single result is meant.

`spec.result.schema` says what the result of one task is like. On the executor, a step or a loop it would be asked of
every task below, whatever each of them gives. A task of kind workbook has no result of its own: the task that it calls
has, and the schema stands there.

Wrong:

    - step: fetch
      spec:
        result: { schema: { type: array } }
      tool: { kind: http, url: https://example.com/rows }

Right:

    - step: fetch
      tool:
        kind: http
        url: https://example.com/rows
        spec:
          result: { schema: { type: array } }

Spec: RS-07.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import Mapping, Scalar
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import said

RULE = contract.Rule(code="NL706", name="result-schema-outside-task", spec=("RS-07",))


def check(draft: Draft) -> Iterator[Finding]:
    for owner, spec in outer_specs(draft):
        if key := schema_key(spec):
            yield RULE.at(
                key.place,
                f"{owner} has a result schema, and only a task gives a result",
                why="it would be asked of every task below",
                fix="put it under spec.result of the task that it is about",
            )
    for task in draft.tasks:
        if task.kind == "workbook" and (key := schema_key(task.spec)):
            yield RULE.at(
                key.place,
                f"{said(task)} has a result schema, but the result is that of the workbook task it calls",
                fix="put it under spec.result of the workbook task",
            )


def schema_key(spec: Mapping | None) -> Scalar | None:
    result = spec.mapping("result") if spec else None
    entry = result.entries.get("schema") if result else None
    return entry.key if entry else None


def outer_specs(draft: Draft) -> Iterator[tuple[str, Mapping | None]]:
    yield "the executor", draft.executor_spec
    for step in draft.steps:
        yield f'step "{step.name}"', step.spec
        for loop in step.loops:
            yield f'the loop of step "{step.name}"', loop.spec
