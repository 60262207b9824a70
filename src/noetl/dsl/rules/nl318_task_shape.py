"""A tool is not a task or a list of tasks, or a task has no kind.

`tool` is one task, or the list of tasks that run one after the other. Each task is a mapping with a `kind`, a `name` if
something refers to it, and the fields of its tool. choose, while and until may stand in the list like tasks; each has
its parts: cases with `when` and `then: { tool: … }`, or `when` and `tool`.

Wrong:

    tool:
      - fetch
      - name: store
        auth: warehouse

Right:

    tool:
      - name: fetch
        kind: http
        url: https://example.com/items
      - name: store
        kind: postgres
        auth: warehouse
        command: "..."

Spec: TK-01, TK-17.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, near_miss
from noetl.dsl.kinds import Kinds
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, Sequence, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import tools

RULE = contract.Rule(code="NL318", name="task-shape", spec=("TK-01", "TK-17"))

SUGAR = ("choose", "while", "until")
FORMS = "tool is one task, or the list of tasks that run one after the other"
A_TASK = "a task is a mapping with a kind"
SUGAR_FORMS = {
    "choose": "choose is a list of cases: { when: …, then: { tool: … } }, and last { else: { then: { tool: … } } }",
    "while": "while has exactly when and tool: the tasks run as long as when holds",
    "until": "until has exactly when and tool: the tasks run until when holds",
}
KIND_WORDS = ("type", "tool", "uses", "action", "plugin", "module")


def check(draft: Draft) -> Iterator[Finding]:
    for owner, parent, tool in tools(draft):
        if isinstance(tool, Mapping):
            yield from task_faults(draft.kinds, owner, tool, is_alone=True)
        elif isinstance(tool, Sequence) and tool.items:
            for index, item in enumerate(tool.items):
                yield from item_faults(draft.kinds, owner, item, index)
        else:
            yield not_a_pipeline(draft.kinds, owner, parent, tool)
    yield from workbook_faults(draft)


def not_a_pipeline(kinds: Kinds, owner: str, parent: Mapping, tool: AnyNode) -> Finding:
    is_empty = isinstance(tool, Sequence) or (isinstance(tool, Scalar) and tool.value is None)
    found = "an empty list" if isinstance(tool, Sequence) else describe(tool)
    is_kind = isinstance(tool, Scalar) and tool.text in kinds
    return RULE.at(
        parent.entries["tool"].key.place if is_empty else tool.place,
        f"the tool of {owner} is {found}, not a task",
        why=FORMS,
        fix=f"write tool: {{ kind: {tool.text if isinstance(tool, Scalar) and is_kind else '…'}, … }}"
        + (", or remove tool" if is_empty else ""),
    )


def item_faults(kinds: Kinds, owner: str, item: AnyNode, index: int) -> Iterator[Finding]:
    if isinstance(item, Mapping):
        yield from task_faults(kinds, owner, item, is_alone=False)
    else:
        yield RULE.at(
            item.place,
            f"item {index + 1} of the tool of {owner} is {describe(item)}, not a task",
            why=A_TASK,
            fix="write - name: … with kind: … below it",
        )


def workbook_faults(draft: Draft) -> Iterator[Finding]:
    workbook = draft.root.mapping("workbook")
    for name, entry in workbook.entries.items() if workbook else ():
        if isinstance(entry.value, Mapping):
            yield from task_faults(draft.kinds, f'workbook task "{name}"', entry.value, is_alone=True)
        else:
            yield RULE.at(
                entry.key.place,
                f'workbook task "{name}" is {describe(entry.value)}, not a task',
                why=A_TASK,
                fix=f"write {name}: {{ kind: … }}",
            )


def task_faults(kinds: Kinds, owner: str, task: Mapping, *, is_alone: bool) -> Iterator[Finding]:
    word = next((word for word in SUGAR if word in task.entries), None)
    if word and not has_such_field(kinds, task, word):
        yield broken_sugar(owner, task, word, is_alone=is_alone)
    elif "kind" in task.entries:
        kind = task.entries["kind"].value
        if not (isinstance(kind, Scalar) and isinstance(kind.value, str) and kind.value):
            yield kind_not_text(owner, task, kind)
    elif "pipe" not in task.entries:  # NL316
        yield without_kind(kinds, owner, task, is_alone=is_alone)


def has_such_field(kinds: Kinds, task: Mapping, word: str) -> bool:
    """A plugin's kind may have a field of that name."""
    kind = kinds.get(task.text("kind") or "")
    return bool(kind and kind.field(word))


def kind_not_text(owner: str, task: Mapping, kind: AnyNode) -> Finding:
    is_empty = isinstance(kind, Scalar) and kind.value in (None, "")
    return RULE.at(
        task.entries["kind"].key.place if is_empty else kind.place,
        f"{named(owner, task)} has {'an empty kind' if is_empty else f'a kind that is {describe(kind)}'}",
        why="the kind is the name of a tool",
        fix="write a kind, for example kind: http",
    )


