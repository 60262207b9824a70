"""Tasks as playbooks for the public NoETL write them: their kind, their fields and where their results go.

Part of upstream.py, whose table says what becomes of what. Each function rewrites one task, or one step, in place.
"""

from __future__ import annotations

from noetl.dsl.dialects.legacy import may_hold
from noetl.dsl.dialects.tree import Node, Tree
from noetl.dsl.kinds import Kind

REFERENCE_FIELDS = ("result_ref", "output_ref", "uri")
SQL_KINDS = ("postgres", "duckdb")
TIERS = frozenset("auto memory kv nats_kv object db disk eventlog".split())  # stores that are a size and no place


def name_kind(tree: Tree, task: Node, reusable: frozenset[str]) -> None:
    kind = tree.value(tree.get(task, "kind"))
    fields = [task, tree.get(task, "input"), tree.get(task, "args")]
    if kind == "artifact" and any(tree.value(tree.get(node, "action")) == "get" for node in fields):
        tree.mark_key("upstream-artifact", task, "kind", old="kind: artifact", new="kind: resolve")
        tree.put(task, "kind", tree.scalar("resolve", tree.get(task, "kind")))
        for node in fields:
            name_reference(tree, node)
    name = tree.value(tree.get(task, "name"))
    if kind == "workbook" and name in reusable and not any("task" in tree.keys(node) for node in fields):
        tree.mark_key("upstream-workbook-name", task, "name", old=f"name: {name}", new=f"task: {name}")
        tree.put(task, "task", tree.scalar(str(name), tree.get(task, "name")))


def name_reference(tree: Tree, node: Node) -> None:
    if "action" in tree.keys(node):
        tree.take(node, "action")
    old = next((key for key in REFERENCE_FIELDS if key in tree.keys(node)), None)
    if old and "ref" not in tree.keys(node):
        tree.rename(node, old, "ref")


def name_fields(tree: Tree, task: Node, kind: Kind | None) -> None:
    """Fields with another name, on the task and under its input."""
    is_http = kind is not None and kind.name == "http"
    for node in (task, tree.get(task, "input")):
        if is_http:
            name_field(tree, node, "endpoint", "url")
            if not {"form", "body"} & set(tree.keys(node)):
                name_field(tree, node, "payload", "json")
        if kind and kind.field("auth") and not kind.field("credential"):
            name_field(tree, node, "credential", "auth")
    name_pool(tree, task, kind)
    if not is_http and not (kind and kind.field("payload")) and may_hold(tree, tree.get(task, "payload")):
        join_payload(tree, task)


def name_field(tree: Tree, node: Node, old: str, new: str) -> None:
    if old in tree.keys(node) and new not in tree.keys(node):
        tree.mark_key(f"upstream-{old}", node, old, old=old, new=new)
        tree.rename(node, old, new)


def name_pool(tree: Tree, task: Node, kind: Kind | None) -> None:
    """Of the settings of a pool of connections only its size has a meaning here (UP-03)."""
    pool, spec = tree.get(task, "pool"), tree.get(task, "spec")
    if kind is None or kind.name not in SQL_KINDS or not tree.is_mapping(pool) or not may_hold(tree, spec):
        return
    tree.mark_key("upstream-pool", task, "pool", old="pool: {…}", new="spec: { pool: { max } }")
    tree.take(task, "pool")
    size = tree.get(pool, "max_size")
    if size is None or kind.knob("pool") is None or "pool" in tree.keys(spec):
        return
    limit = tree.mapping([("max", size)], pool)
    if spec is None:
        tree.put(task, "spec", tree.mapping([("pool", limit)], pool))
    else:
        tree.put(spec, "pool", limit)


def join_payload(tree: Tree, task: Node) -> None:
    """`payload` is `input`, or adds to it."""
    name_field(tree, task, "payload", "args" if "args" in tree.keys(task) else "input")
    values = tree.get(task, "payload")
    target = tree.get(task, "input")
    if tree.is_mapping(values) and tree.is_mapping(target):
        tree.mark_key("upstream-payload", task, "payload", old="payload", new="input")
        tree.take(task, "payload")
        for key in tree.keys(values):
            if key not in tree.keys(target):
                tree.put(target, key, tree.get(values, key))


def move_result(tree: Tree, node: Node) -> None:
    """Storage hints of a step or task stand under its spec."""
    drop_tier(tree, tree.get(tree.get(node, "spec"), "result"))
    hints, spec = tree.get(node, "output"), tree.get(node, "spec")
    if not tree.is_mapping(hints) or not may_hold(tree, spec) or "result" in tree.keys(spec):
        return
    tree.mark_key(
        "upstream-output", node, "output", old="output: {select, store}", new="spec: {result: {select, store}}"
    )
    drop_tier(tree, hints)
    if spec is None:
        tree.rename(node, "output", "spec")
        tree.put(node, "spec", tree.mapping([("result", hints)], hints))
    else:
        tree.take(node, "output")
        tree.put(spec, "result", hints)


def drop_tier(tree: Tree, hints: Node) -> None:
    """A store that is chosen by size is the operator's first here: it takes payloads of any size."""
    store = tree.get(hints, "store")
    kind = tree.value(tree.get(store, "kind") if tree.is_mapping(store) else store)
    if isinstance(kind, str) and kind in TIERS:
        tree.mark_key("upstream-store", hints, "store", old=f"store: {kind}", new="the first of results.stores")
        tree.take(hints, "store")
