"""A whole playbook at its worst: every step as a row, the sums, and what nobody can say."""

from __future__ import annotations

import msgspec

from noetl.dsl.model import Condition, Loop, Playbook, Step, Task
from noetl.engine.forecast.bounds import Bound, capped, times, together, unknown
from noetl.engine.forecast.known import Known, paths_of, without
from noetl.engine.forecast.loops import Rounds, rounds_of, window_of
from noetl.engine.forecast.pipelines import ChildSeconds, Reader, TaskForecast, attempts_of_all, seconds_of_all
from noetl.engine.forecast.routes import Routes, longest, routes_of

ASSUMPTIONS = (
    "whatever may run at once has a free slot, and a worker that is not lost",
    "a server that asks for a longer wait (Retry-After) is not counted, nor the time of NoETL itself",
)


class StepForecast(msgspec.Struct, frozen=True, kw_only=True):
    """A step at its worst; attempts and seconds are of one run of it, with all iterations."""

    step: Step
    is_reached: bool
    runs: Bound
    rounds: Rounds
    tasks: list[TaskForecast]
    compensation: list[TaskForecast]
    attempts: Bound
    seconds: Bound


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """A playbook at its worst."""

    playbook: Playbook
    steps: list[StepForecast]  # those that can be reached first, each after those that lead to it
    routes: Routes
    attempts: Bound
    seconds: Bound


def forecast(playbook: Playbook, known: Known, child_seconds: ChildSeconds) -> Forecast:
    """What the playbook would do; `child_seconds`: how long what a task calls may take."""
    routes = routes_of(playbook, known)
    reached = dict.fromkeys(routes.order)
    names = [*reached, *(name for name in playbook.steps if name not in reached)]
    steps = [step_forecast(playbook, playbook.steps[name], known, child_seconds, routes) for name in names]
    live = [one for one in steps if one.is_reached]
    return Forecast(
        playbook=playbook,
        steps=steps,
        routes=routes,
        attempts=together(times(together((one.attempts, attempts_of_all(one.compensation))), one.runs) for one in live),
        seconds=total_seconds(playbook, routes, live),
    )


def step_forecast(
    playbook: Playbook, step: Step, known: Known, child_seconds: ChildSeconds, routes: Routes
) -> StepForecast:  # fmt: skip
    hidden = (*(task.label for task in step.tasks), *iterators_of(step.loop))
    reader = Reader(playbook=playbook, known=without(known, hidden), child_seconds=child_seconds)
    undoing = Reader(
        playbook=playbook,
        known=without(known, (task.label for task in step.compensation)),
        child_seconds=child_seconds,
    )
    tasks, rounds = reader.pipeline(step.tasks), rounds_of(step, known)
    return StepForecast(
        step=step,
        is_reached=step.name in routes.runs and routes.runs[step.name].most != 0,
        runs=routes.runs.get(step.name, Bound(0)),
        rounds=rounds,
        tasks=tasks,
        compensation=undoing.pipeline(step.compensation),
        attempts=times(attempts_of_all(tasks), rounds.iterations),
        seconds=capped(times(seconds_of_all(tasks), rounds.rounds), step.timeout_seconds, step.deadline_seconds),
    )


def iterators_of(loop: Loop | None) -> list[str]:
    return [loop.iterator, *iterators_of(loop.inner)] if loop else []


def total_seconds(playbook: Playbook, routes: Routes, live: list[StepForecast]) -> Bound:
    """The longest way through the net, and then, if it fails, all compensations one after the other (ST-12)."""
    reasons = [f'step "{one.step.name}" plans further steps while it runs' for one in live if one.step.is_planner]
    reasons += [f'step "{name}" may wait for a signal' for name in signalled(playbook, routes)]
    if reasons:
        return unknown(*reasons)
    seconds = {one.step.name: one.seconds for one in live}
    seconds |= {name: Bound(0) for name in routes.order if name not in seconds}
    undone = [times(seconds_of_all(one.compensation), one.runs) for one in live]
    return together((longest(routes, seconds, is_held=is_held(routes)), *undone))


