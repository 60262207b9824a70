"""A state as people look at it: where the net stands, how often each step has run, what changed in ctx."""

from __future__ import annotations

from typing import Any

from noetl.engine.events import timestamp
from noetl.engine.excerpts import excerpt
from noetl.engine.state import Job, Run, State
from noetl.projections.progress import NOT_RUN

TOKENS_MAX, RUNS_MAX, JOBS_MAX = 1000, 200, 100
CHANGES_MAX = 200
CHANGE_CHARACTERS_MAX = 4096


def marking(state: State) -> dict[str, Any]:
    """Tokens and runs, as many as one looks at."""
    tokens, runs = list(state.tokens.values()), list(state.runs.values())
    return {
        "tokens": [
            {
                "token": token.id,
                "step": token.step,
                "source": token.source_step,
                "is_waiting": token.is_denied,
                "is_for_signal": token.is_for_signal,
            }
            for token in tokens[:TOKENS_MAX]
        ],
        "omitted_tokens": max(len(tokens) - TOKENS_MAX, 0),
        "runs": [run_row(run) for run in runs[:RUNS_MAX]],
        "omitted_runs": max(len(runs) - RUNS_MAX, 0),
    }


def run_row(run: Run) -> dict[str, Any]:
    jobs = list(run.jobs.items())
    return {
        "run": run.id,
        "step": run.step,
        "phase": run.phase,
        "parent_run": run.parent_run or None,
        "loop": loop_row(run),
        "jobs": [job_row(index, job) for index, job in jobs[:JOBS_MAX]],
        "omitted_jobs": max(len(jobs) - JOBS_MAX, 0),
        "compensates": run.compensates or None,
    }


def loop_row(run: Run) -> dict[str, int] | None:
    loop = run.loop
    if loop is None:
        return None
    return {
        "count": loop.count,
        "next": loop.next,
        "in_flight": len(loop.in_flight),
        "done": loop.done,
        "failed": loop.failed,
    }


def job_row(index: int, job: Job) -> dict[str, Any]:
    return {
        "iteration": index if index >= 0 else None,
        "task": job.progress.label or None,
        "attempt": job.progress.attempt,
        "waits_until": timestamp(job.waits_until) if job.waits_until else None,
    }


def steps_of(state: State, names: list[str]) -> list[dict[str, Any]]:
    """Every step of the playbook: how often it has run, and how it stands."""
    rows = {name: {"step": name, "runs": 0, "status": NOT_RUN} for name in names}
    rows |= {name: {"step": name, "runs": one.runs, "status": one.status} for name, one in state.counts.items()}
    return list(rows.values())


# --- changes ---------------------------------------------------------------------------------------------------------


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """What is another value in ctx than it was, by dotted paths."""
    found: list[dict[str, Any]] = []
    if before is not after:
        _compare("ctx", before, after, found)
    return found[:CHANGES_MAX]


def _compare(path: str, before: dict[str, Any], after: dict[str, Any], found: list[dict[str, Any]]) -> None:
    for key in dict.fromkeys((*before, *after)):
        if len(found) >= CHANGES_MAX:
            return
        old, new, place = before.get(key), after.get(key), f"{path}.{key}"
        if key in before and key in after:
            if isinstance(old, dict) and isinstance(new, dict):
                _compare(place, old, new, found)
            elif type(old) is not type(new) or old != new:
                found.append(_change(place, old, new, is_new=False))
        else:
            found.append(_change(place, old, new, is_new=key in after))


def _change(path: str, before: Any, after: Any, *, is_new: bool) -> dict[str, Any]:
    short = [excerpt(value, CHANGE_CHARACTERS_MAX)[0] for value in (before, after)]
    return {"path": path, "before": short[0], "after": short[1], "is_new": is_new}
