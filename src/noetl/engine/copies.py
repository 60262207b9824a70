"""A state beside a state: both can be folded on, and neither shows in the other.

What `apply` changes in place is copied; data itself is never changed but replaced (`patches.py`), so both share it.
That is faster than writing a state down and reading it again, and a thousand jobs that see one ctx still hold one ctx.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from noetl.engine.progress import copy_of as copy_of_progress
from noetl.engine.state import Job, Loop, Run, State

Kept = TypeVar("Kept", bound=msgspec.Struct)


def copy_of(state: State) -> State:
    """The same state, once more."""
    made = _shallow(state)
    made.tokens = {key: _shallow(token) for key, token in state.tokens.items()}
    made.runs = {key: _copy_of_run(run) for key, run in state.runs.items()}
    made.counts = {step: _shallow(count) for step, count in state.counts.items()}
    made.sent = {step: list(keys) for step, keys in state.sent.items()}
    made.outputs = dict(state.outputs)
    made.undoable, made.undoing, made.planned = list(state.undoable), list(state.undoing), list(state.planned)
    return made


def _shallow(value: Kept) -> Kept:
    made: Kept = value.__copy__()  # type: ignore[attr-defined]  # as every Struct has it
    return made


def _copy_of_run(run: Run) -> Run:
    made = _shallow(run)
    made.jobs = {index: _copy_of_job(job) for index, job in run.jobs.items()}
    made.loop = _copy_of_loop(run.loop) if run.loop is not None else None
    return made


def _copy_of_job(job: Job) -> Job:
    made = _shallow(job)
    made.progress = copy_of_progress(job.progress)
    return made


def _copy_of_loop(loop: Loop) -> Loop:
    made = _shallow(loop)
    made.in_flight, made.again = dict(loop.in_flight), dict(loop.again)
    made.elements, made.data = dict(loop.elements), dict(loop.data)
    made.stretches = {start: _shallow(stretch) for start, stretch in loop.stretches.items()}
    made.starts = dict(loop.starts)
    return made
