"""How long to wait before a retry (TK-08). Chance is handed in."""

from __future__ import annotations

DELAY_SECONDS_MAX = 7 * 24 * 3600.0
DOUBLINGS_MAX = 40


def delay_seconds(
    backoff: str, delay: float, retry: int, *, max_delay: float | None, jitter: float, chance: float, at_least: float
) -> float:
    """Seconds before retry number `retry` (from 1); `chance` in [0, 1) spreads it by ± `jitter` of itself.

    What the other side asked for (`at_least`) is a minimum, whatever the rule says.
    """
    factor = {"linear": float(retry), "exponential": 2.0 ** min(retry - 1, DOUBLINGS_MAX)}.get(backoff, 1.0)
    seconds = delay * factor
    if jitter:
        seconds *= 1 + jitter * (2 * chance - 1)
    if max_delay is not None:
        seconds = min(seconds, max_delay)  # after chance: a maximum is never passed
    return min(max(seconds, at_least, 0.0), DELAY_SECONDS_MAX)