def named_twice(owner: str, task: Mapping) -> Finding | None:
    """- fetch: {name: load, kind: …}"""
    label, entry = next(iter(task.entries.items()), ("", None))
    name = (
        entry.value.entries.get("name") if entry and is_task(entry.value) and isinstance(entry.value, Mapping) else None
    )
    if name is None or len(task.entries) != 1 or not isinstance(name.value, Scalar):
        return None
    return RULE.at(
        name.value.place,
        f'a task of {owner} is labelled "{label}" and named "{name.value.text}"',
        why="a label is the older way to write a task's name, and a task has one name",
        fix=f"write - name: {label} or - name: {name.value.text}, with the other fields beside it",
    )


def without_kind(kinds: Kinds, owner: str, task: Mapping, *, is_alone: bool) -> Finding:
    twice = None if is_alone else named_twice(owner, task)
    if twice:
        return twice
    first = next(iter(task.entries.values()), None)
    labelled = [key for key, entry in task.entries.items() if is_task(entry.value)]
    if labelled:
        fix = (
            f"write a list, one item per task: - name: {labelled[0]}"
            if is_alone
            else f"make each task an item of its own: - name: {labelled[0]}"
        )
    else:
        fix = guess(kinds, task)
    return RULE.at(
        first.key.place if first else task.place,
        f"{named(owner, task)} has no kind",
        why=A_TASK + ("; here are several tasks in one" if len(labelled) > 1 else ""),
        fix=fix,
    )


def is_task(node: AnyNode) -> bool:
    return isinstance(node, Mapping) and "kind" in node.entries


def guess(kinds: Kinds, task: Mapping) -> str:
    for key, entry in task.entries.items():
        is_known = isinstance(entry.value, Scalar) and entry.value.text in kinds
        if key in KIND_WORDS and is_known and isinstance(entry.value, Scalar):
            return f"write kind: {entry.value.text} where it says {key}"
    miss = near_miss("kind", task.entries)
    return f'did you mean "kind" where it says "{miss}"?' if miss else "add kind: with the tool to run"


def named(owner: str, task: Mapping) -> str:
    if owner.startswith("workbook"):
        return owner
    name = task.text("name")
    return f'task "{name}"' if name else f"a task of {owner}"


def broken_sugar(owner: str, task: Mapping, word: str, *, is_alone: bool) -> Finding:
    extra = [key for key in task.entries if key not in ("name", "desc", word)]
    if is_alone:
        what, fix = f"stands outside a list of {owner}", "write tool as a list, and this as an item of it"
        if owner.startswith("workbook"):
            what, fix = "stands in the workbook", "a workbook task is one task: write it in the step's tool list"
    elif extra:
        what, fix = (
            f'has the key "{extra[0]}" beside it',
            f"keep only name, desc and {word}; the rest goes into its tasks",
        )
    else:
        what = missing_part(task.entries[word].value, word)
        parts = "each case its when and then: { tool: … }" if word == "choose" else f"{word} its when and its tool"
        fix = f"give {parts}"
    return RULE.at(task.entries[word].key.place, f"{word} in {owner} {what}", why=SUGAR_FORMS[word], fix=fix)


def missing_part(body: AnyNode, word: str) -> str:
    """What a piece of sugar lacks."""
    if word != "choose":
        return missing_of_loop(body)
    if not isinstance(body, Sequence) or not body.items:
        return f"is {'an empty list' if isinstance(body, Sequence) else describe(body)}, not a list of cases"
    for number, case in enumerate(body.items, start=1):
        lack = missing_of_case(case, is_last=number == len(body.items))
        if lack:
            return f"has a case {number} that {lack}"
    return "is not whole"


def missing_of_loop(body: AnyNode) -> str:
    if not isinstance(body, Mapping):
        return f"is {describe(body)}, not a mapping with when and tool"
    lacks = [key for key in ("when", "tool") if key not in body.entries]
    if lacks:
        return f"has no {' and no '.join(lacks)}"
    unknown = [key for key in body.entries if key not in ("when", "tool")]
    return f'has the unknown key "{unknown[0]}"' if unknown else "has a tool that is not a list of tasks"


def missing_of_case(case: AnyNode, *, is_last: bool) -> str:
    if not isinstance(case, Mapping):
        return f"is {describe(case)}"
    if "else" in case.entries and not is_last:
        return "is an else, and it is not the last"
    branch = case.get("else") if "else" in case.entries else case
    if branch is case and "when" not in case.entries:
        return "has neither when nor else"
    if not isinstance(branch, Mapping) or "then" not in branch.entries:
        return "has no then"
    then = branch.entries["then"].value
    if not isinstance(then, Mapping) or set(then.entries) != {"tool"}:
        return "has a then that is not { tool: … }"
    unknown = [key for key in case.entries if key not in ("when", "then", "else")]
    if unknown:
        return f'has the unknown key "{unknown[0]}"'
    tool = then.entries["tool"].value
    is_pipeline = isinstance(tool, Mapping) or (
        isinstance(tool, Sequence) and all(isinstance(task, Mapping) for task in tool.items)
    )
    return "" if is_pipeline else "has a tool that is not a list of tasks"
