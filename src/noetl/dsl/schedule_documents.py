"""`kind: Schedule` documents: when a playbook of the catalog is started by itself.

    apiVersion: noetl.io/v2
    kind: Schedule
    metadata: { name: nightly_report }
    spec:
      playbook: { path: reports/daily }
      cron: "30 2 * * *"
      timezone: Europe/Berlin

Nodes in, plain data out. What must hold is for the rules to say; here nothing is refused, and nobody looks at a clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from noetl.dsl.nodes import Mapping, plain
from noetl.dsl.read import Reading, read
from noetl.dsl.start_shapes import EVERY_SECONDS_MAX, LAST, SCHEDULE, SKIP

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\Z")
EVERY = re.compile(r"([1-9][0-9]{0,8}) ?([smhd])\Z")
UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
UTC = "UTC"
CATCH_UP_USUALLY = 10
YEARS = range(1970, 2200)


class ScheduleDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule whose document checks."""

    name: str
    description: str = ""
    labels: dict[str, Any] = {}
    path: str  # of the playbook
    version: int | None = None  # None: the newest
    payload: dict[str, Any] = {}
    cron: str | None = None
    timezone: str = UTC
    every_seconds: int | None = None
    overlap: str = SKIP
    catch_up: str = LAST
    catch_up_max: int = CATCH_UP_USUALLY
    jitter_seconds: float = 0.0
    start_at: str | None = None  # as written: its time zone is known elsewhere
    end_at: str | None = None
    paused: bool | None = None  # None: as it is


def schedules_of(data: bytes | str, name: str) -> list[ScheduleDocument]:
    """The schedules of a text that is known to check."""
    return [schedule_of(root) for root in documents_of_kind(read(data, name), SCHEDULE)]


def schedule_of(root: Mapping) -> ScheduleDocument:
    written: Any = plain(root)
    metadata, spec = written["metadata"], written["spec"]
    kept = {key: spec[key] for key in KEPT if key in spec}
    return ScheduleDocument(
        **start_of(metadata, spec),
        every_seconds=every_seconds(spec["every"]) if "every" in spec else None,
        jitter_seconds=float(spec.get("jitter", 0.0)),
        **kept,
    )


KEPT = ("cron", "timezone", "overlap", "catch_up", "catch_up_max", "start_at", "end_at", "paused")


def start_of(metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    """What a schedule and a trigger have in common: who it is, and what it starts."""
    return {
        "name": metadata["name"],
        "description": metadata.get("description", ""),
        "labels": metadata.get("labels", {}),
        "path": spec["playbook"]["path"],
        "version": spec["playbook"].get("version"),
        "payload": spec.get("payload", {}),
    }


def documents_of_kind(reading: Reading, kind: str) -> Iterator[Mapping]:
    """The documents of a text that say they are of a kind."""
    for document in reading.documents:
        if isinstance(document, Mapping) and document.text("kind") == kind:
            yield document


def every_seconds(value: object) -> int | None:
    """The seconds of `every`; None: it cannot be read."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 < value <= EVERY_SECONDS_MAX else None
    found = EVERY.match(value) if isinstance(value, str) else None
    seconds = int(found[1]) * UNIT_SECONDS[found[2]] if found else 0
    return seconds if 0 < seconds <= EVERY_SECONDS_MAX else None


def moment_of(text: str) -> datetime | None:
    """A time as people write it, to the second, with an offset or without; None: it cannot be read."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.replace(microsecond=0) if found.year in YEARS else None
