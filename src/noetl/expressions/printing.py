"""Values → text, and the walks over nested data that must not run away.

Text comes out as Jinja2 prints it (True, None, Python's notation for lists), counted while it grows, because a short
expression can make a list that prints as gigabytes. `weigh` measures a structure before it is multiplied or written
as JSON.
"""

from typing import Final, NoReturn

from noetl.expressions.faults import Refusal
from noetl.expressions.limits import WORK_PER_ITEM, WORK_PER_PIECE, WORK_PER_TURN, WORK_PER_WALK
from noetl.expressions.run import Run
from noetl.expressions.values import (
    Items,
    Stored,
    is_list,
    is_mapping,
    is_number,
    is_plain_object,
    is_text,
    is_undefined,
    list_of,
)

DEPTH_MAX: Final = 64
INTEGER_BITS_MAX: Final = 1024


def text_of(run: Run, value: object) -> str:
    """A value as text; one that is not text already is paid for."""
    if type(value) is int:
        return str(small(value))
    if is_text(value):
        return str.__str__(value)
    if is_undefined(value):
        return "" if value.is_quiet else value.refuse()
    pieces: list[str] = []
    _write(run, value, pieces, 0)
    return "".join(pieces)


def _write(run: Run, value: object, pieces: list[str], depth: int) -> None:
    if depth > DEPTH_MAX:
        too_deep()
    if is_list(value):
        has_brackets = issubclass(type(value), list)
        _write_all(run, value, pieces, depth, "[" if has_brackets else "(")
        pieces.append("]" if has_brackets else ",)" if len(value) == 1 else ")")
    elif is_mapping(value):
        _write_all(run, value, pieces, depth, "{")
        pieces.append("}")
    else:
        piece = _scalar(run, value)
        run.spend(len(piece) + WORK_PER_PIECE)
        pieces.append(piece)


def _write_all(run: Run, value: Items | dict[object, object], pieces: list[str], depth: int, opening: str) -> None:
    pieces.append(opening)
    run.spend(WORK_PER_ITEM)
    for count, item in enumerate(value):
        if count:
            pieces.append(", ")
        _write(run, item, pieces, depth + 1)
        if is_mapping(value):
            pieces.append(": ")
            _write(run, value[item], pieces, depth + 1)


def _scalar(run: Run, value: object) -> str:
    if is_text(value):
        run.spend_text(value)
        return str.__repr__(value)
    if is_number(value):
        return str(small(value))
    if value is None or type(value) is range:
        return repr(value)
    if is_undefined(value):
        return "" if value.is_quiet else value.refuse()
    if is_plain_object(value):
        return run.spend_text(str(value))
    if type(value) is Stored:
        value.refuse()
    raise Refusal("type", "this value is not plain data, so it cannot be printed")


def small(value: int | float) -> int | float:
    """A number that may be printed: Python takes quadratic time over long ones."""
    if issubclass(type(value), int) and int(value).bit_length() > INTEGER_BITS_MAX:
        raise Refusal("limit", f"a whole number of more than {INTEGER_BITS_MAX} bits cannot be printed")
    return value


def too_deep() -> NoReturn:
    """Refuse data that is nested too deeply, or contains itself."""
    raise Refusal("limit", f"data nested more than {DEPTH_MAX} levels deep cannot be used here")


def weigh(run: Run, value: object, depth: int = 0) -> int:
    """How much a value holds, everything inside counted each time it appears; the walk itself is paid for."""
    if is_text(value):
        return WORK_PER_PIECE + len(value)
    if not is_list(value) and not is_mapping(value):
        return WORK_PER_ITEM
    if depth > DEPTH_MAX:
        too_deep()
    run.spend(WORK_PER_WALK * (len(value) + 1))
    inner = value.values() if is_mapping(value) else value
    return WORK_PER_PIECE + sum(weigh(run, item, depth + 1) for item in inner)


def settled(run: Run, value: object, depth: int = 0) -> object:
    """The value as plain data, ready to leave: None for undefined at any depth, a list for a range inside something.

    The same object if there is nothing to change. A range at the top stays lazy (LP-02).
    """
    if is_undefined(value):
        return None
    if depth > DEPTH_MAX:
        too_deep()
    if type(value) is range and depth:
        return list_of(run, value, "this")
    if is_mapping(value):
        run.spend(WORK_PER_TURN * len(value))
        pairs = {key: settled(run, item, depth + 1) for key, item in value.items()}
        return value if all(pairs[key] is value[key] for key in pairs) else pairs
    return _settled_items(run, value, depth) if is_list(value) else value


def _settled_items(run: Run, value: Items, depth: int) -> object:
    run.spend(WORK_PER_TURN * len(value))
    items = [settled(run, item, depth + 1) for item in value]
    if type(value) in (list, tuple) and all(new is old for new, old in zip(items, value, strict=True)):
        return value
    return items if issubclass(type(value), list) else tuple(items)
