"""Starting a program apart from its terminal, and not before it is ready is it called started.

In: a command that claims a pid file and tells it when it is ready. Out: its record, or an error with the end of its
log. The command gets no secret as an argument; what is secret is in its environment.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from noetl.daemons.log_files import opened, tail
from noetl.daemons.pid_files import PidFile, Record
from noetl.errors import DidNotStart

LOOK_SECONDS = 0.05
GIVE_UP_SECONDS_MAX = 5.0  # for a program that did not get ready to end, before it is killed


def start_detached(
    command: Sequence[str],
    *,
    what: str,
    environ: Mapping[str, str],
    pid_file: PidFile,
    log_file: Path,
    ready_seconds_max: float,
    answers: Callable[[Record], bool] = lambda _record: True,
) -> Record:
    """Start it and wait until it is ready and `answers`. Raises DidNotStart."""
    log = opened(log_file)
    before = os.fstat(log).st_size
    try:
        child = subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=dict(environ)
        )
    finally:
        os.close(log)
    until = time.monotonic() + ready_seconds_max
    try:
        while (record := _ready(pid_file, child.pid)) is None or not answers(record):
            if child.poll() is not None:
                raise DidNotStart(
                    what, f"it ended with exit code {child.returncode}", str(log_file), tail(log_file, before)
                )
            if time.monotonic() > until:
                why = f"it was not ready after {ready_seconds_max:.0f} seconds, so it was stopped"
                raise DidNotStart(what, why, str(log_file), tail(log_file, before))
            time.sleep(LOOK_SECONDS)
    except BaseException:
        _give_up(child)
        raise
    child.returncode = 0  # nobody waits for it any more: it lives on when this process has ended
    return record


def _ready(pid_file: PidFile, process_id: int) -> Record | None:
    found = pid_file.record()
    return found if found is not None and found.pid == process_id and found.is_ready else None


def _give_up(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(GIVE_UP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
