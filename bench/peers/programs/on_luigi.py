"""Luigi, its scheduler and worker in this process: a task is done when its target, one file each, is there."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import luigi

if TYPE_CHECKING:
    from services import Job

logging.disable(logging.WARNING)


class Nothing(luigi.Task):
    number = luigi.IntParameter()
    folder = luigi.Parameter()

    def output(self) -> luigi.LocalTarget:
        return luigi.LocalTarget(f"{self.folder}/{self.number}")

    def run(self) -> None:
        with self.output().open("w") as file:
            file.write("1")


class Chained(Nothing):
    def requires(self) -> list[Any]:
        return [Chained(number=self.number - 1, folder=self.folder)] if self.number else []


class Spread(luigi.WrapperTask):
    count = luigi.IntParameter()
    folder = luigi.Parameter()

    def requires(self) -> list[Any]:
        return [Nothing(number=number, folder=self.folder) for number in range(self.count)]


def build(task: luigi.Task) -> None:
    assert luigi.build([task], local_scheduler=True, workers=1, log_level="CRITICAL")


def fresh_folder(job: Job) -> str:
    luigi.task.Register.clear_instance_cache()
    return tempfile.mkdtemp(dir=job.folder)


@contextmanager
def chain(job: Job) -> Iterator[Callable[[], None]]:
    yield lambda: build(Chained(number=job.count - 1, folder=fresh_folder(job)))


@contextmanager
def loop(job: Job) -> Iterator[Callable[[], None]]:
    """By one worker: more of them are processes, and slower."""
    yield lambda: build(Spread(count=job.count, folder=fresh_folder(job)))


WORKLOADS = {"W1": chain, "W2": loop}

if __name__ == "__main__":  # W4
    with tempfile.TemporaryDirectory() as hello:
        build(Chained(number=0, folder=hello))
