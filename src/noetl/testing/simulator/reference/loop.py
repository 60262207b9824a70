"""The reference run of a step's loop: iterations in index order, inner loops inside, writes folded at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from noetl.testing.simulator.playbooks.plans import Loop
from noetl.testing.simulator.playbooks.terms import value_of
from noetl.testing.simulator.reference.expectations import Tally
from noetl.testing.simulator.reference.pipeline import PipelineRun

Iterate = Callable[[tuple[int, ...], dict[str, Any]], PipelineRun]  # indexes, iter → the pipeline, at its end
Scope = Callable[[], dict[str, Any]]


FOLDS: dict[str, Callable[[list[Any]], Any]] = {"sum": sum, "min": min, "max": max}


class Conflict(Exception):
    """Iterations wrote different values to one key (SC-12)."""


class Counts(msgspec.Struct, kw_only=True):
    """What a loop says of itself when it has ended."""

    total: int = 0
    done: int = 0
    failed: int = 0


class LoopRun:
    """One run of a nest. After `go`: its data, its counts, why it failed, and what its iterations wrote, in order."""

    def __init__(self, loop: Loop, iterate: Iterate, scope: Scope, tally: Tally, *, is_best_effort: bool) -> None:
        self.loop = loop
        self.iterate = iterate
        self.scope = scope
        self.tally = tally
        self.is_best_effort = is_best_effort
        self.error_kind = ""
        self.written: list[dict[str, Any]] = []  # of each innermost iteration that was done

    def go(self) -> tuple[list[Any], Counts]:
        return self._run(self.loop, (), None)

    def _run(self, loop: Loop, indexes: tuple[int, ...], parent: dict[str, Any] | None) -> tuple[list[Any], Counts]:
        elements = self._elements(loop, parent)
        data: list[Any] = [None] * len(elements)
        counts = Counts(total=len(elements))
        for index, element in enumerate(elements):
            iteration = {"index": index, loop.iterator: element, **({"parent": parent} if parent else {})}
            is_done, data[index] = self._iterate(loop, (*indexes, index), iteration)
            self._count(counts, is_done=is_done)
            if not is_done and not self.is_best_effort and not loop.is_parallel:
                break
        return data, counts

    def _count(self, counts: Counts, *, is_done: bool) -> None:
        if is_done:
            counts.done += 1
            self.tally.iterations_done += 1
        else:
            counts.failed += 1
            self.tally.iterations_failed += 1

    def _elements(self, loop: Loop, parent: dict[str, Any] | None) -> list[Any]:
        scope = self.scope()
        if parent is not None:
            scope["iter"] = parent
        if loop.collection is not None:
            return list(value_of(loop.collection, scope))
        return list(range(value_of(loop.count, scope)))

    def _iterate(self, loop: Loop, indexes: tuple[int, ...], iteration: dict[str, Any]) -> tuple[bool, Any]:
        """Whether it was done, and what it gave."""
        if loop.inner is not None:
            data, counts = self._run(loop.inner, indexes, iteration)
            is_done = self.is_best_effort or not counts.failed
            return is_done, data if is_done else None
        pipeline = self.iterate(indexes, iteration)
        if pipeline.error_kind:
            self.error_kind = self.error_kind or pipeline.error_kind
            return False, None
        self.written.append(pipeline.written)
        return True, pipeline.last["data"] if pipeline.last else None


def folded(loop: Loop, written: list[dict[str, Any]], ctx: dict[str, Any]) -> dict[str, Any]:
    """What a held nest writes, by path. Raises Conflict."""
    values: dict[str, list[Any]] = {}
    for one in written:
        for path, value in one.items():
            if not path.startswith("iter."):
                values.setdefault(path, []).append(value)
    return {path: _reduced(loop.reducers.get(path), path, found, ctx) for path, found in values.items()}


def _reduced(reducer: str | None, path: str, found: list[Any], ctx: dict[str, Any]) -> Any:
    if reducer is None:
        if path.startswith("ctx.") and any(value != found[0] for value in found):
            raise Conflict(path)
        return found[-1]
    if reducer in ("first", "last"):
        return found[0 if reducer == "first" else -1]
    before = ctx.get(path.partition(".")[2])
    if reducer == "count":
        return (before or 0) + len(found)
    if reducer == "merge":
        return {key: value for one in (before or {}, *found) for key, value in one.items()}
    if reducer in ("append", "union"):
        items = [*(before or []), *found]
        return items if reducer == "append" else list(dict.fromkeys(items))
    numbers = found if before is None else [before, *found]
    return FOLDS[reducer](numbers)
