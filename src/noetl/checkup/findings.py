"""What a look at something found: how it is, and what to do if it is not as it should be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import msgspec

OK, WARN, FAIL = "ok", "warn", "fail"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    area: str  # home, store, queue, …
    name: str
    state: str  # OK, WARN or FAIL
    says: str
    fix: str = ""  # what to do; "": nothing


Findings = AsyncIterator[Finding]
Look = Callable[[], Findings]


def ok(area: str, name: str, says: str) -> Finding:
    return Finding(area=area, name=name, state=OK, says=says)


def warn(area: str, name: str, says: str, fix: str) -> Finding:
    return Finding(area=area, name=name, state=WARN, says=says, fix=fix)


def fail(area: str, name: str, says: str, fix: str) -> Finding:
    return Finding(area=area, name=name, state=FAIL, says=says, fix=fix)


def judged(area: str, name: str, says: str, *, is_ok: bool, fix: str, otherwise: str = WARN) -> Finding:
    """OK, or what else it is and what to do then."""
    return ok(area, name, says) if is_ok else Finding(area=area, name=name, state=otherwise, says=says, fix=fix)
