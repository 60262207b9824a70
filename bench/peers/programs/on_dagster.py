"""Dagster in this process, with an instance on disk (SQLite). The loop is a dynamic map."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dagster import DagsterInstance, DynamicOut, DynamicOutput, JobDefinition, job, op
from services import Job

SETTINGS = "telemetry:\n  enabled: false\n"


@op
def first() -> int:
    return 0


@op
def nothing(number: int) -> int:
    return number


def chained(count: int) -> JobDefinition:
    @job(name="chained")
    def made() -> None:
        found: Any = first()
        for number in range(count - 1):
            found = nothing.alias(f"nothing_{number}")(found)

    return made


def spread(count: int) -> JobDefinition:
    @op(out=DynamicOut(int))
    def numbers():  # without annotation: Dagster takes one for the type of a single output
        for number in range(count):
            yield DynamicOutput(number, mapping_key=str(number))

    @job(name="spread")
    def made() -> None:
        numbers().map(nothing)

    return made


@contextmanager
def executed(wanted: Job, made: Callable[[int], JobDefinition]) -> Iterator[Callable[[], None]]:
    logging.disable(logging.INFO)
    os.environ["DAGSTER_HOME"] = str(wanted.folder)
    (wanted.folder / "dagster.yaml").write_text(SETTINGS, encoding="utf-8")
    with DagsterInstance.get() as instance:
        made(3).execute_in_process(instance=instance)
        definition = made(wanted.count)

        def once() -> None:
            assert definition.execute_in_process(instance=instance).success

        yield once


WORKLOADS = {"W1": lambda wanted: executed(wanted, chained), "W2": lambda wanted: executed(wanted, spread)}


@op
def hello() -> str:
    return "hello"


@job
def greeting() -> None:  # W4: dagster job execute -f on_dagster.py
    hello()
