"""What the nodes of an expression come to while only some paths are known: a value, a truth, or not known.

In: nodes from `parser.py`, and the known paths. Out: a value or MISSING, a truth or None. `decide.py` asks; nothing is
evaluated that the known paths do not settle.
"""

from jinja2 import nodes

from noetl.expressions.build_operations import COMPARE
from noetl.expressions.decide import Known, Path, SomeMapping
from noetl.expressions.facts import static_key
from noetl.expressions.faults import Refusal
from noetl.expressions.limits import LIMITS
from noetl.expressions.run import Run
from noetl.expressions.truth import truth_of
from noetl.expressions.values import MISSING, is_undefined, member_path


def decided(node: nodes.Node, known: Known) -> bool | None:
    """The truth of a condition."""
    value = value_of(node, known)
    return _truth(node, known) if value is MISSING else truth_of(value)


def _truth(node: nodes.Node, known: Known) -> bool | None:
    """Truth inside an expression, where a text counts by being empty or not."""
    if isinstance(node, nodes.And | nodes.Or):
        ends = isinstance(node, nodes.Or)  # the truth of one side that settles the matter
        sides = (_truth(node.left, known), _truth(node.right, known))
        return ends if ends in sides else None if None in sides else not ends
    if isinstance(node, nodes.Not):
        inner = _truth(node.node, known)
        return None if inner is None else not inner
    if isinstance(node, nodes.CondExpr):
        return _truth_of_condition(node, known)
    if isinstance(node, nodes.Compare):
        return _truth_of_compare(node, known)
    value = value_of(node, known)
    return None if value is MISSING else bool(value)


def _truth_of_condition(node: nodes.CondExpr, known: Known) -> bool | None:
    test = _truth(node.test, known)
    then = _truth(node.expr1, known)
    otherwise = False if node.expr2 is None else _truth(node.expr2, known)
    if test is None:
        return then if then == otherwise else None
    return then if test else otherwise


def _truth_of_compare(node: nodes.Compare, known: Known) -> bool | None:
    """Each pair of a chain; one that is false settles it."""
    values = [value_of(operand, known) for operand in (node.expr, *(operand.expr for operand in node.ops))]
    answers = set()
    for operand, left, right in zip(node.ops, values, values[1:], strict=False):
        answers.add(None if left is MISSING or right is MISSING else _compared(operand.op, left, right))
    return False if False in answers else None if None in answers else True


def _compared(sign: str, left: object, right: object) -> bool | None:
    try:
        return bool(COMPARE[sign](Run({}, LIMITS.work), left, right))
    except (Refusal, TypeError, RecursionError):
        return None  # the evaluation would fail: neither true nor false


def value_of(node: nodes.Node, known: Known) -> object:
    """The value of a node, or MISSING if it is not known; undefined if it is known not to be there."""
    if isinstance(node, nodes.Const):
        return node.value
    if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
        path = _path(node)
        return MISSING if path is None else _known_value(path, known)
    if isinstance(node, nodes.Neg) and type(static_key(node)) is int:
        return static_key(node)
    if isinstance(node, nodes.List | nodes.Tuple):
        items = [value_of(item, known) for item in node.items]
        if any(item is MISSING for item in items):
            return MISSING
        return items if isinstance(node, nodes.List) else tuple(items)
    if isinstance(node, nodes.Dict):
        return _mapping(node, known)
    if isinstance(node, nodes.Compare | nodes.Not):
        answer = _truth(node, known)
        return MISSING if answer is None else answer
    return _value_of_choice(node, known)


def _mapping(node: nodes.Dict, known: Known) -> object:
    pairs = [(value_of(pair.key, known), value_of(pair.value, known)) for pair in node.items]
    if any(key is MISSING or value is MISSING for key, value in pairs):
        return MISSING
    try:
        return dict(pairs)
    except (TypeError, Refusal):
        return MISSING


def _value_of_choice(node: nodes.Node, known: Known) -> object:
    """What `and`, `or`, `if`, `is defined` and `is none` come to, when the part that chooses is known."""
    if isinstance(node, nodes.And | nodes.Or):
        left = _truth(node.left, known)
        if left is None:
            return MISSING
        return value_of(node.left if left is isinstance(node, nodes.Or) else node.right, known)
    if isinstance(node, nodes.CondExpr):
        test = _truth(node.test, known)
        chosen = node.expr1 if test else node.expr2
        return MISSING if test is None or chosen is None else value_of(chosen, known)
    if isinstance(node, nodes.Test) and node.name in ("defined", "undefined") and not node.args:
        return _definedness(node, known)
    if isinstance(node, nodes.Test) and node.name == "none" and not node.args:
        value = value_of(node.node, known)
        return MISSING if value is MISSING else value is None
    return MISSING


def _definedness(node: nodes.Test, known: Known) -> object:
    """A name is defined if its value is known, or that of a part of it."""
    value, path = value_of(node.node, known), _path(node.node)
    if value is not MISSING:
        return is_undefined(value) is (node.name == "undefined")
    holds_known = path is not None and any(longer[: len(path)] == path for longer in known)
    return node.name == "defined" if holds_known else MISSING


def _path(node: nodes.Node) -> Path | None:
    keys: list[str | int] = []
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        key = node.attr if isinstance(node, nodes.Getattr) else static_key(node.arg)
        if key is None:
            return None
        keys.append(key)
        node = node.node
    return (node.name, *reversed(keys)) if isinstance(node, nodes.Name) else None


def _known_value(path: Path, known: Known) -> object:
    for length in range(len(path), 0, -1):
        if path[:length] in known:
            holder = known[path[:length]]
            if isinstance(holder, SomeMapping):
                return holder if length == len(path) else MISSING
            try:
                return member_path(holder, path[length:])
            except Refusal:
                return MISSING
    return MISSING
