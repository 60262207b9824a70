"""A task has a field that its tool does not know.

Fields on the task itself belong to its tool, and the tool knows its own: a misspelt one would silently do nothing.
Further values of your own go under `input`, where templates of the task read them as {{ input.name }}. A name under
`input` that is one slip away from a field of the tool is a warning.

Wrong:

    tool:
      kind: http
      url: https://example.com/items
      header: { Accept: application/json }

Right:

    tool:
      kind: http
      url: https://example.com/items
      headers: { Accept: application/json }

Spec: TK-11, TL-03.
"""

from collections.abc import Iterator

import msgspec

from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import WARNING, Edit, Finding, listed, near_miss
from noetl.dsl.kinds import Kind
from noetl.dsl.nodes import Entry, Scalar
from noetl.dsl.parse import TASK_KEYS
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import rename_key, span
from noetl.dsl.rules.pipelines import with_kind
from noetl.dsl.rules.tool_fields import (
    missing,
    names_read_from_input,
    one_slip_away,
    unknown_direct,
    verbatim_text,
)

RULE = contract.Rule(code="NL304", name="unknown-tool-field", spec=("TK-11", "TL-03"), also=(WARNING,))

NOT_ON_TASKS = {
    "when": "a task has no when: give it a rule with do: skip and the opposite condition, under spec.policy.rules",
    "next": "only steps route: move next to the step",
    "loop": "loop belongs to the step: it runs the whole pipeline once per element",
    "output": "output is read, not written: keep values with set",
    "outcome": "outcome is read, not written: keep values with set",
    "rules": "rules stand under spec.policy.rules",
    "vars": "keep values with set: { step.name: value }",
    "set_ctx": "write set: { ctx.name: value }",
    "set_iter": "write set: { iter.name: value }",
    "sink": "storing is a task of its own: add one that writes, for example kind: postgres",
    "case": "write the cases as rules under spec.policy.rules",
    "auth": "this kind signs in nowhere: remove it, or read {{ keychain.<name>.<field> }} in a field that needs it",
    "step": "a step is an item of workflow, not of tool",
    "tool": "tasks do not nest: write them one after the other in the step's tool list",
}
SYNONYMS = {"id": "name", "label": "name", "description": "desc", "type": "kind", "credential": "auth"}


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        kind = draft.kind_of(task)
        if kind:
            for key, entry in unknown_direct(draft, task, kind).items():
                found = unknown(task, kind, key, entry)
                is_let_pass = draft.is_upstream  # such playbooks run unchanged
                yield msgspec.structs.replace(found, severity=WARNING) if is_let_pass else found
            yield from slips(draft, task, kind)


def unknown(task: Task, kind: Kind, key: str, entry: Entry) -> Finding:
    allowed = [field.name for field in kind.fields]
    why = f"kind: {kind.name} knows {listed(allowed, 16)}" if allowed else f"kind: {kind.name} has no fields of its own"
    return RULE.at(
        entry.key.place,
        f'{with_kind(task)} has no field "{key}"',
        why="a task's label is its name, beside its other keys" if is_label(task, key) else why,
        fix=f"write name: {key}" if is_label(task, key) else NOT_ON_TASKS.get(key) or guess(task, key, allowed),
        edits=edits(task, key, entry, allowed),
    )


def is_label(task: Task, key: str) -> bool:
    """`- fetch:` with the task's keys beside it instead of below: the label of the older form, indented wrongly."""
    first, value = next(iter(task.node.entries)), task.direct[key].value
    is_empty = isinstance(value, Scalar) and value.value is None
    return first == key and is_empty and "name" not in task.node.entries and task.step is not None


def edits(task: Task, key: str, entry: Entry, allowed: list[str]) -> tuple[Edit, ...]:
    if is_label(task, key):
        start, end = span(entry.key)
        is_plain = entry.key.source.text[start : end + 1] == f"{key}:"
        return (Edit(start, end + 1, f"name: {key}"),) if is_plain else ()
    recased = key.lower() if key.lower() in allowed and key.lower() not in task.direct else ""
    return rename_key(entry, task.node, recased) if recased else ()


def guess(task: Task, key: str, allowed: list[str]) -> str:
    free = [name for name in (*allowed, *sorted(TASK_KEYS)) if name not in task.node.entries]
    miss = SYNONYMS.get(key) if SYNONYMS.get(key) in free else near_miss(key, free)
    return f'did you mean "{miss}"?' if miss else f"if it is a value of your own, write input: {{ {key}: … }}"


def slips(draft: Draft, task: Task, kind: Kind) -> Iterator[Finding]:
    """Names under input that were probably meant as a field; those that something reads are not."""
    wanted = {name for group in missing(task, kind) for name in group}  # NL306 speaks of these
    given = task.fields
    absent = [field.name for field in kind.fields if field.name not in given and field.name not in wanted]
    for key, entry in task.input.items():
        name = next((name for name in absent if one_slip_away(key, name)), None) if not kind.field(key) else None
        if name and key not in names_read_from_input(draft, task) and key not in verbatim_text(task, kind):
            yield RULE.at(
                entry.key.place,
                f'input "{key}" of {with_kind(task)} is nearly its field "{name}", and nothing reads it',
                why="input may hold names of your own, so a slip in a field's name goes unnoticed",
                fix=f'did you mean "{name}"?',
                severity=WARNING,
            )
