"""Building text with holes and statements: {% if %}, {% for %}, {% set %}, {% with %}, {% filter %}. See builder.py.

A statement is a function that adds to a list of pieces of text. Each turn of a loop pays for its whole body, so
nested loops end.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from jinja2 import nodes

from noetl.expressions.build_calls import apply_filter
from noetl.expressions.builder import Builder, Evaluate, placed
from noetl.expressions.faults import Refusal
from noetl.expressions.limits import WORK_PER_NODE, WORK_PER_TURN
from noetl.expressions.loop import Loop
from noetl.expressions.printing import settled, text_of
from noetl.expressions.run import Run
from noetl.expressions.values import Items, Stored, Value, is_list, is_undefined, items_of, kind_of

Pieces = list[Any]
Execute = Callable[[Run, Pieces], None]
Assign = Callable[[Run, object], None]


def block(builder: Builder, body: Iterable[nodes.Node]) -> Execute:
    """Statements one after the other."""
    steps = [STATEMENTS[type(node)](builder, node) for node in body]

    def execute(run: Run, pieces: Pieces) -> None:
        for step in steps:
            step(run, pieces)

    return execute


def _output(builder: Builder, node: nodes.Output) -> Execute:
    """Text and {{ }} in turn."""
    holes: list[str | tuple[Evaluate, int]] = [
        child.data if isinstance(child, nodes.TemplateData) else (builder.expression(child), child.lineno)
        for child in node.nodes
    ]

    def execute(run: Run, pieces: Pieces) -> None:
        for hole in holes:
            if isinstance(hole, str):
                run.spend(len(hole))
                pieces.append(hole)
            else:
                _print(run, pieces, hole[0](run), hole[1])

    return execute


def _print(run: Run, pieces: Pieces, value: object, offset: int) -> None:
    if pieces is run.fragments:
        if is_undefined(value) and not value.is_quiet:
            value.refuse()
        if type(value) is Stored:
            placed(offset, value.refuse)
        pieces.append(Value(settled(run, value)))
    else:
        text = value if type(value) is str else placed(offset, text_of, run, value)
        pieces.append(run.spend_text(text))


def _if(builder: Builder, node: nodes.If) -> Execute:
    arms = [(builder.expression(arm.test), block(builder, arm.body)) for arm in (node, *node.elif_)]
    otherwise = block(builder, node.else_)

    def execute(run: Run, pieces: Pieces) -> None:
        for test, body in arms:
            if test(run):
                return body(run, pieces)
        return otherwise(run, pieces)

    return execute


def _for(builder: Builder, node: nodes.For) -> Execute:
    iterable, assign, offset = builder.expression(node.iter), _target(node.target), node.iter.lineno
    body, otherwise = block(builder, node.body), block(builder, node.else_)
    test = None if node.test is None else builder.expression(node.test)
    price = WORK_PER_TURN + WORK_PER_NODE * _count(node)
    sets_names = any(True for _ in node.find_all((nodes.Assign, nodes.AssignBlock)))

    def execute(run: Run, pieces: Pieces) -> None:
        outer, items = run.names, placed(offset, items_of, run, iterable(run), "{% for %}")
        try:
            kept = items if test is None else _kept(run, items, assign, test, price)
            _turn(run, pieces, kept, assign, body, price, sets_names)
        finally:
            run.names = outer
        if not kept:
            otherwise(run, pieces)

    return execute


def _kept(run: Run, items: Items, assign: Assign, test: Evaluate, price: int) -> Items:
    """The items that a loop's own `if` lets through."""
    outer, kept = run.names, []
    for item in items:
        run.spend(price)
        run.names = dict(outer)
        assign(run, item)
        if test(run):
            kept.append(item)
    run.names = outer
    return kept


def _turn(run: Run, pieces: Pieces, items: Items, assign: Assign, body: Execute, price: int, sets_names: bool) -> None:
    """Turn by turn; names that a turn sets are its own, so a body that sets any gets a new mapping each time."""
    loop = Loop(items)
    inner = {**run.names, "loop": loop}
    for item in items:
        run.spend(price)
        loop.index0 += 1
        run.names = dict(inner) if sets_names else inner
        assign(run, item)
        body(run, pieces)


def _count(node: nodes.Node) -> int:
    return sum(1 for _ in node.find_all(nodes.Node))


def _target(target: nodes.Node) -> Assign:
    """How to give a value to a name, or to several at once."""
    if isinstance(target, nodes.Name):
        name = target.name

        def assign(run: Run, value: object) -> None:
            run.names[name] = value

        return assign
    offset = target.lineno
    parts = [_target(item) for item in cast(nodes.Tuple, target).items]

    def unpack(run: Run, value: object) -> None:
        if not is_list(value) or len(value) != len(parts):
            found = f"a list of {len(value)}" if is_list(value) else kind_of(value)
            raise Refusal("type", f"{len(parts)} names need a list of {len(parts)} values, but got {found}", offset)
        for part, item in zip(parts, value, strict=True):
            part(run, item)

    return unpack


def _set(builder: Builder, node: nodes.Assign) -> Execute:
    value, assign = builder.expression(node.node), _target(node.target)
    return lambda run, _pieces: assign(run, value(run))


def _capture(builder: Builder, body: Iterable[nodes.Node], filter_: nodes.Filter | None) -> Evaluate:
    """A block's text as a value; names set inside stay inside."""
    inner = block(builder, body)

    def capture(run: Run) -> str:
        outer, pieces = run.names, Pieces()
        run.names = dict(outer)
        try:
            inner(run, pieces)
        finally:
            run.names = outer
        return run.spend_text("".join(pieces))

    return capture if filter_ is None else _filtered(builder, filter_, capture)


def _filtered(builder: Builder, node: nodes.Filter, inner: Evaluate) -> Evaluate:
    """The chain of filters over a block; its innermost filter has no value of its own."""
    value = inner if node.node is None else _filtered(builder, cast(nodes.Filter, node.node), inner)
    return apply_filter(builder, node, value)


def _set_block(builder: Builder, node: nodes.AssignBlock) -> Execute:
    value, assign = _capture(builder, node.body, node.filter), _target(node.target)
    return lambda run, _pieces: assign(run, value(run))


def _filter_block(builder: Builder, node: nodes.FilterBlock) -> Execute:
    value, offset = _capture(builder, node.body, node.filter), node.lineno
    return lambda run, pieces: _print(run, pieces, value(run), offset)


def _with(builder: Builder, node: nodes.With) -> Execute:
    values, body = builder.expressions(node.values), block(builder, node.body)
    assigns = [_target(target) for target in node.targets]

    def execute(run: Run, pieces: Pieces) -> None:
        outer, found = run.names, [value(run) for value in values]
        run.names = dict(outer)
        try:
            for assign, value in zip(assigns, found, strict=True):
                assign(run, value)
            body(run, pieces)
        finally:
            run.names = outer

    return execute


STATEMENTS: Final[dict[type[nodes.Node], Callable[[Builder, Any], Execute]]] = {
    nodes.Output: _output,
    nodes.If: _if,
    nodes.For: _for,
    nodes.Assign: _set,
    nodes.AssignBlock: _set_block,
    nodes.FilterBlock: _filter_block,
    nodes.With: _with,
}
