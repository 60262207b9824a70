"""Writes of iterations that ran beside each other, folded in index order (SC-12, SC-13).

A loop may have a million iterations that end in any order, so what is kept is not their writes but folds of them: each
stretch of neighbouring finished iterations is one `Stretch` with one `Fold` per path, and two stretches that meet
become one. There are never more stretches than iterations in flight, plus one. A fold of a stretch is made without the
value before the loop; that comes in once, at the end. Folding is associative, faults included, so the order in which
stretches met does not show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from noetl.engine.events import Patch
from noetl.engine.patches import Mapping, value_at
from noetl.engine.sums import Parts, exact_sum, rounded_sum

CONFLICT = "iterations wrote different values to {path}; declare a reducer for it under loop.spec.policy.reducers"
REDUCERS = ("sum", "min", "max", "count", "append", "merge", "first", "last", "union")


class Fold(msgspec.Struct, omit_defaults=True):
    """The writes of a stretch to one path, made one."""

    value: Any
    problem: str = ""  # why these writes cannot be made one …
    kind: str = ""  # … as an error.kind


class Stretch(msgspec.Struct):
    """Finished iterations [start, end) and the folds of what they wrote."""

    start: int
    end: int
    folds: dict[str, Fold]


class MergeFault(Exception):
    """The writes of a loop cannot be made one."""

    def __init__(self, path: str, message: str, kind: str = "ctx_conflict") -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.kind = kind


def begin(writes: Iterable[Patch], reducers: dict[str, str]) -> dict[str, Fold]:
    """The folds of one iteration: of each path the last value counts, in the order of these last writes."""
    last: dict[str, Any] = {}
    for patch in writes:
        last.pop(patch.path, None)  # written again: after what was written meanwhile, above or below it
        last[patch.path] = patch.value
    return {path: _begun(path, reducers.get(path), value) for path, value in last.items()}


def _begun(path: str, reducer: str | None, value: Any) -> Fold:
    """One value as a fold. What a reducer cannot take is told here, so that the order of joining does not show."""
    try:
        return Fold(_first_value(path, reducer, value))
    except MergeFault as fault:
        return Fold(None, fault.message, fault.kind)


def _first_value(path: str, reducer: str | None, value: Any) -> Any:
    if reducer == "sum":
        return exact_sum([finite(path, number(path, reducer, value))])
    if reducer in ("min", "max"):
        return comparable(path, reducer, value)
    if reducer == "merge":
        return mapping(path, value)
    if reducer == "count":
        return 1
    if reducer == "append":
        return [value]
    if reducer == "union":
        return unique(value if isinstance(value, list) else [value])
    return value


def unique(items: Iterable[Any]) -> list[Any]:
    """Each item once, in the order of its first appearance; true is not 1."""
    kept: dict[bytes, Any] = {}
    for item in items:
        kept.setdefault(same(item), item)
    return list(kept.values())


def same(value: Any) -> bytes:
    """Two values are the same when these are: the order of keys does not matter."""
    return msgspec.json.encode(value, order="deterministic")


def joined(
    left: dict[str, Fold], right: dict[str, Fold], reducers: dict[str, str], is_parallel: bool
) -> dict[str, Fold]:
    """The folds of two neighbouring stretches, the left one's indexes below the right one's."""
    if not left or not right:
        return left or right
    both = dict(left)
    for path, fold in right.items():
        if is_parallel and path not in left and (other := _overlapping(path, left, right, reducers)):
            both[other] = Fold(None, CONFLICT.format(path=min(path, other, key=len)), "ctx_conflict")
        before = both.pop(path, None)  # the order of patches is that of the last write to each path
        both[path] = _join(path, before, fold, reducers.get(path), is_parallel) if before is not None else fold
    return both


def _overlapping(path: str, left: dict[str, Fold], right: dict[str, Fold], reducers: dict[str, str]) -> str | None:
    """A ctx path of the left stretch, not written by the right one, that lies above or below this one of the right."""
    if path.startswith("step.") or path in reducers:
        return None
    others = (other for other in left if other not in right and other not in reducers)
    return next((one for one in others if one.startswith(f"{path}.") or path.startswith(f"{one}.")), None)


def _join(path: str, left: Fold, right: Fold, reducer: str | None, is_parallel: bool) -> Fold:
    if left.problem or right.problem:
        return left if left.problem else right
    if reducer is not None:
        try:
            return Fold(JOINS[reducer](path, left.value, right.value))
        except MergeFault as fault:
            return Fold(None, fault.message, fault.kind)
    is_free = not is_parallel or path.startswith("step.")  # SC-13: without a reducer the highest index wins
    if is_free or same(left.value) == same(right.value):
        return right
    return Fold(None, CONFLICT.format(path=path), "ctx_conflict")


def _least(path: str, left: Any, right: Any) -> Any:
    return right if is_below(path, "min", right, left) else left


def _greatest(path: str, left: Any, right: Any) -> Any:
    return right if is_below(path, "max", left, right) else left


def is_below(path: str, reducer: str, left: Any, right: Any) -> bool:
    if isinstance(left, str) != isinstance(right, str):
        raise not_comparable(path, reducer)
    return bool(left < right)


def comparable(path: str, reducer: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise not_comparable(path, reducer)
    return value


def not_comparable(path: str, reducer: str) -> MergeFault:
    message = f"the reducer {reducer} of {path} needs numbers only, or texts only, but iterations wrote other values"
    return MergeFault(path, message, "type")


def number(path: str, reducer: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MergeFault(path, f"the reducer {reducer} of {path} needs numbers, but met {_word(value)}", "type")
    return value


def finite(path: str, value: int | float) -> int | float:
    if isinstance(value, float) and not math.isfinite(value):  # whole numbers are, also those that no float can hold
        raise too_large(path)
    return value


def too_large(path: str) -> MergeFault:
    return MergeFault(path, f"the sum of {path} is too large a number", "limit")


def mapping(path: str, value: Any) -> Any:
    if not isinstance(value, dict):
        raise MergeFault(path, f"the reducer merge of {path} needs mappings, but met {_word(value)}", "type")
    return value


def _word(value: Any) -> str:
    words = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "none"}
    return words.get(type(value), "a number")


JOINS: dict[str, Callable[[str, Any, Any], Any]] = {
    "sum": lambda _path, left, right: exact_sum([*left, *right]),
    "min": _least,
    "max": _greatest,
    "count": lambda _path, left, right: left + right,
    "append": lambda _path, left, right: [*left, *right],
    "merge": lambda _path, left, right: {**left, **right},
    "first": lambda _path, left, _right: left,
    "last": lambda _path, _left, right: right,
    "union": lambda _path, left, right: unique([*left, *right]),
}


def finished(folds: dict[str, Fold], before: dict[str, Mapping], reducers: dict[str, str]) -> list[Patch]:
    """What a whole loop writes, starting from the values before it; `before`: scope → its data."""
    patches = []
    for path, fold in folds.items():
        if fold.problem:
            raise MergeFault(path, fold.problem, fold.kind)
        scope = path.partition(".")[0]
        patches.append(Patch(path, _with_base(path, reducers.get(path), value_at(before[scope], path), fold.value)))
    return patches


def _with_base(path: str, reducer: str | None, base: Any, value: Any) -> Any:
    if reducer is None or reducer in ("first", "last"):
        return value
    if base is not None:
        value = JOINS[reducer](path, _base_value(path, reducer, base), value)
    return _rounded(path, value) if reducer == "sum" else value


def _rounded(path: str, parts: Parts) -> int | float:
    try:
        return rounded_sum(parts)
    except OverflowError:
        raise too_large(path) from None


def _base_value(path: str, reducer: str, base: Any) -> Any:
    if reducer == "count":
        return number(path, reducer, base)
    if reducer in ("append", "union"):
        return base if isinstance(base, list) else [base]
    return _first_value(path, reducer, base)


def insert(
    stretches: dict[int, Stretch], starts: dict[int, int], index: int, folds: dict[str, Fold], join: Join
) -> None:
    """Add one finished iteration; `stretches` by their end, `starts` from a stretch's start to its end."""
    end = index + 1
    stretch = stretches.pop(index, None)
    if stretch is None:
        stretch = Stretch(index, end, folds)
    elif folds:  # most iterations write nothing, and a million of them are one stretch that grows
        stretch.folds = join(stretch.folds, folds)
    if end in starts:
        right = stretches.pop(starts.pop(end))
        stretch.folds, end = join(stretch.folds, right.folds), right.end
    stretch.end = end
    stretches[end] = stretch
    starts[stretch.start] = end


Join = Callable[[dict[str, Fold], dict[str, Fold]], dict[str, Fold]]
