"""Times as people type them: how long (90m, 12h, 30d, 4w), and since when."""

from __future__ import annotations

import re
from datetime import datetime

import click

from noetl.clock import SystemClock

UNITS = {"m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
SPAN = re.compile(r"([1-9][0-9]{0,5})([mhdw])")


def span_seconds(text: str) -> float | None:
    """How long that is; None: it is no span."""
    match = SPAN.fullmatch(text)
    return float(int(match[1]) * UNITS[match[2]]) if match else None


def moment_seconds(_context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """A point in time, in seconds since 1970: so long ago, or a time as ISO 8601 writes it."""
    if value is None:
        return None
    span = span_seconds(value)
    if span is not None:
        return SystemClock().now() - span
    try:
        return datetime.fromisoformat(value).timestamp()  # without a zone: this machine's
    except ValueError:
        says = "so long ago, as 90m, 24h, 7d, 4w; or a time, as 2026-03-01 or 2026-03-01T12:00:00Z"
        raise click.BadParameter(says, param=parameter) from None
