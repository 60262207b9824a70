"""Habits of playbooks written for the public NoETL, in the words of the v10 surface (UP-03 to UP-08).

Read only with `--compat upstream` or executor.spec.compat: upstream.

    workbook: [{name, tool}]                   workbook: {name: {…}}
    kind: workbook, name: x                    task: x
    kind: artifact, action: get, result_ref    kind: resolve, ref
    endpoint, credential                       url (http), auth
    payload                                    input; json for http, whose body it is
    pool: {max_size}                           spec.pool: {max}; a pool that the kind does not have: none
    output: {select, store}                    spec.result, on step and task; a store that is a size and no place: none
    set_ctx, set_iter beside the tool          set: {ctx.…, iter.…}
    set: {x}, {{ x }} in the same step         set: {step.x}, {{ step.x }}; on an arc {ctx.x}, {{ ctx.x }} everywhere
    else: {do}, backoff: fixed                 else: {then: {do}}, backoff: none
    rules without else                         two last rules: error fails, else continue (UP-08)
    loop_index, iter._index                    iter.index
    iter._first, iter._last                    (iter.index == 0), (iter.index + 1 == iter._total)
    'call.done', 'step.exit', 'call.error'     'step.done' or 'loop.done', 'step.failed', in the guards of arcs
    branches of one fan-out meet               spec.policy.admit.join: all (UP-05)

What cannot be said otherwise (UP-01's transparent data, iter._total, variables in Python code) stays as it is.
"""

from __future__ import annotations

from functools import partial

from noetl.dsl.dialects.legacy import add_default_rules, may_hold, name_backoff
from noetl.dsl.dialects.templates import (
    bodies,
    quoted_like,
    renamed,
    respell_all,
    step_texts,
    task_texts,
    tokens,
    workbook_tasks,
)
from noetl.dsl.dialects.tree import Node, Respelling, Tree, is_labelled, pipelines, steps
from noetl.dsl.dialects.upstream_tasks import move_result, name_fields, name_kind
from noetl.dsl.dialects.v10 import SETS, join_set, outcomes
from noetl.dsl.kinds import Kinds

DEFAULTS = frozenset(("upstream-else", "upstream-join"))  # marks of what is meant but not written
SCOPES = frozenset("ctx step iter workload input output args outcome event keychain execution_id".split())
LOOPS_MAX = 4
LOOP_NAMES: dict[tuple[str, ...], str] = {("loop_index",): "iter.index"}
for _depth in range(LOOPS_MAX):
    _path = ("iter", *["parent"] * _depth)
    _iter = ".".join(_path)
    LOOP_NAMES[(*_path, "_index")] = f"{_iter}.index"
    LOOP_NAMES[(*_path, "_first")] = f"({_iter}.index == 0)"
    LOOP_NAMES[(*_path, "_last")] = f"({_iter}.index + 1 == {_iter}._total)"


def translate(tree: Tree, root: Node, kinds: Kinds) -> None:
    """Rewrite a document with these habits in place."""
    name_workbook(tree, root)
    reusable = frozenset(tree.keys(tree.get(root, "workbook")))
    own: list[set[str]] = []  # what each step writes without a scope
    shared: set[str] = set()  # … and the arcs
    for step in steps(tree, root):
        move_result(tree, step)
        own.append(name_sets(tree, step, "step"))
        for tool in pipelines(tree, step):
            for task in bodies(tree, tool):
                own[-1] |= name_task(tree, task, kinds, reusable)
        for arc in tree.items(tree.get(tree.get(step, "next"), "arcs")):
            shared |= name_sets(tree, arc, "ctx")
    for task in workbook_tasks(tree, root):
        names = scoped("step", name_task(tree, task, kinds, reusable) - taken_names(tree, root))
        respell_all(tree, task_texts(tree, [task], kinds), partial(renamed, names=names), lambda _: "upstream-read")
    respell(tree, root, kinds)
    name_reads(tree, root, kinds, own, shared)
    join_branches(tree, root, kinds)


def name_workbook(tree: Tree, root: Node) -> None:
    """A list of {name, tool} becomes a mapping of tasks by name."""
    workbook = tree.get(root, "workbook")
    names = [tree.value(tree.get(item, "name")) for item in tree.items(workbook)]
    texts = [name for name in names if isinstance(name, str) and name]
    is_whole = all("tool" in tree.keys(item) or "kind" in tree.keys(item) for item in tree.items(workbook))
    if not names or len(set(texts)) != len(names) or not is_whole:
        return
    tree.mark_key("upstream-workbook", root, "workbook", old="workbook: [{name, tool}]", new="workbook: {name: {…}}")
    tasks = [workbook_task(tree, item) for item in tree.items(workbook)]
    tree.put(root, "workbook", tree.mapping(list(zip(texts, tasks, strict=True)), workbook))


