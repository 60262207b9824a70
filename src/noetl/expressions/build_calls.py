"""Building filters, tests and calls: the only three ways in which a template makes something run. See builder.py."""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, Final, cast

from jinja2 import nodes

from noetl.expressions.builder import Build, Builder, Evaluate, placed
from noetl.expressions.faults import Refusal
from noetl.expressions.filters import filter_named, predicate_named
from noetl.expressions.methods import FUNCTION_TABLE, method_of
from noetl.expressions.run import Run
from noetl.expressions.values import Stored, is_list, is_mapping, is_text

Applied = nodes.Call | nodes.Filter | nodes.Test
Arguments = Callable[[Run], tuple[list[Any], dict[str, Any]]]
SPREAD_MAX: Final = 1000
PRESENCE_TESTS: Final = frozenset({"defined", "undefined", "none"})  # they ask whether there is a value, not for it


def _filter(builder: Builder, node: nodes.Filter) -> Evaluate:
    return apply_filter(builder, node, builder.expression(cast(nodes.Expr, node.node)))


def apply_filter(builder: Builder, node: nodes.Filter, value: Evaluate) -> Evaluate:
    """A filter over a value, or over the text of a block."""
    offset = node.lineno
    function = placed(offset, filter_named, node.name, True)
    _check_arguments(function, node, f"the filter '{node.name}'")
    return _apply(function, _readable(value, offset), _arguments(builder, node), offset)


def _readable(value: Evaluate, offset: int) -> Evaluate:
    """A value that is about to be looked into."""

    def read(run: Run) -> object:
        found = value(run)
        if type(found) is Stored:
            placed(offset, found.refuse)
        return found

    return read


def _test(builder: Builder, node: nodes.Test) -> Evaluate:
    offset = node.lineno
    function = placed(offset, predicate_named, node.name, True)
    _check_arguments(function, node, f"the test '{node.name}'")
    value = builder.expression(node.node)
    return _apply(
        function, value if node.name in PRESENCE_TESTS else _readable(value, offset), _arguments(builder, node), offset
    )


def _apply(function: Callable[..., Any], value: Evaluate, arguments: Arguments | None, offset: int) -> Evaluate:
    if arguments is None:
        return lambda run: placed(offset, function, run, value(run))

    def apply(run: Run) -> object:
        target = value(run)
        given, named = arguments(run)
        return placed(offset, function, run, target, *given, **named)

    return apply


def _call(builder: Builder, node: nodes.Call) -> Evaluate:
    target = node.node
    if isinstance(target, nodes.Getattr):
        return _method(builder, node, target)
    if isinstance(target, nodes.Name) and target.name in FUNCTION_TABLE and target.name not in builder.local:
        return _function(builder, node, target.name)
    name = target.name if isinstance(target, nodes.Name) else ""
    what = f"{name[:40]}() cannot be called" if name else "this value cannot be called"
    raise Refusal("security", f"{what}; the functions are {' and '.join(sorted(FUNCTION_TABLE))}", target.lineno)


def _function(builder: Builder, node: nodes.Call, name: str) -> Evaluate:
    function, arguments, offset = FUNCTION_TABLE[name], _arguments(builder, node), node.node.lineno

    def call(run: Run) -> object:
        given, named = arguments(run) if arguments else ([], {})
        return placed(offset, function, run, *given, **named)

    return call


def _method(builder: Builder, node: nodes.Call, target: nodes.Getattr) -> Evaluate:
    value, arguments = builder.expression(target.node), _arguments(builder, node)
    name, offset = target.attr, target.lineno

    def call(run: Run) -> object:
        holder = value(run)
        if is_text(holder):
            holder = str.__str__(holder)  # a subclass's own methods stay out of it
        method = placed(offset, method_of, holder, name)
        given, named = arguments(run) if arguments else ([], {})
        return placed(offset, method, run, holder, *given, **named)

    return call


def _arguments(builder: Builder, node: Applied) -> Arguments | None:
    """How to find the arguments of one call; None if it has none."""
    args = builder.expressions(node.args)
    options = [(cast(str, pair.key), builder.expression(pair.value)) for pair in node.kwargs]
    more = None if node.dyn_args is None else builder.expression(node.dyn_args)
    more_options = None if node.dyn_kwargs is None else builder.expression(node.dyn_kwargs)
    if not (args or options or more or more_options):
        return None

    def collect(run: Run) -> tuple[list[Any], dict[str, Any]]:
        given = [arg(run) for arg in args]
        named = {name: value(run) for name, value in options}
        if more is not None:
            given.extend(_spread(more(run), is_list, "*", "a list"))
        if more_options is not None:
            named.update(_spread(more_options(run), is_mapping, "**", "a mapping with text as keys"))
        return given, named

    return collect


def _spread(value: Any, fits: Callable[[object], bool], sign: str, wanted: str) -> Any:
    if not fits(value) or len(value) > SPREAD_MAX or (sign == "**" and not all(type(key) is str for key in value)):
        raise Refusal("type", f"{sign} needs {wanted}, of at most {SPREAD_MAX}")
    return value


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _check_arguments(function: Callable[..., Any], node: Applied, what: str) -> None:
    """Refuse, while building, arguments that the function does not take."""
    if node.dyn_args is not None or node.dyn_kwargs is not None:
        return
    try:
        _signature(function).bind(None, None, *node.args, **{cast(str, pair.key): pair for pair in node.kwargs})
    except TypeError:
        takes = ", ".join(list(_signature(function).parameters)[2:])
        raise Refusal("type", f"{what} takes {f'({takes})' if takes else 'no arguments'}", node.lineno) from None


CALLS: Final[dict[type[nodes.Node], Build]] = {nodes.Filter: _filter, nodes.Test: _test, nodes.Call: _call}
