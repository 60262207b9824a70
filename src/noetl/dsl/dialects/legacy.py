"""The surface of document 003 as the v10 one (PB-10): read only where legacy is asked for.

    when: on a step                       spec.policy.admit.rules: allow when it holds, else not
    next: [ … ], spec.next_mode           next: {spec: {mode}, arcs: [ … ]}
    eval: [{expr, do, …}, {else: {do}}]   spec.policy.rules: [{when, then: {do, …}}, {else: {then: {do}}}]
    no match and no else                  two last rules: error fails, else continue (§6.3, §16; TK-06 would go on)
    backoff: fixed                        none
    set_vars, vars.x                      set: {step.x}, step.x
    set_shared                            set: {step.x}; a rule asks for a reducer in parallel loops
    outcome.status == 'success'           == 'ok'
    outcome.pg.message, .py.exception     outcome.error.message

Arguments, outcomes and the other sets are v10's own and left to it. set_prev has no newer spelling: it stays, and the
model carries it. What is not as 003 has it is left alone, and the rules refuse it.
"""

from __future__ import annotations

from noetl.dsl.dialects.templates import (
    Token,
    bodies,
    quoted_like,
    reads_of,
    renamed,
    respell_all,
    step_texts,
    task_texts,
    tokens,
    workbook_tasks,
)
from noetl.dsl.dialects.tree import Node, Respelling, Tree, pipelines, steps
from noetl.dsl.dialects.v10 import join_set, outcomes
from noetl.dsl.kinds import Kinds

NAMES: dict[tuple[str, ...], str] = {
    ("vars",): "step",
    ("outcome", "pg", "message"): "outcome.error.message",
    ("outcome", "py", "exception"): "outcome.error.message",
}
ADMISSION_NAMES: dict[tuple[str, ...], str] = {("token", "args"): "args"}
SUCCESS, OK = "success", "ok"
ANY_STATUS = "('success' if output.status == 'ok' else output.status)"
OPENINGS = frozenset(
    "variable_begin block_begin lparen lbracket lbrace comma colon assign".split()
)  # a comparison may begin behind these,
CLOSINGS = frozenset("variable_end block_end rparen rbracket rbrace comma colon".split())  # and end before these


def translate(tree: Tree, root: Node, kinds: Kinds) -> None:
    """Rewrite a document of 003 in place."""
    for step in steps(tree, root):
        admit(tree, step)
        route(tree, step)
        for tool in pipelines(tree, step):
            for task in bodies(tree, tool):
                evaluate(tree, task)
    for task in workbook_tasks(tree, root):
        evaluate(tree, task)
    respell(tree, root, kinds)


def admit(tree: Tree, step: Node) -> None:
    """A step's `when` is its admission."""
    spec = tree.get(step, "spec")
    policy = tree.get(spec, "policy")
    if "when" not in tree.keys(step) or not may_hold(tree, spec, policy) or "admit" in tree.keys(policy):
        return
    tree.mark_key("legacy-step-when", step, "when", old="when", new="spec.policy.admit.rules")
    when = tree.get(step, "when")
    rules = [
        tree.mapping([("when", when), ("then", answer(tree, True, when))], when),
        tree.mapping([("else", tree.mapping([("then", answer(tree, False, when))], when))], when),
    ]
    admission = tree.mapping([("rules", tree.list(rules, when))], when)
    put_below_spec(tree, step, "when", [("admit", admission)])


def may_hold(tree: Tree, *nodes: Node) -> bool:
    """Whether a key can be put into each of these, if it is there."""
    return all(node is None or tree.is_mapping(node) for node in nodes)


def answer(tree: Tree, is_allowed: bool, like: Node) -> Node:
    return tree.mapping([("allow", tree.scalar(is_allowed, like))], like)


def put_below_spec(tree: Tree, node: Node, old: str, pairs: list[tuple[str, Node]]) -> None:
    """Put what a key stood for below spec.policy; without a spec yet, where the key stood."""
    like = pairs[0][1]
    spec = tree.get(node, "spec")
    if spec is None:
        tree.rename(node, old, "spec")
        tree.put(node, "spec", tree.mapping([("policy", tree.mapping(pairs, like))], like))
        return
    tree.take(node, old)
    if tree.get(spec, "policy") is None:
        tree.put(spec, "policy", tree.mapping(pairs, like))
    else:
        for key, value in pairs:
            tree.put(tree.get(spec, "policy"), key, value)


