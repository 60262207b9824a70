"""Huey over SQLite, forced to disk, with one consumer process of four threads. It is a queue: no state of a workflow.

The consumer imports this module by its name, and finds the database in HUEY_DATABASE.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from huey import SqliteHuey
from services import Job, running

THREADS = 4
WAIT_SECONDS_MAX = 300
LOOK_SECONDS = 0.001

huey = SqliteHuey("bench", filename=os.environ.get("HUEY_DATABASE", ":memory:"), fsync=True)


@huey.task()
def nothing(*_: Any) -> int:
    return 1


def result_of(sent: Any) -> Any:
    return sent.get(blocking=True, timeout=WAIT_SECONDS_MAX, backoff=1, max_delay=LOOK_SECONDS)


@contextmanager
def consumed(job: Job, once: Callable[[int], None]) -> Iterator[Callable[[], None]]:
    """The queue in the job's folder, and somebody who takes from it."""
    database = str(job.folder / "huey.db")
    huey.storage_kwargs["filename"] = database
    huey.storage = huey.create_storage()
    program = Path(sys.executable).with_name("huey_consumer")
    options = ["-w", str(THREADS), "-d", "0.005", "-m", "0.01", "-b", "1.0", "-n", "-q"]
    variables = {**os.environ, "HUEY_DATABASE": database, "PYTHONPATH": str(Path(__file__).parent)}
    with running([str(program), "on_huey.huey", *options], job.folder, variables=variables):
        once(1)
        yield lambda: once(job.count)


def chain(count: int) -> None:
    """The next one is sent when the one before has answered."""
    for _ in range(count):
        result_of(nothing())


def loop(count: int) -> None:
    for sent in [nothing() for _ in range(count)]:
        result_of(sent)


def workflows(count: int) -> None:
    for group in [huey.enqueue(nothing.s().then(nothing).then(nothing)) for _ in range(count)]:
        for sent in group:
            result_of(sent)


WORKLOADS = {
    "W1": lambda job: consumed(job, chain),
    "W2": lambda job: consumed(job, loop),
    "W3": lambda job: consumed(job, workflows),
}
