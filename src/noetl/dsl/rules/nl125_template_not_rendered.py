"""A template stands where nothing renders it.

Templates are rendered in `when`, `input`, tool fields, `set`, `loop.in`, a retry's `delay` and the `spec` of an arc.
Elsewhere, in `metadata`, `executor`, `desc` and the knobs of a `spec`, the text is taken as it is written, because it
must be known before the playbook runs. Python code is never a template either: it reads the values of its task's
`input`.

Wrong:

    tool:
      kind: http
      url: https://example.com/items
      spec: { pool: "{{ workload.pool }}" }

Right:

      spec: { pool: eu_workers }

Spec: TP-01, TP-02.
"""

import re
from collections.abc import Iterator

import msgspec

from noetl.dsl.departures import Path
from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, Sequence
from noetl.dsl.rules import contract
from noetl.dsl.rules.misplaced import refused
from noetl.dsl.rules.pipelines import said
from noetl.dsl.rules.shape_faults import UNKNOWN, departures_of
from noetl.dsl.rules.whereabouts import at
from noetl.expressions import looks_like_template

RULE = contract.Rule(code="NL125", name="template-not-rendered", spec=("TP-01", "TP-02"), severity=WARNING)

READ = re.compile(
    r"\{\{[-+]?\s*(?P<path>(?:workload|ctx|iter|step|input|output|keychain|_prev)(?:\.[^\W\d]\w*)+)[^{}\n]*(?:\}\})?"
)


class Silent(msgspec.Struct, frozen=True):
    """What not to speak of: texts that are rendered, values that another rule refuses."""

    ids: set[int]
    paths: set[Path]


def check(draft: Draft) -> Iterator[Finding]:
    yield from in_code(draft)
    silent = silent_in(draft)
    for node, path in places(draft):
        for text, where in templates(node, path, silent):
            yield RULE.at(
                text.place,
                f"the template in {at(draft, where)} is not rendered",
                why="this value must be known before the playbook runs, so it is taken as written",
                fix="write the value itself; templates work in when, input, tool fields, set, loop.in and delay",
            )


def in_code(draft: Draft) -> Iterator[Finding]:
    """Code that reads a scope as a template would; it is handed to its tool as written."""
    for task in draft.tasks:
        kind = draft.kind_of(task) if task.kind != "workbook" else None  # NL319 speaks of what it calls
        fields = task.fields
        for field in kind.fields if kind else ():
            entry = None if field.is_template else fields.get(field.name)
            found = READ.search(entry.value.text) if entry and isinstance(entry.value, Scalar) else None
            if entry and found and isinstance(entry.value, Scalar):
                yield not_a_template(task, field.name, entry.value, found)


def not_a_template(task: Task, field: str, node: Scalar, found: re.Match[str]) -> Finding:
    path = found["path"]
    name = path.rpartition(".")[2]
    given = f"read it there as input['{name}']"
    return RULE.at(
        node.place_at(found.start(), found.end() - found.start()),
        f"{field} of {said(task)} is not a template: {path} is not put in here",
        why="code is run as it is written, and sees what its task's input gives it",
        fix=given if path.startswith("input.") else f'give it input: {{ {name}: "{{{{ {path} }}}}" }}, and {given}',
    )


def silent_in(draft: Draft) -> Silent:
    faults = departures_of(draft)
    ids = {id(text.node) for text in draft.texts} | refused(draft) | {id(one.node) for one in faults}
    return Silent(ids, {one.path for one in faults if one.fault == UNKNOWN})


def places(draft: Draft) -> Iterator[tuple[AnyNode, Path]]:
    """Every part of a document that no template is rendered in (and, inside it, some that are)."""
    root = draft.root
    yield from below(root, (), "metadata", "executor")
    for name, entry in entries(root.mapping("workbook")):
        yield from of_task(entry, ("workbook", name))
    workflow = root.sequence("workflow")
    for index, step in enumerate(workflow.items if workflow else ()):
        if isinstance(step, Mapping):
            yield from of_step(step, ("workflow", index))


def of_step(step: Mapping, path: Path) -> Iterator[tuple[AnyNode, Path]]:
    yield from below(step, path, "desc", "spec")
    yield from of_pipeline(step.get("tool"), (*path, "tool"))
    router = step.mapping("next")
    if router:
        yield from below(router, (*path, "next"), "spec")
    loop, where = step.mapping("loop"), (*path, "loop")
    while loop:
        yield from below(loop, where, "spec")
        loop, where = loop.mapping("loop"), (*where, "loop")


def of_pipeline(tool: AnyNode | None, path: Path) -> Iterator[tuple[AnyNode, Path]]:
    if isinstance(tool, Mapping):
        yield from of_task(tool, path)
    elif isinstance(tool, Sequence):
        for index, task in enumerate(tool.items):
            yield from of_task(task, (*path, index))


def of_task(task: AnyNode, path: Path) -> Iterator[tuple[AnyNode, Path]]:
    if isinstance(task, Mapping):
        yield from below(task, path, "desc", "spec")


def below(node: Mapping, path: Path, *keys: str) -> Iterator[tuple[AnyNode, Path]]:
    for key in keys:
        value = node.get(key)
        if value is not None:
            yield value, (*path, key)


def entries(node: Mapping | None) -> Iterator[tuple[str, AnyNode]]:
    for key, entry in node.entries.items() if node else ():
        yield key, entry.value


def templates(node: AnyNode, path: Path, silent: Silent) -> Iterator[tuple[Scalar, Path]]:
    """Every template below a node that is not rendered; rules and compensations have rules of their own."""
    is_listed_policy = path[-1] == "policy" and isinstance(node, Sequence)
    if id(node) in silent.ids or path in silent.paths or path[-2:] in ENDS or is_listed_policy:
        return
    if isinstance(node, Scalar):
        if isinstance(node.value, str) and looks_like_template(node.value):
            yield node, path
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            yield from templates(item, (*path, index), silent)
    else:
        for key, entry in node.entries.items():
            yield from templates(entry.value, (*path, key), silent)


ENDS = frozenset((("policy", "rules"), ("policy", "admit"), ("compensation", "tool")))
