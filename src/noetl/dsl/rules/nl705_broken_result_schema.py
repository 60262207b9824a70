"""The schema of a result is no JSON Schema.

`spec.result.schema` of a task is a JSON Schema (2020-12): a mapping of keywords, each with the value that it takes. A
keyword that JSON Schema does not have would check nothing, so it is an error here; words of your own begin with `x-`.

Wrong:

    spec:
      result:
        schema: { type: list, item: { type: object, requird: [id] } }

Right:

    spec:
      result:
        schema: { type: array, items: { type: object, required: [id] } }

Spec: RS-07.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, listed, near_miss
from noetl.dsl.nodes import AnyNode, Mapping, Sequence, plain
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import said
from noetl.dsl.schema_faults import SchemaFault, schema_faults
from noetl.dsl.source import Place

RULE = contract.Rule(code="NL705", name="broken-result-schema", spec=("RS-07",))


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        result = task.spec.mapping("result") if task.spec else None
        schema = result.get("schema") if result else None
        if schema is not None:
            for fault in schema_faults(plain(schema)):
                yield finding(said(task), schema, fault)


def finding(owner: str, schema: AnyNode, fault: SchemaFault) -> Finding:
    miss = near_miss(fault.word, fault.near) if fault.near else None
    return RULE.at(
        place_of(schema, fault),
        f"the result schema of {owner}: {fault.message}",
        why=f"known are: {listed(fault.near)}" if fault.near and not fault.is_about_key else "",
        fix=f'did you mean "{miss}"?' if miss else "see spec.result.schema in docs/results.md",
    )


def place_of(node: AnyNode, fault: SchemaFault) -> Place:
    """Where in the file the fault stands: the key if it is about a key, else what is written there."""
    place = node.place
    for part in fault.path:
        if isinstance(node, Mapping) and isinstance(part, str) and part in node.entries:
            entry = node.entries[part]
            node, place = entry.value, entry.key.place if fault.is_about_key else entry.value.place
        elif isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
            place = node.place
    return place
