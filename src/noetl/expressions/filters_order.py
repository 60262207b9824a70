"""Filters that compare: sort, unique, min, max, groupby, dictsort. By the item itself or by paths into it."""

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, Final, cast

from noetl.expressions.faults import Refusal
from noetl.expressions.filters_lists import Filter, none_there, pairs_of
from noetl.expressions.limits import WORK_PER_CALL
from noetl.expressions.predicates import comparable
from noetl.expressions.run import Run
from noetl.expressions.values import is_text, is_undefined, kind_of, list_of, member_path, path_of

Key = Callable[[object], Any]
Pair = tuple[object, object]


class Group(tuple[object, list[object]]):
    """One group of `groupby`: unpacks as a pair, and reads as .grouper and .list."""

    __noetl_plain__ = True
    __slots__ = ()

    grouper = property(itemgetter(0))
    list = property(itemgetter(1))


def key_of(run: Run, attribute: object, case_sensitive: object, default: object = None) -> Key:
    """What to sort, group or compare items by: one path, several with commas between, or the item itself."""
    paths = [path_of(one) for one in attribute.split(",")] if is_text(attribute) else []
    if attribute is not None and not paths:
        paths = [path_of(attribute)]

    def key(item: object) -> object:
        run.spend(WORK_PER_CALL)
        found = [_folded(_or_default(member_path(item, path), default), case_sensitive) for path in paths]
        return _folded(item, case_sensitive) if not found else found[0] if len(found) == 1 else tuple(found)

    return key


def _or_default(value: object, default: object) -> object:
    if is_undefined(value):
        return value.refuse() if default is None else default
    return value


def _folded(value: object, case_sensitive: object) -> object:
    return str.lower(value) if is_text(value) and not case_sensitive else comparable(value)


def sorted_by(items: list[object], key: Key, reverse: object) -> list[object]:
    """Sort, or say that these items have no order."""
    try:
        return sorted(items, key=key, reverse=bool(reverse))
    except TypeError:
        raise Refusal(
            "type", "these items cannot be sorted: they are of different types, or of one without order"
        ) from None


def _dictsort(
    run: Run, value: object, case_sensitive: object = False, by: object = "key", reverse: object = False
) -> list[object]:
    if by not in ("key", "value"):
        raise Refusal("type", "dictsort sorts by 'key' or by 'value'")
    place = 0 if by == "key" else 1
    key = key_of(run, None, case_sensitive)
    return sorted_by(pairs_of(run, value), lambda pair: key(cast(Pair, pair)[place]), reverse)


def _sort(
    run: Run, value: object, reverse: object = False, case_sensitive: object = False, attribute: object = None
) -> list[object]:
    return sorted_by(list_of(run, value, "sort"), key_of(run, attribute, case_sensitive), reverse)


def _unique(run: Run, value: object, case_sensitive: object = False, attribute: object = None) -> list[object]:
    key = key_of(run, attribute, case_sensitive)
    seen: dict[object, object] = {}
    for item in list_of(run, value, "unique"):
        seen.setdefault(_hashable(key(item)), item)
    return list(seen.values())


def _hashable(value: object) -> object:
    try:
        hash(value)
    except TypeError:
        raise Refusal("type", f"unique and groupby compare texts and numbers, not {kind_of(value)}") from None
    return value


def _extreme(what: str, choose: Callable[..., object]) -> Filter:
    def as_filter(run: Run, value: object, case_sensitive: object = False, attribute: object = None) -> object:
        items = list_of(run, value, what)
        if not items:
            return none_there(run, value, f"the {what} of an empty list")
        try:
            return choose(items, key=key_of(run, attribute, case_sensitive))
        except TypeError:
            raise Refusal("type", f"{what} cannot compare these items: they are of different types") from None

    return as_filter


def _groupby(
    run: Run, value: object, attribute: object, default: object = None, case_sensitive: object = False
) -> list[Group]:
    key, exact = key_of(run, attribute, case_sensitive, default), key_of(run, attribute, True, default)
    groups: dict[object, list[object]] = {}
    for item in sorted_by(list_of(run, value, "groupby"), key, False):
        groups.setdefault(_hashable(key(item)), []).append(item)
    run.is_loose = True
    return [Group((exact(items[0]), items)) for items in groups.values()]


ORDER_FILTERS: Final[Mapping[str, Filter]] = {
    "dictsort": _dictsort,
    "sort": _sort,
    "unique": _unique,
    "min": _extreme("min", min),
    "max": _extreme("max", max),
    "groupby": _groupby,
}