def route(tree: Tree, step: Node) -> None:
    """A list of arcs becomes a router, with the mode that stood under the step's spec."""
    router = tree.get(step, "next")
    if tree.is_list(router):
        tree.mark_key("legacy-next-list", step, "next", old="next: [ … ]", new="next: { arcs: [ … ] }")
        mode = take_mode(tree, step)
        pairs = [("spec", tree.mapping([("mode", mode)], mode))] if mode is not None else []
        if tree.items(router):
            tree.put(step, "next", tree.mapping([*pairs, ("arcs", router)], router))
        else:
            tree.take(step, "next")  # no arcs: the branch ends here
    elif tree.is_mapping(router) and may_hold(tree, tree.get(router, "spec")):
        mode = None if "mode" in tree.keys(tree.get(router, "spec")) else take_mode(tree, step)
        if mode is not None and tree.get(router, "spec") is not None:
            tree.put(tree.get(router, "spec"), "mode", mode)
        elif mode is not None:
            tree.put(router, "spec", tree.mapping([("mode", mode)], mode), first=True)
    elif router is None:
        take_mode(tree, step)


def take_mode(tree: Tree, step: Node) -> Node:
    """step.spec.next_mode, which is gone then; so is a spec that held nothing else."""
    spec = tree.get(step, "spec")
    if "next_mode" not in tree.keys(spec):
        return None
    tree.mark_key("legacy-next-mode", spec, "next_mode", old="spec.next_mode", new="next.spec.mode")
    mode = tree.take(spec, "next_mode")
    if not tree.keys(spec):
        tree.take(step, "spec")
    return mode


def evaluate(tree: Tree, task: Node) -> None:
    """A task's eval list is its policy."""
    entries = tree.get(task, "eval")
    spec = tree.get(task, "spec")
    if tree.is_list(entries) and may_hold(tree, spec) and "policy" not in tree.keys(spec):
        tree.mark_key("legacy-eval", task, "eval", old="eval", new="spec.policy.rules")
        for entry in tree.items(entries):
            to_rule(tree, entry)
        add_default_rules(tree, entries)
        put_below_spec(tree, task, "eval", [("rules", entries)])
    for then in outcomes(tree, task):
        settle(tree, then)


def to_rule(tree: Tree, entry: Node) -> None:
    """{expr, do, …} → {when, then: {do, …}}; {else: {do, …}} → {else: {then: {do, …}}}"""
    if "expr" in tree.keys(entry) and "when" not in tree.keys(entry):
        tree.rename(entry, "expr", "when")
    branch = tree.get(entry, "else")
    if tree.is_mapping(branch) and "then" not in tree.keys(branch):
        tree.put(entry, "else", tree.mapping([("then", branch)], branch))
    elif "when" in tree.keys(entry) and not {"then", "else"} & set(tree.keys(entry)):
        pairs = [(key, tree.take(entry, key)) for key in tree.keys(entry) if key != "when"]
        tree.put(entry, "then", tree.mapping(pairs, entry))


def add_default_rules(tree: Tree, rules: Node) -> None:
    """Without an else: an error fails, anything else goes on."""
    if any("else" in tree.keys(rule) for rule in tree.items(rules)):
        return
    fail = tree.mapping([("do", tree.scalar("fail", rules))], rules)
    go_on = tree.mapping([("do", tree.scalar("continue", rules))], rules)
    when = tree.scalar("{{ output.status == 'error' }}", rules)
    tree.add_item(rules, tree.mapping([("when", when), ("then", fail)], rules))
    tree.add_item(rules, tree.mapping([("else", tree.mapping([("then", go_on)], rules))], rules))


def settle(tree: Tree, then: Node) -> None:
    """What a rule of 003 may ask for and others may not."""
    name_backoff(tree, then, "legacy-backoff")
    for old in [key for key in tree.keys(then) if key in ("set_vars", "set_shared")]:
        if tree.is_mapping(tree.get(then, old)) and may_hold(tree, tree.get(then, "set")):
            tree.mark_key(f"legacy-{old.replace('_', '-')}", then, old, old=old, new="set: { step.… }")
            if old == "set_shared":
                mark_shared(tree, tree.get(then, old))
            join_set(tree, then, old, "step")
    if "set_prev" in tree.keys(then):
        tree.mark_key("legacy-set-prev", then, "set_prev", old="set_prev", fix="let a task of its own give that value")


