"""Other processes that use the same store, started for real."""

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS_MAX = 60

OPENING = """
import asyncio, os, pathlib, random, resource, sys
from noetl.engine.events import LoopIterationDone, StepStarted
from noetl.errors import NoetlError
from noetl.stores.contract import RUNNING, Append, Batch, Execution
from noetl.stores.sqlite import SqliteStore

def batch(execution_id, seq, count=1):
    events = [StepStarted(ts=1.0, run=seq + number, step=random.randbytes(50).hex()) for number in range(count)]
    return Batch(appends=[Append(execution_id=execution_id, first_seq=seq, events=events, status=RUNNING)])

def execution(execution_id):
    return Execution(id=execution_id, sha="5ha", path="orders", version=1)

def say(*words):
    print(*words, flush=True)
"""


def script(body: str) -> list[str]:
    """A command that runs `body` inside an async function, with the store's path as sys.argv[1]."""
    lines = textwrap.indent(textwrap.dedent(body), "    ")
    ending = "    path = pathlib.Path(sys.argv[1])\n" + lines + "\nasyncio.run(main())\n"
    return [sys.executable, "-c", f"{OPENING}\nasync def main():\n{ending}"]


def run(body: str, path: object, *arguments: str) -> str:
    """What the script prints; it must end well."""
    done = subprocess.run(
        [*script(body), str(path), *arguments], capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def running(body: str, path: object, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """The script while it runs, with its output to read; killed at the end of the block, if it still runs then."""
    command = [*script(body), str(path), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()
