"""Clocks that should agree: this machine's and that of the database, or of a server."""

from __future__ import annotations

from noetl.checkup.findings import Finding, fail, judged

APART_SECONDS_WARN, APART_SECONDS_MAX = 2.0, 60.0  # tokens are taken with a leeway of 60 s


def clock_finding(area: str, whose: str, there: float, asked_at: float, answered_at: float) -> Finding:
    """What a clock said, and when it was asked here: the middle of the question's time is when it was answered."""
    apart = there - (asked_at + answered_at) / 2
    says = f"{whose} is {abs(apart):.3f} s {'ahead of' if apart > 0 else 'behind'} this machine"
    fix = "let both follow a time server (chrony, systemd-timesyncd)"
    if abs(apart) > APART_SECONDS_MAX:
        return fail(area, "clock", says, fix)
    return judged(area, "clock", says, is_ok=abs(apart) <= APART_SECONDS_WARN, fix=fix)