def workbook_task(tree: Tree, item: Node) -> Node:
    """{name, tool: {kind, …}} or {name, tool: kind, …} → {kind, …}"""
    tree.take(item, "name")
    tool = tree.get(item, "tool")
    if not tree.is_mapping(tool):
        if tool is not None and "kind" not in tree.keys(item):
            tree.rename(item, "tool", "kind")
        return item
    for key in tree.keys(item):
        if key != "tool" and key not in tree.keys(tool):
            tree.put(tool, key, tree.get(item, key))
    return tool


def name_task(tree: Tree, task: Node, kinds: Kinds, reusable: frozenset[str]) -> set[str]:
    """The fields and the policy of one task; gives the names that it writes without a scope."""
    name_kind(tree, task, reusable)
    name_fields(tree, task, kinds.get(str(tree.value(tree.get(task, "kind")))))
    move_result(tree, task)
    return name_sets(tree, task, "step") | name_policy(tree, task)


def name_sets(tree: Tree, node: Node, scope: str) -> set[str]:
    """set_ctx and set_iter beside a tool, and writes without a scope, whose names it gives."""
    for old, own in [(key, SETS[key]) for key in tree.keys(node) if key in SETS]:
        if tree.is_mapping(tree.get(node, old)) and may_hold(tree, tree.get(node, "set")):
            tree.mark_key("upstream-set-scope", node, old, old=old, new=f"set: {{ {own}.… }}")
            join_set(tree, node, old, own)
    return name_targets(tree, tree.get(node, "set"), scope)


def name_targets(tree: Tree, values: Node, scope: str) -> set[str]:
    keys = set(tree.keys(values))
    bare = [key for key in tree.keys(values) if key.split(".", 1)[0] not in SCOPES and f"{scope}.{key}" not in keys]
    for key in bare:
        tree.mark_key("upstream-set", values, key, old=key, new=f"{scope}.{key}")
    if bare:
        tree.rename_all(values, {key: f"{scope}.{key}" for key in bare})
    return {key.split(".", 1)[0] for key in bare}


def name_policy(tree: Tree, task: Node) -> set[str]:
    policy = tree.get(tree.get(task, "spec"), "policy")
    rules = tree.get(policy, "rules")
    for rule in tree.items(rules):
        name_else(tree, rule)
    names: set[str] = set()
    for then in outcomes(tree, task):
        name_backoff(tree, then, "upstream-backoff")
        names |= name_targets(tree, tree.get(then, "set"), "step")
    has_else = any("else" in tree.keys(rule) for rule in tree.items(rules))
    if tree.items(rules) and not has_else and "on_unmatched" not in tree.keys(policy):
        new = "rules that end with: error fails, else continue"
        tree.mark_key("upstream-else", policy, "rules", old="rules without else", new=new)
        add_default_rules(tree, rules)
    return names


def name_else(tree: Tree, rule: Node) -> None:
    """else: {do: …} → else: {then: {do: …}}"""
    branch = tree.get(rule, "else")
    if "do" in tree.keys(branch) and "then" not in tree.keys(branch):
        tree.mark_key("upstream-else-do", rule, "else", old="else: { do }", new="else: { then: { do } }")
        tree.put(rule, "else", tree.mapping([("then", branch)], branch))


def respell(tree: Tree, root: Node, kinds: Kinds) -> None:
    """Loop names everywhere, event names in guards."""
    taken = taken_names(tree, root)
    names = {path: new for path, new in LOOP_NAMES.items() if path[0] not in taken}
    find = partial(renamed, names=names)
    for step in steps(tree, root):
        respell_all(tree, step_texts(tree, step, kinds), find, lambda _: "upstream-loop-name")
        done = "step.done" if tree.get(step, "loop") is None else "loop.done"
        events = {"call.done": done, "step.exit": done, "call.error": "step.failed"}
        respell_all(tree, guards(tree, step), partial(event_names, events=events), lambda _: "upstream-event")
    respell_all(tree, task_texts(tree, workbook_tasks(tree, root), kinds), find, lambda _: "upstream-loop-name")


