"""Commands as a user starts them: a new process each, with the compiled bytecode that an installed package has."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import noetl

BARE_PYTHON = [sys.executable, "-c", "pass"]
IMPORTING_PYTHON = [sys.executable, "-c", "import asyncio, sqlite3, jinja2"]
NOETL = [sys.executable, "-m", "noetl"]
FAST = Path(__file__).parents[1] / "build" / "fast"  # where `make bench` puts the extra `fast`


@cache
def compiled() -> None:
    """Compile our package once; those of others were compiled when they were installed."""
    compileall.compile_dir(str(Path(noetl.__file__).parent), quiet=1)


def environment(**variables: str) -> dict[str, str]:
    """The one that we have, but bytecode may be used and kept."""
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return inherited | variables


def of_a_role(**variables: str) -> dict[str, str]:
    """That of a server or a worker, which has the extra `fast` where it was put for the bench."""
    found = environment(**variables)
    if FAST.is_dir():
        found["PYTHONPATH"] = os.pathsep.join(filter(None, (found.get("PYTHONPATH"), str(FAST))))
    return found


def spawned(command: list[str], **variables: str) -> Callable[[], None]:
    """A command to run, again and again; it must end well."""
    compiled()
    env = environment(**variables)

    def run() -> None:
        subprocess.run(command, env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    return run


def ended_cpu_seconds() -> float:
    """Processor time of all commands that have ended so far."""
    times = os.times()
    return times.children_user + times.children_system
