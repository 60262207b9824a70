"""Building reads: constants, names, and the paths after them. See builder.py."""

from collections.abc import Callable
from typing import Final, cast

from jinja2 import nodes

from noetl.expressions.builder import Build, Builder, Evaluate, placed
from noetl.expressions.facts import static_key
from noetl.expressions.operators import slice_of
from noetl.expressions.run import Run, Undefined
from noetl.expressions.values import MISSING, is_undefined, member

SPELLED_CHARS_MAX: Final = 80
Keys = tuple[str | int, ...]
Walk = Callable[[Run, object], object]


def _const(_builder: Builder, node: nodes.Const) -> Evaluate:
    value = node.value
    return lambda _run: value


def _name(builder: Builder, node: nodes.Name) -> Evaluate:
    name, offset = node.name, node.lineno
    is_local = name in builder.local

    def read(run: Run) -> object:
        value = run.names.get(name, MISSING) if is_local else MISSING
        if value is MISSING:
            value = run.scope.get(name, MISSING)
        if value is MISSING:
            run.is_loose = True
            return Undefined(name, offset, run)
        return value

    return read


def _path(builder: Builder, node: nodes.Getattr | nodes.Getitem) -> Evaluate:
    """A base and the written-out keys after it, in one function: most of what playbooks evaluate is this."""
    steps: list[tuple[str | int, int]] = []
    base: nodes.Node = node
    while isinstance(base, nodes.Getattr | nodes.Getitem):
        key = base.attr if isinstance(base, nodes.Getattr) else static_key(base.arg)
        if key is None:
            break
        steps.append((key, base.lineno))
        base = base.node
    if not steps:
        return _subscript(builder, cast(nodes.Getitem, node))
    steps.reverse()
    keys = tuple(key for key, _ in steps)
    slowly = _slow_walk(keys, tuple(offset for _, offset in steps), _spellings(base, keys))
    if isinstance(base, nodes.Name) and base.name not in builder.local:
        return _walk_from_scope(base, keys, slowly)
    return _walk(builder.expression(base), keys, slowly)


def _spellings(base: nodes.Node, keys: Keys) -> tuple[str, ...]:
    """How the path up to each key is written, for faults."""
    spelled = base.name if isinstance(base, nodes.Name) else "(…)"
    spellings = []
    for key in keys:
        spelled += f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"
        spellings.append(spelled[:SPELLED_CHARS_MAX])
    return tuple(spellings)


def _slow_walk(keys: Keys, offsets: tuple[int, ...], spellings: tuple[str, ...]) -> Walk:
    """The walk along a path that is not mappings all the way, or not all there."""
    steps = tuple(zip(keys, offsets, spellings, strict=True))

    def walk(run: Run, value: object) -> object:
        for key, offset, spelled in steps:
            if is_undefined(value) and not str(key).startswith("__"):
                continue
            found = placed(offset, member, value, key)
            if found is MISSING:
                run.is_loose = True
                found = Undefined(spelled, offset, value)
            value = found
        return value

    return walk


def _walk_from_scope(base: nodes.Name, keys: Keys, slowly: Walk) -> Evaluate:
    name, offset = base.name, base.lineno

    def read(run: Run) -> object:
        start = value = run.scope.get(name, MISSING)
        for key in keys:
            if type(value) is not dict:
                break
            value = value.get(key, MISSING)
        else:
            if value is not MISSING:
                return value
        if start is MISSING:
            run.is_loose = True
            start = Undefined(name, offset, run)
        return slowly(run, start)

    return read


def _walk(base: Evaluate, keys: Keys, slowly: Walk) -> Evaluate:
    def read(run: Run) -> object:
        start = value = base(run)
        for key in keys:
            if type(value) is not dict:
                break
            value = value.get(key, MISSING)
        else:
            if value is not MISSING:
                return cast(object, value)
        return slowly(run, start)

    return read


def _subscript(builder: Builder, node: nodes.Getitem) -> Evaluate:
    """`x[…]` with a key that is computed, or `x[a:b]`."""
    base, offset = builder.expression(node.node), node.lineno
    if isinstance(node.arg, nodes.Slice):
        return _slice(builder, base, node.arg, offset)
    key = builder.expression(node.arg)
    spelled = builder.source[offset : builder.closes.get(offset, offset + 1)][:SPELLED_CHARS_MAX]

    def read(run: Run) -> object:
        holder, wanted = base(run), key(run)
        if is_undefined(holder):
            return holder
        found = placed(offset, member, holder, wanted)
        if found is MISSING:
            run.is_loose = True
            return Undefined(f"the element {spelled}", offset, holder)
        return found

    return read


def _slice(builder: Builder, base: Evaluate, node: nodes.Slice, offset: int) -> Evaluate:
    bounds = [None if part is None else builder.expression(part) for part in (node.start, node.stop, node.step)]

    def cut(run: Run) -> object:
        value = base(run)
        parts = tuple([None if bound is None else bound(run) for bound in bounds])
        return placed(offset, slice_of, run, value, parts)

    return cut


READS: Final[dict[type[nodes.Node], Build]] = {
    nodes.Const: _const,
    nodes.Name: _name,
    nodes.Getattr: _path,
    nodes.Getitem: _path,
}
