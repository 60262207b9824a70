"""The place of a piece of work in a trace, as W3C Trace Context writes it: taken in, passed on, and never asked for.

An execution, its children, their step runs and task attempts are one trace. The id of a span follows from what it is
the span of, so that the worker that calls another system and the server that later draws the span agree without a word.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_HEADER = re.compile(r"(?!ff)[0-9a-f]{2}-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-[0-9a-f]{2}(?P<more>-.*)?")
_TRACE, _SPAN = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{16}")
HEADER_CHARS_MAX = 256
SPAN_BYTES = 8
TRACES_KEPT_MAX = 1_024


class Place(NamedTuple):
    """Whose work this is part of."""

    trace_id: str  # 32 hexadecimal digits
    span_id: str  # 16


def read(header: str) -> Place | None:
    """What a `traceparent` header says; None: nothing that can be used, and the trace begins here."""
    found = _HEADER.fullmatch(header.strip()) if len(header) <= HEADER_CHARS_MAX else None
    if found is None or not is_trace_id(found["trace"]) or not is_span_id(found["span"]):
        return None
    if found["more"] and header.strip().startswith("00"):  # only versions to come may say more
        return None
    return Place(found["trace"], found["span"])


@lru_cache(TRACES_KEPT_MAX)  # one trace has many spans
def is_trace_id(text: str) -> bool:
    return _TRACE.fullmatch(text) is not None and text.strip("0") != ""


def is_span_id(text: str) -> bool:
    return _SPAN.fullmatch(text) is not None and text.strip("0") != ""


def written(trace_id: str, span_id: str) -> str:
    """A `traceparent` header; empty if the trace's id is none that others could read."""
    return f"00-{trace_id}-{span_id}-01" if is_trace_id(trace_id) else ""


def span_id(trace_id: str, subject: str) -> str:
    """The id of the span of an execution, a step run or a task attempt."""
    from hashlib import blake2b  # for those who trace

    return blake2b(f"{trace_id}/{subject}".encode(), digest_size=SPAN_BYTES).hexdigest()


def attempt_span_id(trace_id: str, task_run_id: str, attempt: int) -> str:
    return span_id(trace_id, f"{task_run_id}/{attempt}")
