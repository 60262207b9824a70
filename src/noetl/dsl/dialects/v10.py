"""The v10 surface (documents 000-002) as the 2026 one: args, outcome, set_ctx, set_iter, labelled tasks (DI-02).

Always on. Each use is marked; nothing changes its meaning. Arc `args` stay: the model has them, because a token's own
values cannot always be said with `set` (PB-11).
"""

from __future__ import annotations

from collections.abc import Iterable

from noetl.dsl.dialects.templates import Renames, Spot, renamed, respell_all, task_texts, texts_below
from noetl.dsl.dialects.tree import Node, Tree, all_tasks, is_labelled, pipelines, steps
from noetl.dsl.kinds import Kinds

HTTP_RESULT = (
    "{'data': output.data, 'status_code': output.http.status, 'headers': output.http.headers, 'url': output.http.url}"
)
SETS = {"set_ctx": "ctx", "set_iter": "iter"}
NAMES: dict[tuple[str, ...], str] = {
    ("args",): "input",
    ("outcome",): "output",
    ("outcome", "result"): "output.data",
    ("outcome", "result_ref"): "output.ref",
    ("result_ref",): "output.ref",
}
HTTP_NAMES: dict[tuple[str, ...], str] = {
    **NAMES,
    ("outcome", "result"): HTTP_RESULT,
    ("outcome", "result", "data"): "output.data",
    ("outcome", "result", "status_code"): "output.http.status",
    ("outcome", "result", "headers"): "output.http.headers",
    ("outcome", "result", "url"): "output.http.url",
}


def translate(tree: Tree, root: Node, kinds: Kinds) -> None:
    """Rewrite a v10 document in place."""
    for step in steps(tree, root):
        name_input(tree, step)
        for tool in pipelines(tree, step):
            name_tasks(tree, tool)
        mark_arc_args(tree, step)
    for task in all_tasks(tree, root):
        name_input(tree, task)
        for then in outcomes(tree, task):
            join_sets(tree, then)
    respell_templates(tree, root, kinds)


def name_input(tree: Tree, node: Node) -> None:
    """`args` on a step or task is its `input`; beside one, it adds to it. What both name is left: NL901 asks which."""
    if "args" not in tree.keys(node):
        return
    values, target = tree.get(node, "args"), tree.get(node, "input")
    if "input" not in tree.keys(node):
        tree.mark_key("args", node, "args")
        tree.rename(node, "args", "input")
    elif tree.is_mapping(values) and tree.is_mapping(target) and not set(tree.keys(values)) & set(tree.keys(target)):
        tree.mark_key("args", node, "args", beside="input")
        merge(tree, node, "args", "input")


def merge(tree: Tree, node: Node, old: str, new: str) -> None:
    """Two mappings under one key, in place of the first; the entries of the one that is written first come first."""
    keys = tree.keys(node)
    if keys.index(old) < keys.index(new) or old == "args":
        values = tree.take(node, new)
        tree.rename(node, old, new)
    else:
        values = tree.take(node, old)
    target = tree.get(node, new)
    for key in tree.keys(values):
        tree.put(target, key, tree.get(values, key))


def mark_arc_args(tree: Tree, step: Node) -> None:
    for arc in tree.items(tree.get(tree.get(step, "next"), "arcs")):
        if "args" in tree.keys(arc):
            tree.mark_key("arc-args", arc, "args", step=str(tree.value(tree.get(arc, "step"))))


def name_tasks(tree: Tree, tool: Node) -> None:
    """`- label: {kind: …}` is `- name: label` with the rest beside it (TK-01)."""
    for index, item in enumerate(tree.items(tool)):
        if not is_labelled(tree, item):
            continue
        label = tree.keys(item)[0]
        if has_other_name(tree, tree.get(item, label), label):
            continue  # NL905 asks which of the two it is
        tree.mark_key("labelled-task", item, label, label=label)
        name = tree.scalar(label, tree.key(item, label))
        body = tree.take(item, label)
        if tree.value(tree.get(body, "name")) != label:
            tree.put(body, "name", name, first=True)
        tree.put_item(tool, index, body)


def has_other_name(tree: Tree, body: Node, label: str) -> bool:
    """Whether a labelled task has a name as well; that of a workbook task may be the name of what it calls."""
    if "name" not in tree.keys(body):
        return False
    name = tree.value(tree.get(body, "name"))
    return name != label and (name is None or name != tree.value(tree.get(body, "task")))


def outcomes(tree: Tree, task: Node) -> list[Node]:
    """Every `then` of a task's policy."""
    rules = tree.items(tree.get(tree.get(tree.get(task, "spec"), "policy"), "rules"))
    found = [tree.get(rule, "then") for rule in rules]
    found += [tree.get(tree.get(rule, "else"), "then") for rule in rules]
    return [then for then in found if tree.is_mapping(then)]


def join_sets(tree: Tree, then: Node) -> None:
    """`set_ctx` and `set_iter` become one `set` with flat paths."""
    for old in [key for key in tree.keys(then) if key in SETS]:
        target = tree.get(then, "set")
        if not tree.is_mapping(tree.get(then, old)) or not (target is None or tree.is_mapping(target)):
            continue
        tree.mark_key("set-scope", then, old, old=old, scope=SETS[old])
        join_set(tree, then, old, SETS[old])


def join_set(tree: Tree, node: Node, old: str, scope: str) -> None:
    """A mapping of one scope's keys becomes, or joins, a `set` with flat paths; what both write is as it says."""
    values = tree.get(node, old)
    tree.rename_all(values, {key: f"{scope}.{key}" for key in tree.keys(values)})
    if "set" not in tree.keys(node):
        tree.rename(node, old, "set")
        return
    for key in tree.keys(values):
        if key in tree.keys(tree.get(node, "set")):
            tree.take(tree.get(node, "set"), key)
    merge(tree, node, old, "set")


def respell_templates(tree: Tree, root: Node, kinds: Kinds) -> None:
    """Respell task by task and step by step: each has names of its own, and code is left as it is."""
    stops = frozenset(id(tool) for step in steps(tree, root) for tool in pipelines(tree, step))
    for task in all_tasks(tree, root):
        names = HTTP_NAMES if tree.value(tree.get(task, "kind")) == "http" else NAMES
        respell(tree, task_texts(tree, [task], kinds, stops), names)
    for step in steps(tree, root):
        respell(tree, texts_below(tree, step, frozenset(), stops), names_at(tree, step))


def names_at(tree: Tree, step: Node) -> Renames:
    """What `outcome.result` is at a step's boundary: the last task's, or the list of a loop."""
    last = tree.get(step, "tool")
    items = tree.items(last)
    last = items[-1] if items else last
    is_http = tree.value(tree.get(last, "kind")) == "http" and tree.get(step, "loop") is None
    return HTTP_NAMES if is_http else NAMES


def respell(tree: Tree, spots: Iterable[Spot], names: Renames) -> None:
    respell_all(tree, spots, lambda text: renamed(text, names), mark_name)


def mark_name(old: str) -> str:
    """Which deprecated name a read began with."""
    if old.startswith("args"):
        return "args"
    if "result_ref" in old:
        return "result-ref"
    return "outcome-result" if "result" in old else "outcome"
