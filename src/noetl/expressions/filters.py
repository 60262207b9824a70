"""All filters by name, and the four that apply other filters or tests to each element: map, select, reject and their
attr forms.

What Jinja2 has and we have not is named in REMOVED with the reason, so that a fault can say so.
"""

from collections.abc import Mapping
from typing import Final

from noetl.expressions.faults import Refusal, nearest
from noetl.expressions.filters_data import DATA_FILTERS
from noetl.expressions.filters_lists import LIST_FILTERS, Filter
from noetl.expressions.filters_order import ORDER_FILTERS
from noetl.expressions.filters_text import TEXT_FILTERS
from noetl.expressions.limits import WORK_PER_CALL
from noetl.expressions.predicates import TEST_TABLE, Predicate
from noetl.expressions.printing import weigh
from noetl.expressions.run import Run
from noetl.expressions.values import is_text, is_undefined, list_of, member_path, path_of

OBJECTS: Final = "it reaches into objects"
MARKUP: Final = "it makes HTML without bound"
CHANCE: Final = "a template gives the same result each time"
REMOVED: Final = {
    "attr": OBJECTS,
    "format": "it reaches into objects and pads without bound; use ~ to join texts",
    "pprint": OBJECTS,
    "xmlattr": MARKUP,
    "urlize": MARKUP,
    "safe": "values are never escaped unasked",
    "forceescape": "values are never escaped unasked; use escape",
    "striptags": MARKUP,
    "wordwrap": "it breaks text without bound",
    "random": CHANCE,
    "shuffle": CHANCE,
}


def _map(run: Run, value: object, name: object = None, /, *arguments: object, **options: object) -> list[object]:
    items = list_of(run, value, "map")
    run.spend(WORK_PER_CALL * len(items))
    if name is None:
        return _map_attribute(run, items, **options)
    function = filter_named(name)
    # An argument can come out once for each item, so it is paid for as often: map("default", a_big_list).
    run.spend(len(items) * sum(weigh(run, given) for given in (*arguments, *options.values())))
    return [function(run, item, *arguments, **options) for item in items]


def _map_attribute(run: Run, items: list[object], attribute: object = None, default: object = None) -> list[object]:
    path = path_of(attribute)
    found = [member_path(item, path) for item in items]
    missing = sum(map(is_undefined, found))
    if not missing:
        return found
    if default is None:
        run.is_loose = True
        return found
    run.spend(weigh(run, default) * missing)
    return [default if is_undefined(item) else item for item in found]


def _chosen(keep: bool, by_attribute: bool) -> Filter:
    """select, reject, selectattr, rejectattr: keep the elements that pass a test, or those that do not."""

    def by_test(run: Run, value: object, name: object = None, *arguments: object) -> list[object]:
        items = list_of(run, value, "select")
        run.spend(WORK_PER_CALL * len(items))
        return [item for item in items if passes(run, item, name, arguments) is keep]

    def by_path(run: Run, value: object, attribute: object, name: object = None, *arguments: object) -> list[object]:
        path = path_of(attribute)
        items = list_of(run, value, "selectattr")
        run.spend(WORK_PER_CALL * len(items))
        return [item for item in items if passes(run, member_path(item, path), name, arguments) is keep]

    return by_path if by_attribute else by_test


def passes(run: Run, value: object, name: object, arguments: tuple[object, ...]) -> bool:
    """Does a value pass the named test; without a name, is it true?"""
    return bool(value) if name is None else bool(predicate_named(name)(run, value, *arguments))


FILTER_TABLE: Final[Mapping[str, Filter]] = {
    **TEXT_FILTERS,
    **DATA_FILTERS,
    **LIST_FILTERS,
    **ORDER_FILTERS,
    "map": _map,
    "select": _chosen(keep=True, by_attribute=False),
    "reject": _chosen(keep=False, by_attribute=False),
    "selectattr": _chosen(keep=True, by_attribute=True),
    "rejectattr": _chosen(keep=False, by_attribute=True),
}
FILTERS: Final = frozenset(FILTER_TABLE)
TESTS: Final = frozenset(TEST_TABLE)


def filter_named(name: object, is_written: bool = False) -> Filter:
    """The filter of that name, or a refusal that helps; a name that came out of data is not repeated."""
    found = FILTER_TABLE.get(name) if is_text(name) else None
    if found is not None:
        return found
    if is_text(name) and name in REMOVED:
        raise Refusal("security", f"the filter '{name}' cannot be used in a playbook: {REMOVED[name]}")
    raise Refusal("template", f"there is no filter {_shown(name, FILTERS, is_written)}")


def predicate_named(name: object, is_written: bool = False) -> Predicate:
    """The test of that name, or a refusal that helps; a name that came out of data is not repeated."""
    found = TEST_TABLE.get(name) if is_text(name) else None
    if found is None:
        raise Refusal("template", f"there is no test {_shown(name, TESTS, is_written)}")
    return found


def _shown(name: object, known: frozenset[str], is_written: bool) -> str:
    if not is_written or not is_text(name):
        return "of that name"
    near = nearest(name, known)
    return f"'{name[:40]}'" + (f"; did you mean '{near}'?" if near else "")