def name_backoff(tree: Tree, then: Node, mark: str) -> None:
    """A backoff that does not grow is called none."""
    if tree.value(tree.get(then, "backoff")) == "fixed":
        tree.mark_key(mark, then, "backoff", old="backoff: fixed", new="backoff: none")
        tree.put(then, "backoff", tree.scalar("none", tree.get(then, "backoff")))


def mark_shared(tree: Tree, values: Node) -> None:
    for key in tree.keys(values):
        tree.mark_key("set-shared", values, key, key=key)


def respell(tree: Tree, root: Node, kinds: Kinds) -> None:
    """Names and words of 003 in templates."""
    for step in steps(tree, root):
        respell_all(tree, admission_texts(tree, step), lambda text: renamed(text, ADMISSION_NAMES), mark_name)
        respell_all(tree, step_texts(tree, step, kinds), respellings, mark_name)
    respell_all(tree, task_texts(tree, workbook_tasks(tree, root), kinds), respellings, mark_name)


def admission_texts(tree: Tree, step: Node) -> list[tuple[Node, str, str]]:
    rules = tree.items(tree.get(tree.get(tree.get(tree.get(step, "spec"), "policy"), "admit"), "rules"))
    found = [(rule, "when", tree.value(tree.get(rule, "when"))) for rule in rules]
    return [(rule, key, text) for rule, key, text in found if isinstance(text, str) and "{{" in text]


def respellings(text: str) -> list[Respelling]:
    return sorted([*renamed(text, NAMES), *statuses(text)], key=lambda one: one.offset)


def mark_name(old: str) -> str:
    if old.startswith("vars"):
        return "legacy-vars"
    return "legacy-status" if "status" in old or SUCCESS in old else "legacy-outcome"


def statuses(text: str) -> list[Respelling]:
    """outcome.status is ok where it was success: in comparisons the word changes, elsewhere the value."""
    if "status" not in text:
        return []
    spans = reads_of(text, "outcome", "status")
    found = tokens(text) if spans else []
    places = {token.offset: place for place, token in enumerate(found)}
    made: list[Respelling] = []
    for start, end in spans:
        last = next(place for place in range(places[start], len(found)) if found[place].offset >= end)
        words = compared_words(found, places[start], last)
        if words is None:
            made.append(Respelling(start, end - start, ANY_STATUS))
        else:
            made += [quoted_like(text, word, OK) for word in words if word.value == SUCCESS]
    return made


def compared_words(found: list[Token], first: int, after: int) -> list[Token] | None:
    """The words that a value is compared with, where the comparison is all there is; else None.

    The value's tokens are those from `first` to before `after`. Beyond the ends there is always a tag's own token.
    """
    if found[after].kind in ("eq", "ne") and found[after + 1].kind == "string":
        return [found[after + 1]] if is_alone(found, first - 1, after + 2) else None
    if found[first - 1].kind in ("eq", "ne") and found[first - 2].kind == "string":
        return [found[first - 2]] if is_alone(found, first - 3, after) else None
    opening = after + 2 if found[after].is_word("not") and found[after + 1].is_word("in") else after + 1
    if found[opening - 1].is_word("in") and found[opening].kind in ("lbracket", "lparen"):
        return listed_words(found, first, opening)
    return None


def listed_words(found: list[Token], first: int, opening: int) -> list[Token] | None:
    """The words of a list that a value is looked for in."""
    closing = opening + 1
    while found[closing].kind in ("string", "comma"):
        closing += 1
    is_list = found[closing].kind in ("rbracket", "rparen") and is_alone(found, first - 1, closing + 1)
    return [token for token in found[opening:closing] if token.kind == "string"] if is_list else None


def is_alone(found: list[Token], before: int, after: int) -> bool:
    """Whether a comparison between two tokens is an expression of its own."""
    opens = found[before].kind in OPENINGS or found[before].is_word("and", "or", "not", "if", "elif", "else")
    closes = found[after].kind in CLOSINGS or found[after].is_word("and", "or", "if", "else")
    return opens and closes
