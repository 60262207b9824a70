"""Stage 3 of an expression: the tree → what it reads, filters, tests and calls, each with its exact span.

This is what the checker, `noetl migrate` and the editor ask about. Nothing is evaluated. Names that the template
gives a value itself ({% set %}, {% for %}, {% with %}) are not reads; scopes follow Jinja2: a loop's names end with
the loop.

In: nodes whose `lineno` is an offset, and the `Tokens` they came from. Out: `Facts`.
"""

from collections.abc import Iterable
from typing import Final

from jinja2 import nodes

from noetl.expressions.lexer import Tokens
from noetl.expressions.parser import children
from noetl.expressions.spans import Call, Part, Read, Use


class Facts:
    """What one template does, in source order once `collect` is through."""

    __slots__ = ("bound", "calls", "filters", "index", "local", "reads", "tests", "tokens")

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.index = {mark[0]: place for place, mark in enumerate(tokens.marks)}
        self.reads: list[Read] = []
        self.filters: list[Use] = []
        self.tests: list[Use] = []
        self.calls: list[Call] = []
        self.bound: frozenset[str] = frozenset()  # names with a value of the template's own, at this point
        self.local: set[str] = set()  # all names that ever have one


def collect(tokens: Tokens, body: Iterable[nodes.Node]) -> Facts:
    """Walk a tree and note what it does."""
    facts = Facts(tokens)
    for node in body:
        _visit(facts, node)
    for found in (facts.reads, facts.filters, facts.tests, facts.calls):
        found.sort(key=lambda item: item.offset)
    return facts


def _visit(facts: Facts, node: nodes.Node) -> Read | None:
    kind = type(node)
    if kind is nodes.Const or kind is nodes.TemplateData:
        return None
    special = SPECIAL.get(kind)
    if special is not None:
        return special(facts, node)
    for child in children(node):
        _visit(facts, child)
    return None


def _visit_path(facts: Facts, node: nodes.Node) -> Read | None:
    """A name, or a name followed by parts; whatever stands in a dynamic subscript is walked as well."""
    parts: list[Part] = []
    while not isinstance(node, nodes.Name):
        if isinstance(node, nodes.Getitem) and static_key(node.arg) is None:
            parts = []
            _visit(facts, node.arg)
        elif isinstance(node, nodes.Getattr | nodes.Getitem):
            parts.append(_part(facts, node))
        else:
            _visit(facts, node)
            return None
        node = node.node
    if node.ctx != "load" or node.name in facts.bound:
        return None
    start = node.lineno
    read = Read(node.name, start, start + len(node.name), tuple(reversed(parts)))
    facts.reads.append(read)
    return read


def static_key(node: nodes.Node) -> str | int | None:
    """The key of a subscript that is written out, else None."""
    if isinstance(node, nodes.Neg):
        inner = static_key(node.node)
        return -inner if isinstance(inner, int) else None
    if isinstance(node, nodes.Const) and type(node.value) in (str, int):
        key: str | int = node.value
        return key
    return None


def _part(facts: Facts, node: nodes.Getattr | nodes.Getitem) -> Part:
    start = node.lineno
    end = facts.tokens.closes.get(start)
    if end is None:
        end = facts.tokens.ends[facts.index[start] + 1]
    if isinstance(node, nodes.Getattr):
        return Part(node.attr, start, end)
    key = static_key(node.arg)
    return Part(0 if key is None else key, start, end)


def _visit_filter(facts: Facts, node: nodes.Node) -> None:
    assert isinstance(node, nodes.Filter)  # noqa: S101  the table below sends nothing else
    facts.filters.append(_use(facts, node.name, facts.index[node.lineno]))
    _visit_children(facts, node)


def _visit_test(facts: Facts, node: nodes.Node) -> None:
    assert isinstance(node, nodes.Test)  # noqa: S101  the table below sends nothing else
    place = facts.index[node.lineno] + 1  # the node stands at "is"
    marks = facts.tokens.marks
    negated = marks[place].value == "not" and node.name != "not"
    facts.tests.append(_use(facts, node.name, place + negated))
    _visit_children(facts, node)


def _use(facts: Facts, name: str, place: int) -> Use:
    last = place + 2 * name.count(".")
    return Use(name, facts.tokens.marks[place].lineno, facts.tokens.ends[last])


def _visit_children(facts: Facts, node: nodes.Node) -> None:
    for child in children(node):
        _visit(facts, child)


def _visit_call(facts: Facts, node: nodes.Node) -> None:
    assert isinstance(node, nodes.Call)  # noqa: S101  the table below sends nothing else
    target, end = node.node, facts.tokens.closes[node.lineno]
    if isinstance(target, nodes.Getattr):
        facts.calls.append(Call(_visit(facts, target.node), target.attr, target.lineno, end, "method"))
    elif isinstance(target, nodes.Name):
        facts.calls.append(Call(None, target.name, target.lineno, end, "function"))
    else:
        facts.calls.append(Call(_visit(facts, target), "", node.lineno, end, "value"))
    for child in children(node):
        if child is not target:
            _visit(facts, child)


def _visit_for(facts: Facts, node: nodes.Node) -> None:
    assert isinstance(node, nodes.For)  # noqa: S101  the table below sends nothing else
    outer = facts.bound
    _visit(facts, node.iter)
    _bind(facts, node.target)
    if node.test is not None:
        _visit(facts, node.test)
    facts.bound |= {"loop"}
    facts.local.add("loop")
    _visit_all(facts, node.body)
    facts.bound = outer
    _visit_all(facts, node.else_)
    facts.bound = outer


def _visit_with(facts: Facts, node: nodes.Node) -> None:
    assert isinstance(node, nodes.With)  # noqa: S101  the table below sends nothing else
    outer = facts.bound
    _visit_all(facts, node.values)
    for target in node.targets:
        _bind(facts, target)
    _visit_all(facts, node.body)
    facts.bound = outer


def _visit_assign(facts: Facts, node: nodes.Node) -> None:
    assert isinstance(node, nodes.Assign)  # noqa: S101  the table below sends nothing else
    _visit(facts, node.node)
    _bind(facts, node.target)


def _visit_block(facts: Facts, node: nodes.Node) -> None:
    """{% set x %} … {% endset %} and {% filter f %} … {% endfilter %}: names set in between end there."""
    assert isinstance(node, nodes.AssignBlock | nodes.FilterBlock)  # noqa: S101  the table below sends nothing else
    outer = facts.bound
    _visit_all(facts, node.body)
    if node.filter is not None:
        _visit(facts, node.filter)
    facts.bound = outer
    if isinstance(node, nodes.AssignBlock):
        _bind(facts, node.target)


def _visit_all(facts: Facts, body: Iterable[nodes.Node]) -> None:
    for node in body:
        _visit(facts, node)


def _bind(facts: Facts, target: nodes.Node) -> None:
    names = {node.name for node in (target, *target.find_all(nodes.Name)) if isinstance(node, nodes.Name)}
    facts.bound |= names
    facts.local |= names


SPECIAL: Final = {
    nodes.Name: _visit_path,
    nodes.Getattr: _visit_path,
    nodes.Getitem: _visit_path,
    nodes.Filter: _visit_filter,
    nodes.Test: _visit_test,
    nodes.Call: _visit_call,
    nodes.For: _visit_for,
    nodes.With: _visit_with,
    nodes.Assign: _visit_assign,
    nodes.AssignBlock: _visit_block,
    nodes.FilterBlock: _visit_block,
}
