"""Ids, made of counters: short, stable, the same on replay. Nothing here is random and nothing looks at a clock.

execution        4097
event            4097-12           its seq
step run         4097:3            its run
iteration        4097:3:17         run and index
task run         4097:3:17:fetch:2 and label and visit; index -1: no loop
idempotency key  4097:3:17:fetch:2.0   and the attempts before it that got a definite answer
for other systems  d4296c….4097:3:17:fetch:2.0   the trace before it: the counters of another store may be the same
viewing          from 2^62 on: an exported execution that a server holds for a while; no store ever counts so far
"""

from __future__ import annotations

VIEWING_ID_MIN = 2**62


def is_viewing(execution_id: int) -> bool:
    return execution_id >= VIEWING_ID_MIN


def event_id(execution_id: int, seq: int) -> str:
    return f"{execution_id}-{seq}"


def step_run_id(execution_id: int, run: int) -> str:
    return f"{execution_id}:{run}"


def iteration_id(execution_id: int, run: int, index: int) -> str:
    return f"{execution_id}:{run}:{index}"


def task_run_id(execution_id: int, run: int, index: int, label: str, visit: int) -> str:
    return f"{execution_id}:{run}:{index}:{label}:{visit}"


def idempotency_key(task_run: str, answered_attempts: int) -> str:
    return f"{task_run}.{answered_attempts}"


def key_abroad(trace_id: str, key: str) -> str:
    """An idempotency key as it is given to other systems, which may know several stores: each counts from 1."""
    return f"{trace_id}.{key}" if trace_id else key
