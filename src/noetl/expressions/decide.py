"""Facts about a whole-value expression without evaluating it: is it a constant, and is it true when only some paths
are known?

The checker asks this to find arcs that can never fire and rules that never match. Three-valued logic: True, False, or
None for "depends on what is not known". Sound, not complete: an answer of True or False holds for every value of the
unknown paths for which the expression can be evaluated at all.
"""

from collections.abc import Mapping
from itertools import product
from typing import Final, cast

from jinja2 import nodes

from noetl.expressions.build_operations import COMPARE
from noetl.expressions.facts import static_key
from noetl.expressions.faults import Refusal
from noetl.expressions.limits import LIMITS
from noetl.expressions.run import Run
from noetl.expressions.template import Template
from noetl.expressions.values import MISSING, is_undefined, member_path

CASES_MAX: Final = 256
Path = tuple[str | int, ...]
Known = Mapping[Path, object]


class OneOf:
    """Stands for a value known to be one of several."""

    __slots__ = ("values",)

    def __init__(self, values: frozenset[object] | set[object]) -> None:
        self.values = frozenset(values)

    def __repr__(self) -> str:
        return f"OneOf({set(self.values)!r})"


class SomeMapping:
    """Stands for a mapping that is not empty and of which nothing else is known; it equals no text, number or none."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if other is None or isinstance(other, str | int | float) or is_undefined(other):
            return False
        raise TypeError

    __hash__ = None  # type: ignore[assignment]


def constant(template: Template) -> tuple[bool, object]:
    """(True, value) if the template is a literal, or text without any {{ }}; else (False, None)."""
    if template.expression is not None:
        value = _value(template.expression, {})
        return (False, None) if value is MISSING or is_undefined(value) else (True, value)
    is_text = not template.has_statements and "{{" not in template.source and "{#" not in template.source
    return (True, template.source) if is_text else (False, None)


def decide(template: Template, known: Mapping[tuple[str, ...], object]) -> bool | None:
    """The truth of a condition when only the `known` paths are known; None if it depends on others."""
    is_constant, value = constant(template)
    if is_constant:
        return _as_condition(value)
    if template.expression is None:
        return None
    answers = {_decide(template.expression, case) for case in _cases(template, cast(Known, known))}
    return answers.pop() if len(answers) == 1 else None


def _as_condition(value: object) -> bool | None:
    """TP-04: text counts as true, false or empty, in any case; other text is an error, so it decides nothing."""
    if not isinstance(value, str):
        return bool(value)
    return {"true": True, "false": False, "": False}.get(value.strip().lower())


def _cases(template: Template, known: Known) -> list[Known]:
    """One mapping of known paths for each way to choose from every OneOf that the template reads."""
    paths = {read.path for read in template.reads}
    open_ = [
        path for path, value in known.items() if isinstance(value, OneOf) and any(p[: len(path)] == path for p in paths)
    ]
    settled = {path: value for path, value in known.items() if not isinstance(value, OneOf)}
    choices = [list(value.values) for path in open_ if isinstance(value := known[path], OneOf)]
    count = 1
    for choice in choices:
        count *= len(choice)
    if not 0 < count <= CASES_MAX:
        return [settled]
    return [{**settled, **dict(zip(open_, chosen, strict=True))} for chosen in product(*choices)]


def _decide(node: nodes.Node, known: Known) -> bool | None:
    value = _value(node, known)
    return _truth(node, known) if value is MISSING else _as_condition(value)


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
    value = _value(node, known)
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
    values = [_value(operand, known) for operand in (node.expr, *(operand.expr for operand in node.ops))]
    answers = set()
    for operand, left, right in zip(node.ops, values, values[1:], strict=False):
        answers.add(None if left is MISSING or right is MISSING else _compared(operand.op, left, right))
    return False if False in answers else None if None in answers else True


def _compared(sign: str, left: object, right: object) -> bool | None:
    try:
        return bool(COMPARE[sign](Run({}, LIMITS.work), left, right))
    except (Refusal, TypeError, RecursionError):
        return None  # the evaluation would fail: neither true nor false


def _value(node: nodes.Node, known: Known) -> object:
    """The value of a node, or MISSING if it is not known; undefined if it is known not to be there."""
    if isinstance(node, nodes.Const):
        return node.value
    if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem):
        path = _path(node)
        return MISSING if path is None else _known_value(path, known)
    if isinstance(node, nodes.Neg) and type(static_key(node)) is int:
        return static_key(node)
    if isinstance(node, nodes.List | nodes.Tuple):
        items = [_value(item, known) for item in node.items]
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
    pairs = [(_value(pair.key, known), _value(pair.value, known)) for pair in node.items]
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
        return _value(node.left if left is isinstance(node, nodes.Or) else node.right, known)
    if isinstance(node, nodes.CondExpr):
        test = _truth(node.test, known)
        chosen = node.expr1 if test else node.expr2
        return MISSING if test is None or chosen is None else _value(chosen, known)
    if isinstance(node, nodes.Test) and node.name in ("defined", "undefined") and not node.args:
        return _definedness(node, known)
    if isinstance(node, nodes.Test) and node.name == "none" and not node.args:
        value = _value(node.node, known)
        return MISSING if value is MISSING else value is None
    return MISSING


def _definedness(node: nodes.Test, known: Known) -> object:
    """A name is defined if its value is known, or that of a part of it."""
    value, path = _value(node.node, known), _path(node.node)
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
