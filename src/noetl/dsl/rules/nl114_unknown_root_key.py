"""The playbook has a key at its root that the language does not know.

The root has eight keys: apiVersion, kind, metadata, keychain, executor, workload, workflow, workbook. Any other one is
refused, because it would be ignored without a word.

Wrong:

    steps:
      - step: start
        tool: { kind: noop }

Right:

    workflow:
      - step: start
        tool: { kind: noop }

Spec: PB-02.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, listed, near_miss
from noetl.dsl.nodes import shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.shape_faults import UNKNOWN, shape_faults

RULE = contract.Rule(code="NL114", name="unknown-root-key", spec=("PB-02",))

HABITS = {
    **dict.fromkeys(("steps", "flow", "jobs", "stages", "nodes", "dag"), "workflow"),
    **dict.fromkeys(("inputs", "input", "parameters", "params", "variables", "env", "payload"), "workload"),
    **dict.fromkeys(("credentials", "secrets", "auth"), "keychain"),
    **dict.fromkeys(("config", "settings", "runtime", "spec"), "executor"),
    **dict.fromkeys(("tasks", "templates", "functions", "library"), "workbook"),
    **dict.fromkeys(("info", "meta"), "metadata"),
}
IN_METADATA = ("name", "path", "version", "description", "labels")


def check(draft: Draft) -> Iterator[Finding]:
    for one in shape_faults(draft, UNKNOWN):
        if one.name == "root" and one.key != "vars":
            yield RULE.at(
                one.node.place,
                f'a playbook has no key "{shorten(one.key)}" at its root',
                why=f"the root has: {listed(one.shape.keys)}",
                fix=fix(one.key, draft),
            )


def fix(key: str, draft: Draft) -> str:
    if key in IN_METADATA:
        return f"move it to metadata.{key}"
    known = meant(key)
    if not known:
        return "delete it, or put data under workload"
    return f'did you mean "{known}"?' if known not in draft.root.entries else f"move what it holds into {known}"


def meant(key: str) -> str | None:
    """The root key that was probably meant."""
    return HABITS.get(key.lower()) or near_miss(key, ROOT_KEYS)


ROOT_KEYS = ("apiVersion", "kind", "metadata", "keychain", "executor", "workload", "workflow", "workbook")
