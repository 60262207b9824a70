"""The machine a benchmark runs on: what it is, how busy others keep it, and what processes of ours use of it.

The figures come from /proc; where there is none (macOS, Windows) nothing is known of others, and their share reads as
0. No name of the machine, of a user or of a folder leaves this file.
"""

from __future__ import annotations

import os
import platform
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

import msgspec

from bench.spawning import FAST

PROC = Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
IDLE_COLUMNS = (3, 4)  # of the line "cpu" in /proc/stat: idle and waiting for a disk
BUSY_COLUMNS = 8  # up to steal: time that the host took away is not ours either
CPU_COLUMNS = slice(11, 15)  # of /proc/PID/stat after the name: user, system, and those of ended children
PACKAGES = ("noetl", "msgspec", "jinja2", "aiohttp", "psycopg", "nats-py")
OF_THE_CLUSTER = ("uvloop", "httptools")  # where they are installed for it


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What figures can only be compared on the same."""

    system: str
    architecture: str
    processor: str
    cores: int
    memory_gibibytes: int
    python: str
    sqlite: str
    packages: dict[str, str]


def this_machine() -> Machine:
    return Machine(
        system=platform.system(),
        architecture=platform.machine(),
        processor=_found(PROC / "cpuinfo", r"^model name\s*:\s*(.+)$") or "unknown",
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_gibibytes=round(int(_found(PROC / "meminfo", r"^MemTotal:\s*(\d+) kB$") or 0) / 1024**2),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        sqlite=sqlite3.sqlite_version,
        packages=dict(_versions()),
    )


def _versions() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            yield name, version(name)
    for found in sorted(distributions(path=[*sys.path, str(FAST)]), key=lambda one: one.name):
        if found.name in OF_THE_CLUSTER:
            yield f"for the cluster {found.name}", found.version


def commit() -> str:
    """The commit that is measured, with a mark if files differ from it."""
    here = Path(__file__).parent
    try:
        words = ["git", "describe", "--always", "--dirty=+", "--exclude=*", "--abbrev=10"]
        return subprocess.run(words, cwd=here, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# --- processor time --------------------------------------------------------------------------------------------------


def busy_seconds() -> float:
    """Processor time that the whole machine has spent so far, all cores together."""
    try:
        line = (PROC / "stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return 0.0
    ticks = [int(word) for word in line.split()[1 : 1 + BUSY_COLUMNS]]
    return (sum(ticks) - sum(ticks[column] for column in IDLE_COLUMNS)) / TICKS_PER_SECOND


def tree(root: int) -> list[int]:
    """A process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in PROC.glob("[0-9]*"):
        with suppress(OSError):
            children.setdefault(int(_columns(int(entry.name))[1]), []).append(int(entry.name))
    found, left = [], [root]
    while left:
        found.append(left.pop())
        left += children.get(found[-1], ())
    return found


def cpu_seconds(pids: list[int]) -> float:
    """Processor time of these processes and of their children that have ended."""
    ticks = 0
    for pid in pids:
        with suppress(OSError):
            ticks += sum(int(word) for word in _columns(pid)[CPU_COLUMNS])
    return ticks / TICKS_PER_SECOND


def _columns(pid: int) -> list[str]:
    """Of /proc/PID/stat, those after the name, which may hold anything."""
    return (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


# --- memory ----------------------------------------------------------------------------------------------------------


def peak_mebibytes(pid: int | None = None) -> float:
    """The most memory a process (this one, if none is named) has had so far.

    Not ru_maxrss, which begins with what the process had before it became another program: its parent's memory.
    """
    try:
        return peak_in((PROC / str(pid or "self") / "status").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return 0.0


def peak_in(status: str) -> float:
    """The same, from the text of /proc/PID/status."""
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def shared_mebibytes(pids: list[int]) -> float:
    """What these processes have now, pages that they share counted once."""
    found = (_found(PROC / str(pid) / "smaps_rollup", r"^Pss:\s*(\d+) kB$") for pid in pids)
    return sum(int(kibibytes or 0) for kibibytes in found) / 1024


def _found(path: Path, pattern: str) -> str | None:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else None
