"""Numbers and places as people say them: the same on a page and on a terminal."""

from __future__ import annotations

MINUTE_SECONDS, HOUR_SECONDS, DAY_SECONDS = 60, 3600, 86400


def duration(seconds: float) -> str:
    """A length of time as people say it: 42 ms, 1.2 s, 3 m 05 s, 2 h 10 m."""
    if seconds < 0.9995:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < HOUR_SECONDS:
        return f"{whole // MINUTE_SECONDS} m {whole % MINUTE_SECONDS:02} s"
    if whole < DAY_SECONDS:
        return f"{whole // HOUR_SECONDS} h {whole % HOUR_SECONDS // MINUTE_SECONDS:02} m"
    return f"{whole // DAY_SECONDS} d {whole % DAY_SECONDS // HOUR_SECONDS:02} h"


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def task_place(task: str | None, iteration: int | str) -> str:
    """`, iteration 7, task "fetch"`, as much of it as is known; of nested loops the iteration is a text such as 3.7."""
    where = f", iteration {iteration}" if iteration not in (-1, "") else ""
    return where + (f', task "{task}"' if task else "")
