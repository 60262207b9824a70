"""Bounds: a number that is never passed, or none, with the reasons why there is none."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

REASONS_MAX = 8  # of one bound: more help nobody


class Bound(msgspec.Struct, frozen=True):
    """At most so much; None: nobody can say, for these reasons."""

    most: float | None = 0
    reasons: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        return self.most is not None


NOTHING = Bound(0)
ONCE = Bound(1)


def unknown(*reasons: str) -> Bound:
    return Bound(None, tuple(dict.fromkeys(reasons))[:REASONS_MAX])


def _unless_known(bounds: Iterable[Bound]) -> Bound:
    return unknown(*(reason for bound in bounds if not bound.is_known for reason in bound.reasons))


def together(bounds: Iterable[Bound]) -> Bound:
    """One after the other."""
    found = list(bounds)
    if all(bound.is_known for bound in found):
        return Bound(sum(bound.most or 0 for bound in found))
    return _unless_known(found)


def largest(bounds: Iterable[Bound]) -> Bound:
    """One of them, or all at the same time."""
    found = list(bounds)
    if all(bound.is_known for bound in found):
        return Bound(max((bound.most or 0 for bound in found), default=0))
    return _unless_known(found)


def times(one: Bound, count: Bound) -> Bound:
    """So much, so often. Nothing stays nothing, however often, and what never happens takes no time."""
    if one.most == 0 or count.most == 0:
        return NOTHING
    if one.most is not None and count.most is not None:
        return Bound(one.most * count.most)
    return _unless_known((one, count))


def capped(bound: Bound, *limits: float | None) -> Bound:
    """No more than any of the limits that there are."""
    given = [limit for limit in limits if limit is not None]
    return Bound(min([*given, bound.most] if bound.most is not None else given)) if given else bound
