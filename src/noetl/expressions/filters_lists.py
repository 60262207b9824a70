"""Filters over lists and mappings: `rows | first`. They make a new list, never a generator, and pay for it."""

from collections.abc import Callable, Mapping
from typing import Final, cast

from noetl.expressions.faults import Refusal
from noetl.expressions.limits import WORK_PER_CALL, WORK_PER_ITEM
from noetl.expressions.methods import whole_argument
from noetl.expressions.operators import add
from noetl.expressions.printing import weigh
from noetl.expressions.run import Run, Undefined
from noetl.expressions.values import (
    is_list,
    is_mapping,
    is_sequence,
    is_text,
    is_undefined,
    items_of,
    kind_of,
    list_of,
    member_path,
    path_of,
)

Filter = Callable[..., object]


def _list(run: Run, value: object) -> list[object]:
    return list_of(run, value, "list")


def _length(run: Run, value: object) -> int:
    if is_mapping(value) or is_sequence(value):
        return len(value)
    return len(items_of(run, value, "length"))


def _first(run: Run, value: object) -> object:
    items = items_of(run, value, "first")
    return items[0] if items else none_there(run, value, "the first item of an empty list")


def _last(run: Run, value: object) -> object:
    items = items_of(run, value, "last")
    return items[-1] if items else none_there(run, value, "the last item of an empty list")


def none_there(run: Run, value: object, what: str) -> Undefined:
    """What the first item of nothing is."""
    run.is_loose = True
    return value if is_undefined(value) else Undefined(what)


def _mapping(value: object, what: str) -> dict[object, object]:
    if is_undefined(value):
        return {}
    if not is_mapping(value):
        raise Refusal("type", f"{what} needs a mapping, but was given {kind_of(value)}")
    return value


def pairs_of(run: Run, value: object) -> list[object]:
    """`| items`: a mapping's keys and values in pairs."""
    pairs = _mapping(value, "items")
    run.spend(WORK_PER_CALL * len(pairs))
    return list(pairs.items())


def _keys(run: Run, value: object) -> list[object]:
    return list_of(run, list(_mapping(value, "keys")), "keys")


def _values(run: Run, value: object) -> list[object]:
    return list_of(run, list(_mapping(value, "values").values()), "values")


def _sum(run: Run, value: object, attribute: object = None, start: object = 0) -> object:
    path = None if attribute is None else path_of(attribute)
    items, total = items_of(run, value, "sum"), start
    run.spend(WORK_PER_CALL * len(items))
    for item in items:
        number = item if path is None else member_path(item, path)
        if is_text(number) or is_list(number):
            raise Refusal("type", "sum adds numbers; use join for texts and flatten for lists")
        total = add(run, total, number)
    return total


def _reverse(run: Run, value: object) -> object:
    if is_text(value):
        return run.spend_text(value[::-1])
    items = list_of(run, value, "reverse")
    items.reverse()
    return items


def _flatten(run: Run, value: object, levels: object = 1) -> list[object]:
    items = list_of(run, value, "flatten")
    for _ in range(min(whole_argument(levels, "flatten"), run.limits.json_depth)):
        length = sum(len(item) if is_list(item) else 1 for item in items)
        run.check_items(length)
        run.spend(WORK_PER_ITEM * (length + len(items)))
        items = [one for item in items for one in (item if is_list(item) else (item,))]
    return items


def _batch(run: Run, value: object, linecount: object, fill_with: object = None) -> list[object]:
    items, size = list_of(run, value, "batch"), whole_argument(linecount, "batch")
    if size < 1:
        raise Refusal("type", "batch needs a size of at least 1")
    run.spend(WORK_PER_CALL * (len(items) // size + 1))
    rows: list[object] = [items[start : start + size] for start in range(0, len(items), size)]
    _fill(run, rows, size, fill_with)
    return rows


def _slice(run: Run, value: object, slices: object, fill_with: object = None) -> list[object]:
    items, count = list_of(run, value, "slice"), whole_argument(slices, "slice")
    if count < 1:
        raise Refusal("type", "slice needs a number of at least 1")
    run.check_items(count)
    run.spend(WORK_PER_CALL * count)
    share, extra = divmod(len(items), count)
    ends = [(place + 1) * share + min(place + 1, extra) for place in range(count)]
    rows: list[object] = [items[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    _fill(run, rows, share + 1 if extra else share, fill_with)
    return rows


def _fill(run: Run, rows: list[object], size: int, fill_with: object) -> None:
    """Give every row the same length, if there is something to fill with."""
    if fill_with is None:
        return
    for row in cast(list[list[object]], rows):
        lacking = max(0, size - len(row))
        if lacking:
            run.spend(weigh(run, fill_with) * lacking)
            run.check_items(lacking)
            row.extend([fill_with] * lacking)


LIST_FILTERS: Final[Mapping[str, Filter]] = {
    "list": _list,
    "length": _length,
    "count": _length,
    "first": _first,
    "last": _last,
    "items": pairs_of,
    "keys": _keys,
    "values": _values,
    "sum": _sum,
    "reverse": _reverse,
    "flatten": _flatten,
    "batch": _batch,
    "slice": _slice,
}
