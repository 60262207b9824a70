"""Which process a number means: a process is its number and the moment it began, for numbers are used again.

In: a process id. Out: a mark that no other process on this machine ever has, or nothing. The mark has the boot in it,
so that a file which outlives the machine's restart cannot mean somebody else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROC = Path("/proc")
BOOT = PROC / "sys/kernel/random/boot_id"
ENDED = ("Z", "X")  # a zombie does nothing any more; it only waits for its parent to notice
STATE, BEGAN = 0, 19  # columns of /proc/<pid>/stat after the name, which may hold spaces and brackets of its own
PS_SECONDS_MAX = 10.0


def mark_of(process_id: int) -> str:
    """What tells this process from every other; "": there is no such process."""
    if sys.platform == "win32":
        return ""
    return _mark_of_linux(process_id) if PROC.joinpath("self/stat").exists() else _mark_of_ps(process_id)


def own_mark() -> str:
    return mark_of(os.getpid())


def _mark_of_linux(process_id: int) -> str:
    try:
        text = PROC.joinpath(str(process_id), "stat").read_text(encoding="utf-8", errors="replace")
        boot = BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""
    columns = text.rpartition(")")[2].split()
    return "" if columns[STATE] in ENDED else f"{boot}/{columns[BEGAN]}"


def _mark_of_ps(process_id: int) -> str:
    """The same from ps, as macOS and the BSDs have it: to the second."""
    done = subprocess.run(
        ["/bin/ps", "-o", "state=,lstart=", "-p", str(process_id)],
        capture_output=True,
        text=True,
        timeout=PS_SECONDS_MAX,
        check=False,
        env={"LC_ALL": "C"},
    )
    state, _, began = done.stdout.strip().partition(" ")
    return "" if not state or state.startswith(ENDED) else began.strip()