def taken_names(tree: Tree, root: Node) -> frozenset[str]:
    """Bare names that are something else already."""
    names = {str(tree.value(tree.get(step, "step"))) for step in steps(tree, root)}
    return frozenset(tree.keys(tree.get(root, "workload"))) | names


def name_reads(tree: Tree, root: Node, kinds: Kinds, own: list[set[str]], shared: set[str]) -> None:
    """What was written without a scope is read without one: in its step, and what arcs wrote everywhere."""
    if not shared and not any(own):
        return
    taken = taken_names(tree, root)
    for step, written in zip(steps(tree, root), own, strict=True):
        local = taken | own_names(tree, step)
        names = scoped("step", written - local)
        passed = scoped("ctx", shared - written - local)
        inside = step_texts(tree, tree.mapping(after_entry(tree, step), step), kinds) if names else ()
        respell_all(tree, inside, partial(renamed, names=names), lambda _: "upstream-read")
        spots = step_texts(tree, step, kinds) if passed else ()
        respell_all(tree, spots, partial(renamed, names=passed), lambda _: "upstream-read")


def scoped(scope: str, names: set[str]) -> dict[tuple[str, ...], str]:
    return {(name,): f"{scope}.{name}" for name in names}


def after_entry(tree: Tree, step: Node) -> list[tuple[str, Node]]:
    """The parts of a step that are read when it runs: its input, admission and loop are read before."""
    return [(key, tree.get(step, key)) for key in ("tool", "set", "next") if key in tree.keys(step)]


def own_names(tree: Tree, step: Node) -> frozenset[str]:
    """Names of a step's tasks and loops."""
    found = {"loop_index"}
    for tool in pipelines(tree, step):
        items = tree.items(tool) if tree.is_list(tool) else [tool]
        found |= {tree.keys(item)[0] for item in items if is_labelled(tree, item)}
        found |= {str(tree.value(tree.get(item, "name"))) for item in items}
    loop = tree.get(step, "loop")
    for _ in range(LOOPS_MAX):
        found.add(str(tree.value(tree.get(loop, "iterator"))))
        loop = tree.get(loop, "loop")
    return frozenset(found)


def guards(tree: Tree, step: Node) -> list[tuple[Node, str, str]]:
    arcs = tree.items(tree.get(tree.get(step, "next"), "arcs"))
    found = [(arc, "when", tree.value(tree.get(arc, "when"))) for arc in arcs]
    return [(arc, key, text) for arc, key, text in found if isinstance(text, str)]


def event_names(text: str, events: dict[str, str]) -> list[Respelling]:
    if not any(name in text for name in events):
        return []
    words = [token for token in tokens(text) if token.kind == "string"]
    return [quoted_like(text, word, events[str(word.value)]) for word in words if word.value in events]


def join_branches(tree: Tree, root: Node, kinds: Kinds) -> None:
    """A step that two branches of one fan-out come to waits for both."""
    routers = [tree.get(step, "next") for step in steps(tree, root)]
    if not any(tree.value(tree.get(tree.get(router, "spec"), "mode")) == "inclusive" for router in routers):
        return
    from noetl.dsl.analyze import tokens_of  # only here: most playbooks do not fan out
    from noetl.dsl.net import net_of
    from noetl.dsl.parse import parse

    net = net_of(parse(root.source, root, kinds, is_upstream=True))
    if net is None:
        return
    for number in sorted({meeting.step for meeting in tokens_of(net).meetings}):
        put_join(tree, net.steps[number].node)


def put_join(tree: Tree, step: Node) -> None:
    policy = tree.get(tree.get(step, "spec"), "policy")
    admission = tree.get(policy, "admit")
    if not may_hold(tree, tree.get(step, "spec"), policy, admission) or "join" in tree.keys(admission):
        return
    tree.mark_key("upstream-join", step, "step", old="two branches meet", new="spec.policy.admit.join: all")
    join = tree.scalar("all", tree.get(step, "step"))
    if admission is not None:
        tree.put(admission, "join", join)
    elif policy is not None:
        tree.put(policy, "admit", tree.mapping([("join", join)], join))
    elif tree.get(step, "spec") is not None:
        tree.put(tree.get(step, "spec"), "policy", joining(tree, join))
    else:
        tree.put(step, "spec", tree.mapping([("policy", joining(tree, join))], join))


def joining(tree: Tree, join: Node) -> Node:
    return tree.mapping([("admit", tree.mapping([("join", join)], join))], join)
