"""Ending a program by its pid file: it is asked to, and has time to finish what it is at."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from noetl.daemons.pid_files import PidFile, Record

LOOK_SECONDS = 0.05
KILL_SECONDS_MAX = 10.0


def stop(pid_file: PidFile, record: Record, *, drain_seconds_max: float, is_killing: bool) -> str:
    """Ask the process to end and wait: "stopped", "killed" (it had its time) or "draining" (it still goes on)."""
    _send(record, signal.SIGTERM)
    if _has_ended(record, drain_seconds_max):
        return "stopped"
    if not is_killing:
        return "draining"
    _send(record, signal.SIGKILL)
    _has_ended(record, KILL_SECONDS_MAX)
    pid_file.path.unlink(missing_ok=True)  # it could not do so itself
    return "killed"


def notify(record: Record, number: signal.Signals) -> None:
    _send(record, number)


def _send(record: Record, number: signal.Signals) -> None:
    """To that process and no other: one that has its number by now is not signalled."""
    with suppress(ProcessLookupError):
        if record.is_running:
            os.kill(record.pid, number)


def _has_ended(record: Record, seconds_max: float) -> bool:
    until = time.monotonic() + seconds_max
    while record.is_running:
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_SECONDS)
    return True