def signalled(playbook: Playbook, routes: Routes) -> list[str]:
    gates = {name: playbook.steps[name].admission for name in routes.order}
    return [name for name, gate in gates.items() if gate.waits_when_denied and routes.gates[name] is not True]


def is_held(routes: Routes) -> bool:
    """Whether a token may have to wait for others: at a gate, or in a partition (RT-09)."""
    arcs = (way.arc for name in routes.order for way in routes.ways[name] if way.can_fire)
    return any(routes.gates[name] is not True for name in routes.order) or any(
        arc.partition is not None and routes.runs.get(arc.target, Bound(0)).most != 1 for arc in arcs
    )


# --- as rows ---------------------------------------------------------------------------------------------------------


def as_row(found: Forecast) -> dict[str, object]:
    """A forecast as plain data. A number that is null has its reasons under `unknown`."""
    return {
        "name": found.playbook.name,
        "path": found.playbook.path,
        "attempts_max": whole(found.attempts),
        "seconds_max": found.seconds.most,
        "unknown": reasons(found.seconds, found.attempts),
        "steps": [step_row(one, found) for one in found.steps],
    }


def step_row(one: StepForecast, found: Forecast) -> dict[str, object]:
    step = one.step
    return {
        "step": step.name,
        "place": str(step.place),
        "is_reached": one.is_reached,
        "runs_max": whole(one.runs),
        "gate": gate_row(step, found.routes.gates[step.name]),
        "loop": loop_row(step.loop, one.rounds),
        "tasks": [task_row(task) for task in one.tasks],
        "compensation": [task_row(task) for task in one.compensation],
        "attempts_max": whole(one.attempts),
        "seconds_max": one.seconds.most,
        "timeout_seconds": step.timeout_seconds,
        "deadline_seconds": step.deadline_seconds,
        "pool": step.pool,
        "is_planner": step.is_planner,
        "arcs": [
            {"to": way.arc.target, "when": text_of(way.arc.when), "on": list(way.on), "holds": way.guard}
            for way in found.routes.ways[step.name]
        ],
        "unknown": reasons(one.seconds, one.attempts, one.runs),
    }


def gate_row(step: Step, answer: bool | None) -> dict[str, object] | None:
    gate = step.admission
    if not gate.rules and not gate.is_join:
        return None
    reads = dict.fromkeys(path for rule in gate.rules for path in paths_of(rule.when))
    return {
        "is_join": gate.is_join,
        "opens": answer,
        "reads": list(reads),
        "waits_for_signal": gate.waits_when_denied,
    }


def loop_row(loop: Loop | None, rounds: Rounds) -> dict[str, object] | None:
    if loop is None:
        return None
    return {
        "iterations_max": whole(rounds.iterations),
        "rounds_max": whole(rounds.rounds),
        "is_parallel": loop.is_parallel,
        "at_once_max": window_of(loop),
        "depth": len(iterators_of(loop)),
        "fault": rounds.fault or None,
    }


def task_row(one: TaskForecast) -> dict[str, object]:
    return {
        "task": one.task.label,
        "kind": one.task.kind,
        "place": str(one.task.place),
        "is_generated": one.task.is_transparent,
        "attempts_max": whole(one.attempts),
        "visit_attempts_max": one.visit_attempts,
        "attempt_seconds_max": one.attempt_seconds.most,
        "wait_seconds_max": one.wait_seconds.most,
        "seconds_max": one.seconds.most,
        "unknown": reasons(one.seconds, one.attempts, one.wait_seconds),
    }


def whole(bound: Bound) -> int | None:
    return None if bound.most is None else int(bound.most)


def reasons(*bounds: Bound) -> list[str]:
    return list(dict.fromkeys(reason for bound in bounds if not bound.is_known for reason in bound.reasons))


def text_of(condition: Condition | None) -> str | None:
    if condition is None:
        return None
    return condition.template.source if condition.template else str(condition.always).lower()


def tasks_of(playbook: Playbook) -> list[Task]:
    """Every task of a playbook, those of its workbook too."""
    of_steps = [task for step in playbook.steps.values() for task in (*step.tasks, *step.compensation)]
    return [*of_steps, *playbook.workbook.values()]
