"""The methods a template may call, `x.upper()`, and the two functions, `range` and `dict`.

Each is a function of ours: what a value's own class offers is never looked up, so a subclass cannot put something
else in its place. Those that make text or lists check the size of the result before they make it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from noetl.expressions.faults import Refusal, nearest
from noetl.expressions.limits import WORK_PER_CALL, WORK_PER_ITEM, WORK_PER_PIECE
from noetl.expressions.loop import Loop
from noetl.expressions.operators import bounded
from noetl.expressions.printing import text_of, weigh
from noetl.expressions.run import Run, Undefined
from noetl.expressions.values import is_list, is_mapping, is_number, is_text, is_undefined, items_of, kind_of

Method = Callable[..., object]
GROWTH_OF_CASE: Final = 3  # one character becomes at most three in another case
LINE_BREAKS: Final = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def text_argument(value: object, what: str) -> str:
    """An argument that must be text."""
    if is_undefined(value):
        value.refuse()
    if not is_text(value):
        raise Refusal("type", f"{what} needs text, but was given {kind_of(value)}")
    return str.__str__(value)


def whole_argument(value: object, what: str) -> int:
    """An argument that must be a whole number."""
    if is_undefined(value):
        value.refuse()
    if not is_number(value) or type(value) is float:
        raise Refusal("type", f"{what} needs a whole number, but was given {kind_of(value)}")
    return int(bounded(value))


def _plain(function: Callable[[str], str | bool], growth: int = 1) -> Method:
    """A method without arguments."""

    def method(run: Run, text: str) -> object:
        run.spend(len(text) * growth)
        made = function(text)
        return run.spend_text(made) if type(made) is str else made

    return method


def _strip(function: Callable[[str, str | None], str]) -> Method:
    def method(run: Run, text: str, chars: object = None) -> object:
        wanted = None if chars is None else text_argument(chars, "strip")
        run.spend_search(text, wanted or "", is_backward=True)
        return run.spend_text(function(text, wanted))

    return method


def _pad(function: Callable[..., str]) -> Method:
    def method(run: Run, text: str, width: object, fill: object = " ") -> object:
        run.check_chars(whole_argument(width, "padding"))
        if len(text_argument(fill, "padding")) != 1:
            raise Refusal("type", "padding needs a single character to fill with")
        return run.spend_text(function(text, width, fill))

    return method


def _ends(function: Callable[[str, Any], bool]) -> Method:
    def method(_run: Run, text: str, affix: object) -> object:
        if is_list(affix):
            return any(function(text, text_argument(one, "startswith/endswith")) for one in affix)
        return function(text, text_argument(affix, "startswith/endswith"))

    return method


def _search(function: Callable[[str, str], int]) -> Method:
    def method(run: Run, text: str, piece: object) -> object:
        wanted = text_argument(piece, "searching a text")
        run.spend_search(text, wanted, is_backward=function is str.rfind)
        return function(text, wanted)

    return method


def _affix(function: Callable[[str, str], str]) -> Method:
    def method(run: Run, text: str, affix: object) -> object:
        return run.spend_text(function(text, text_argument(affix, "removeprefix/removesuffix")))

    return method


def _split(function: Callable[[str, str | None, int], list[str]]) -> Method:
    def method(run: Run, text: str, sep: object = None, maxsplit: object = -1) -> object:
        at = None if sep is None else text_argument(sep, "split")
        if at == "":
            raise Refusal("type", "a text cannot be split at an empty text")
        run.spend_search(text, at or "", is_backward=function is str.rsplit)
        wanted, room = whole_argument(maxsplit, "split"), run.work // WORK_PER_PIECE
        pieces = function(text, at, wanted if 0 <= wanted < room else room)
        run.spend(WORK_PER_PIECE * len(pieces))
        return pieces

    return method


def _partition(function: Callable[[str, str], tuple[str, str, str]]) -> Method:
    def method(run: Run, text: str, sep: object) -> object:
        at = text_argument(sep, "partition")
        if not at:
            raise Refusal("type", "a text cannot be split at an empty text")
        run.spend_search(text, at, is_backward=True)
        return function(text, at)

    return method


def _splitlines(run: Run, text: str, keepends: object = False) -> object:
    run.spend(len(text) + WORK_PER_PIECE * (1 + sum(text.count(mark) for mark in LINE_BREAKS)))
    return text.splitlines(bool(keepends))


def replace(run: Run, text: str, old: object, new: object, count: object = -1) -> str:
    """Put `new` in place of `old`; the length of the result is known before it is made."""
    before, after = text_argument(old, "replace"), text_argument(new, "replace")
    wanted = -1 if count is None else whole_argument(count, "replace")
    run.spend_search(text, before)
    found = text.count(before)
    times = found if wanted < 0 else min(found, wanted)
    run.check_chars(len(text) + times * (len(after) - len(before)))
    run.spend(len(text) + WORK_PER_ITEM * times)
    return run.spend_text(text.replace(before, after, times))


def join(run: Run, glue: str, values: object) -> str:
    """Print each item, with `glue` between."""
    items = items_of(run, values, "join")
    run.check_items(len(items))
    run.spend(WORK_PER_CALL * len(items))
    texts = [text_of(run, item) for item in items]
    run.check_chars(sum(map(len, texts)) + len(glue) * len(texts))
    return run.spend_text(glue.join(texts))


def _zfill(run: Run, text: str, width: object) -> object:
    run.check_chars(whole_argument(width, "zfill"))
    return run.spend_text(text.zfill(cast(int, width)))


def _list_index(run: Run, items: list[object], value: object) -> object:
    run.spend(WORK_PER_ITEM * len(items))
    return items.index(value) if value in items else Undefined("the place of this value in the list")


def _list_count(run: Run, items: list[object], value: object) -> object:
    run.spend(WORK_PER_ITEM * len(items))
    return items.count(value)


def make_range(run: Run, *bounds: object) -> range:
    """`range(stop)` or `range(start, stop, step)`: lazy, and of at most ten million numbers."""
    if not 1 <= len(bounds) <= 3:
        raise Refusal("type", "range takes a stop, or a start and a stop, and perhaps a step")
    numbers = [whole_argument(bound, "range") for bound in bounds]
    start, stop = (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
    step = numbers[2] if len(numbers) == 3 else 1
    if step == 0:
        raise Refusal("type", "the step of a range cannot be zero")
    if (stop - start) // step > run.limits.range_items:
        raise Refusal("limit", f"a range may have {run.limits.range_items} numbers; this has more")
    run.is_loose = True
    return range(start, stop, step)


def make_dict(run: Run, /, *sources: object, **pairs: object) -> dict[object, object]:
    """`dict(a, b, c=1)`: a new mapping from mappings or lists of pairs; what comes later wins."""
    made: dict[object, object] = {}
    for source in sources:
        if is_undefined(source):
            source.refuse()
        is_pairs = is_list(source) and all(is_list(pair) and len(pair) == 2 for pair in source)
        if not is_mapping(source) and not is_pairs:
            raise Refusal("type", f"dict needs mappings or lists of pairs, but was given {kind_of(source)}")
        run.spend(WORK_PER_PIECE * len(cast(list[Any], source)))
        made.update(cast(list[Any], source))
    made.update(pairs)
    weigh(run, list(pairs.values()))
    return made


TEXT_METHODS: Final[Mapping[str, Method]] = {
    **{
        name: _plain(getattr(str, name), GROWTH_OF_CASE)
        for name in ("upper", "lower", "title", "capitalize", "swapcase", "casefold")
    },
    **{
        name: _plain(getattr(str, name))
        for name in ("isdigit", "isdecimal", "isnumeric", "isalpha", "isalnum", "isspace", "isupper", "islower")
    },
    **{name: _strip(getattr(str, name)) for name in ("strip", "lstrip", "rstrip")},
    **{name: _pad(getattr(str, name)) for name in ("ljust", "rjust", "center")},
    **{name: _ends(getattr(str, name)) for name in ("startswith", "endswith")},
    **{name: _search(getattr(str, name)) for name in ("find", "rfind", "count")},
    **{name: _affix(getattr(str, name)) for name in ("removeprefix", "removesuffix")},
    **{name: _split(getattr(str, name)) for name in ("split", "rsplit")},
    **{name: _partition(getattr(str, name)) for name in ("partition", "rpartition")},
    "splitlines": _splitlines,
    "replace": replace,
    "join": join,
    "zfill": _zfill,
}
LIST_METHODS: Final[Mapping[str, Method]] = {"index": _list_index, "count": _list_count}
LOOP_METHODS: Final[Mapping[str, Method]] = {"cycle": Loop.cycle, "changed": Loop.changed}
FUNCTION_TABLE: Final[Mapping[str, Method]] = {"range": make_range, "dict": make_dict}

MAPPING_HINTS: Final = {
    "items": "use | items",
    "keys": "use | keys",
    "values": "use | values",
    "get": "use x['key'] | default(…)",
    "update": "use dict(x, …)",
    "copy": "values never change, so none is needed",
}


def method_of(value: object, name: str) -> Method:
    """The method `name` of a value, if a template may call it."""
    table = TEXT_METHODS if is_text(value) else LIST_METHODS if is_list(value) else {}
    found = LOOP_METHODS.get(name) if type(value) is Loop else table.get(name)
    if found is not None:
        return found
    if is_undefined(value):
        value.refuse()
    hint = MAPPING_HINTS.get(name) if is_mapping(value) else None
    near = nearest(name, table)
    advice = hint or (f"did you mean {near}()?" if near else "")
    raise Refusal("security", f"{name[:40]}() cannot be called on {kind_of(value)}{advice and '; '}{advice}")
