"""A reducer is not one that exists, or stands for a key that cannot have one.

A reducer says how the values that parallel iterations wrote to one key become one: sum, min, max, count, append, merge,
first, last, union. It is declared for a full path below `ctx` or `step`; `iter` belongs to one iteration and is never
merged.

Wrong:

    loop:
      in: "{{ workload.cities }}"
      iterator: city
      spec:
        mode: parallel
        policy:
          reducers:
            total: add

Right:

          reducers:
            ctx.total: sum

Spec: SC-12, SC-13.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import Edit, Finding, did_you_mean, listed
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import rename_key
from noetl.dsl.rules.loop_nests import iteration_writes, reducer_entries
from noetl.dsl.shapes import REDUCERS

RULE = contract.Rule(code="NL406", name="unknown-reducer", spec=("SC-12", "SC-13"))

SYNONYMS = {
    **dict.fromkeys(("add", "total", "plus", "+"), "sum"),
    **dict.fromkeys(("list", "collect", "push", "concat"), "append"),
    **dict.fromkeys(("set", "distinct", "unique", "extend"), "union"),
    **dict.fromkeys(("update", "dict", "deep_merge"), "merge"),
    **dict.fromkeys(("overwrite", "replace", "latest"), "last"),
    **dict.fromkeys(("maximum", "largest"), "max"),
    **dict.fromkeys(("minimum", "smallest"), "min"),
    **dict.fromkeys(("len", "length", "number"), "count"),
}


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        written: set[str] | None = None
        for loop in step.loops:
            declared = loop.policy.mapping("reducers") if loop.policy else None
            for key, entry in reducer_entries(loop).items():
                if not is_path(key):
                    written = {one.target for one in iteration_writes(draft, step)} if written is None else written
                    yield bad_key(step, entry, declared, written)
                elif not (isinstance(entry.value, Scalar) and entry.value.value in REDUCERS):
                    yield bad_value(step, key, entry.value)


def is_path(key: str) -> bool:
    scope, _, rest = key.partition(".")
    return scope in ("ctx", "step") and all(rest.split("."))


def bad_key(step: Step, entry: Entry, declared: Mapping | None, written: set[str]) -> Finding:
    key = entry.key.text
    found = [f"{scope}.{key}" for scope in ("ctx", "step") if f"{scope}.{key}" in written]
    edits: tuple[Edit, ...] = rename_key(entry, declared, found[0]) if declared and len(found) == 1 else ()
    scope = key.split(".", 1)[0]
    why = "a reducer is declared for a full path below ctx or step"
    if scope == "iter":
        why, fix = "iter belongs to one iteration and is never merged", "write the value to ctx.* or step.* to merge it"
    elif scope in ("ctx", "step"):
        fix = f"write the whole path in one key: {scope}.<name>: {REDUCERS[0]}"
    else:
        fix = f"write {found[0] if found else f'ctx.{key}'}"
    return RULE.at(
        entry.key.place, f'the loop of step "{step.name}" has a reducer for "{key}"', why=why, fix=fix, edits=edits
    )


def bad_value(step: Step, key: str, node: AnyNode) -> Finding:
    is_text = isinstance(node, Scalar) and isinstance(node.value, str)
    found = f'"{node.text}"' if isinstance(node, Scalar) and is_text else describe(node)
    synonym = SYNONYMS.get(node.text.lower()) if isinstance(node, Scalar) else None
    text = node.text if isinstance(node, Scalar) else ""
    return RULE.at(
        node.place,
        f'the reducer for {key} in step "{step.name}" is {found}, which does not exist',
        why=f"reducers: {listed(REDUCERS)}",
        fix=f'did you mean "{synonym}"?' if synonym else did_you_mean(text, REDUCERS, "write one of these"),
    )
