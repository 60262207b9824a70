"""Filters that make text: `x | upper`. In: any value, printed first as {{ }} would print it. Out: text, within the
limits.
"""

import inspect
import math
import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote

from noetl.expressions.faults import Refusal
from noetl.expressions.limits import WORK_PER_PIECE
from noetl.expressions.methods import TEXT_METHODS, join, replace, text_argument, whole_argument
from noetl.expressions.printing import text_of
from noetl.expressions.run import Run
from noetl.expressions.values import (
    Identifier,
    RawSql,
    is_list,
    is_mapping,
    is_undefined,
    items_of,
    kind_of,
    member_path,
    path_of,
)

Filter = Callable[..., object]
WORD: Final = re.compile(r"\w+")
WORD_BEGINNING: Final = re.compile(r"([-\s({\[<]+)")
WORK_PER_WORD_CHAR: Final = 16  # words of one letter are the worst
ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
ESCAPED_CHARS: Final = 6  # &quot;
QUOTED_CHARS: Final = 12  # four bytes as %XX
DECIMAL_UNITS: Final = ("kB", "MB", "GB", "TB", "PB", "EB")
NAME_PARTS_MAX: Final = 4  # database, schema, table, column
BINARY_UNITS: Final = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def _by_method(name: str) -> Filter:
    method = TEXT_METHODS[name]

    def as_filter(run: Run, value: object, *arguments: object, **options: object) -> object:
        return method(run, text_of(run, value), *arguments, **options)

    as_filter.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]  # for faults about arguments
    return as_filter


def _string(run: Run, value: object) -> str:
    return run.spend_text(text_of(run, value))


def _replace(run: Run, value: object, old: object, new: object, count: object = None) -> str:
    return replace(run, text_of(run, value), old, new, count)


def _join(run: Run, value: object, d: object = "", attribute: object = None) -> str:
    if is_undefined(value):
        value.refuse()
    items = items_of(run, value, "join")
    if attribute is not None:
        path = path_of(attribute)
        run.spend(WORK_PER_PIECE * len(items))
        items = [member_path(item, path) for item in items]
    return join(run, text_argument(d, "join"), items)


def _center(run: Run, value: object, width: object = 80) -> object:
    return TEXT_METHODS["center"](run, text_of(run, value), width)


def _indent(run: Run, value: object, width: object = 4, first: object = False, blank: object = False) -> str:
    text = text_of(run, value)
    prefix = width if type(width) is str else " " * min(1000, whole_argument(width, "indent"))
    run.check_chars(len(text) + len(prefix) * (text.count("\n") + 1))
    run.spend(len(text) + WORK_PER_PIECE * (text.count("\n") + 1))
    lines = text.split("\n")
    indented = [prefix + line if line or blank else line for line in lines[1:]]
    return run.spend_text("\n".join([prefix + lines[0] if first else lines[0], *indented]))


def _truncate(
    run: Run,
    value: object,
    length: object = 255,
    killwords: object = False,
    end: object = "...",
    leeway: object = 5,
) -> str:
    text, tail = text_of(run, value), text_argument(end, "truncate")
    size = whole_argument(length, "truncate")
    if size < len(tail):
        raise Refusal("type", "truncate needs a length that leaves room for its end")
    if len(text) <= size + whole_argument(leeway, "truncate"):
        return text
    cut = text[: size - len(tail)]
    return run.spend_text((cut if killwords else cut.rsplit(" ", 1)[0]) + tail)


def _wordcount(run: Run, value: object) -> int:
    text = text_of(run, value)
    run.spend(WORK_PER_WORD_CHAR * len(text))
    return sum(1 for _ in WORD.finditer(text))


def _title(run: Run, value: object) -> str:
    """Each word with a capital, and only there: str.title() would make It'S of it's."""
    text = text_of(run, value)
    run.spend(2 * WORK_PER_WORD_CHAR * len(text))
    words = WORD_BEGINNING.split(text)
    return run.spend_text("".join([word[0].upper() + word[1:].lower() for word in words if word]))


def _escape(run: Run, value: object) -> str:
    text = text_of(run, value)
    run.check_chars(len(text) + ESCAPED_CHARS * sum(text.count(mark) for mark in "&<>\"'"))
    return run.spend_text(text.translate(ESCAPES))


def _urlencode(run: Run, value: object) -> str:
    if is_mapping(value):
        run.spend(WORK_PER_PIECE * len(value))
        pairs = [f"{_quote(run, key, '')}={_quote(run, item, '')}" for key, item in value.items()]
        run.check_chars(sum(map(len, pairs)) + len(pairs))
        return run.spend_text("&".join(pairs))
    return _quote(run, value, "/")


def _quote(run: Run, value: object, safe: str) -> str:
    text = text_of(run, value)
    run.check_chars(len(text) if text.isascii() and text.isalnum() else QUOTED_CHARS * len(text))
    run.spend(QUOTED_CHARS * len(text))
    return run.spend_text(quote(text, safe))


def _filesizeformat(_run: Run, value: object, binary: object = False) -> str:
    if type(value) is not int and type(value) is not float:
        raise Refusal("type", f"filesizeformat needs a number, but was given {kind_of(value)}")
    base, units = (1024, BINARY_UNITS) if binary else (1000, DECIMAL_UNITS)
    if abs(value) < base:
        return f"{int(value)} Byte{'' if value == 1 else 's'}"
    power = min(int(math.log(abs(value), base)), len(units))
    return f"{value / base**power:.1f} {units[power - 1]}"


def _ident(_run: Run, value: object) -> Identifier:
    """A dot parts schema and table; a list has the parts as they are, dots in them included."""
    named = tuple(text_argument(part, "ident") for part in value) if is_list(value) else None
    parts = named if named is not None else tuple(text_argument(value, "ident").split(".", NAME_PARTS_MAX))
    if not parts or len(parts) > NAME_PARTS_MAX or not all(parts) or any("\0" in part for part in parts):
        raise Refusal("type", "ident needs a name such as 'orders' or 'sales.orders', or a list of its parts")
    return Identifier(parts)


def _raw_sql(run: Run, value: object) -> RawSql:
    return RawSql(text_of(run, value))


TEXT_FILTERS: Final[Mapping[str, Filter]] = {
    **{name: _by_method(name) for name in ("upper", "lower", "capitalize", "split", "splitlines")},
    "trim": _by_method("strip"),
    "title": _title,
    "string": _string,
    "replace": _replace,
    "join": _join,
    "center": _center,
    "indent": _indent,
    "truncate": _truncate,
    "wordcount": _wordcount,
    "escape": _escape,
    "e": _escape,
    "urlencode": _urlencode,
    "filesizeformat": _filesizeformat,
    "ident": _ident,
    "raw_sql": _raw_sql,
}
