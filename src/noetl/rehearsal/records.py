"""A recording: answers as JSON lines, each with the name of its task. Too much for a test, it stands beside it.

It may have been written by hand, cut off or merged, so each line is looked at as the words of a test are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

from noetl.dsl.playbook_test_shapes import COUNT_MAX, SECONDS_MAX
from noetl.references import JSON
from noetl.rehearsal.envelopes import OWN_KEYS, SELECTORS, Answer
from noetl.rehearsal.payloads import payload_bytes

TASK = "task"
RECORDING_BYTES_MAX = 64 * 1024 * 1024  # of a file, read or written
Seconds = Annotated[float, msgspec.Meta(ge=0, le=SECONDS_MAX)]


class RecordedError(msgspec.Struct):
    """The error of a line."""

    kind: str
    message: str = ""
    retryable: bool = False
    details: dict[str, Any] | None = None


class Record(msgspec.Struct):
    """What a line has; what a kind has beside its data is a mapping each."""

    task: str
    run: Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)] = 1
    iteration: int | str = ""
    ref: dict[str, Any] | None = None
    error: RecordedError | None = None
    takes: Seconds = 0.0
    retry_after: Seconds | None = None
    definite: bool = True
    logs: list[str] = []
    meta: dict[str, Any] = {}


def read_records(data: bytes, name: str) -> dict[str, list[Answer]]:
    """The answers of a recording, by name, in their order. Raises ValueError."""
    if len(data) > RECORDING_BYTES_MAX:
        raise ValueError(f"{name}: a recording may have {RECORDING_BYTES_MAX:,} bytes, but this file has more")
    found: dict[str, list[Answer]] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            answer = read_record(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name}:{number}:1: the line is no recorded answer: {error}") from None
        found.setdefault(answer.pop(TASK), []).append(answer)
    return found


def read_record(line: bytes) -> Answer:
    """One line. Raises ValueError."""
    msgspec.json.decode(line, type=Record)
    answer: Answer = msgspec.json.decode(line)
    for key, value in answer.items():
        if key not in (TASK, *SELECTORS, *OWN_KEYS) and not isinstance(value, dict):
            raise ValueError(f"an answer has no `{key}`, unless it is a mapping of what the kind has beside its data")
    if "stored" in answer:
        payload_bytes(answer["stored"], JSON)
    return answer


def written_records(answers: Iterable[tuple[str, Answer]]) -> bytes:
    return b"".join(msgspec.json.encode({TASK: name, **answer}) + b"\n" for name, answer in answers)
