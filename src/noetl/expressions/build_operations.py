"""Building operators, comparisons, conditions, and lists and mappings written out. See builder.py."""

from collections.abc import Callable
from typing import Final

from jinja2 import nodes

from noetl.expressions import operators, predicates
from noetl.expressions.builder import OBJECTIONS, UNFIT, Build, Builder, Evaluate, placed
from noetl.expressions.faults import Refusal
from noetl.expressions.printing import weigh
from noetl.expressions.run import Run, Undefined


def _binary(builder: Builder, node: nodes.BinExpr) -> Evaluate:
    left, right, offset = builder.expression(node.left), builder.expression(node.right), node.lineno
    function = operators.BINARY[node.operator]
    return lambda run: placed(offset, function, run, left(run), right(run))


def _negative(builder: Builder, node: nodes.Neg) -> Evaluate:
    inner, offset = builder.expression(node.node), node.lineno
    return lambda run: placed(offset, operators.negate, run, inner(run))


def _positive(builder: Builder, node: nodes.Pos) -> Evaluate:
    inner, offset = builder.expression(node.node), node.lineno
    return lambda run: placed(offset, operators.affirm, run, inner(run))


def _and(builder: Builder, node: nodes.And) -> Evaluate:
    left, right = builder.expression(node.left), builder.expression(node.right)
    return lambda run: left(run) and right(run)


def _or(builder: Builder, node: nodes.Or) -> Evaluate:
    left, right = builder.expression(node.left), builder.expression(node.right)
    return lambda run: left(run) or right(run)


def _not(builder: Builder, node: nodes.Not) -> Evaluate:
    inner = builder.expression(node.node)
    return lambda run: not inner(run)


def _not_in(run: Run, needle: object, holder: object) -> bool:
    return not operators.contains(run, needle, holder)


COMPARE: Final[dict[str, Callable[[Run, object, object], bool]]] = {
    "eq": predicates.equal,
    "ne": predicates.differ,
    "lt": predicates.below,
    "lteq": predicates.at_most,
    "gt": predicates.above,
    "gteq": predicates.at_least,
    "in": operators.contains,
    "notin": _not_in,
}


def _compare(builder: Builder, node: nodes.Compare) -> Evaluate:
    """`a < b`, and chains of it: each operand is evaluated once, and none after the first comparison that fails."""
    first, offset = builder.expression(node.expr), node.expr.lineno
    rest = [(COMPARE[operand.op], builder.expression(operand.expr)) for operand in node.ops]
    if len(rest) == 1:
        return _compare_two(node.ops[0].op, first, rest[0][1], offset)

    def chain(run: Run) -> bool:
        left = first(run)
        for function, operand in rest:
            right = operand(run)
            if not placed(offset, function, run, left, right):
                return False
            left = right
        return True

    return chain


def _compare_two(sign: str, first: Evaluate, second: Evaluate, offset: int) -> Evaluate:
    if sign == "eq":
        return lambda run: first(run) == second(run)  # undefined answers false on either side
    if sign == "ne":
        return lambda run: first(run) != second(run)
    function = COMPARE[sign]

    def compare(run: Run) -> bool:
        left, right = first(run), second(run)
        try:
            return function(run, left, right)
        except Refusal as refusal:
            refusal.place(offset)
            raise
        except OBJECTIONS:
            raise Refusal("type", UNFIT, offset) from None

    return compare


def _condition(builder: Builder, node: nodes.CondExpr) -> Evaluate:
    test, then = builder.expression(node.test), builder.expression(node.expr1)
    if node.expr2 is not None:
        otherwise = builder.expression(node.expr2)
        return lambda run: then(run) if test(run) else otherwise(run)
    nothing = Undefined("an inline if without else, whose condition is false,", node.lineno, is_quiet=True)

    def maybe(run: Run) -> object:
        if test(run):
            return then(run)
        run.is_loose = True
        return nothing

    return maybe


def _concat(builder: Builder, node: nodes.Concat) -> Evaluate:
    parts, offset = builder.expressions(node.nodes), node.lineno
    return lambda run: placed(offset, operators.concatenate, run, [part(run) for part in parts])


def _made(builder: Builder, function: Evaluate) -> Evaluate:
    """A list or mapping that statements make is weighed: doubling it forty times over takes only forty lines."""
    if not builder.has_statements:
        return function

    def weighed(run: Run) -> object:
        value = function(run)
        weigh(run, value)
        return value

    return weighed


def _list(builder: Builder, node: nodes.List) -> Evaluate:
    items = builder.expressions(node.items)
    return _made(builder, lambda run: [item(run) for item in items])


def _tuple(builder: Builder, node: nodes.Tuple) -> Evaluate:
    items = builder.expressions(node.items)
    return _made(builder, lambda run: tuple([item(run) for item in items]))


def _dict(builder: Builder, node: nodes.Dict) -> Evaluate:
    pairs = [(builder.expression(pair.key), builder.expression(pair.value)) for pair in node.items]
    offset = node.lineno

    def make(run: Run) -> object:
        made: dict[object, object] = {}
        for key, value in pairs:
            placed(offset, made.__setitem__, key(run), value(run))
        return made

    return _made(builder, make)


OPERATIONS: Final[dict[type[nodes.Node], Build]] = {
    **dict.fromkeys((nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow), _binary),
    nodes.Neg: _negative,
    nodes.Pos: _positive,
    nodes.And: _and,
    nodes.Or: _or,
    nodes.Not: _not,
    nodes.Compare: _compare,
    nodes.CondExpr: _condition,
    nodes.Concat: _concat,
    nodes.List: _list,
    nodes.Tuple: _tuple,
    nodes.Dict: _dict,
}
