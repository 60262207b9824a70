"""Two executions compared: inputs, texts, the first place in which they part, every step that differs, what came of it.

Reads both logs; nothing is run, and what is kept outside the logs is compared by its checksum. Values are cut where
they are long, as wherever people look at them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from noetl.control.catalog import Loaded
from noetl.control.reading import EVENTS_PER_READ
from noetl.dsl.model import Playbook
from noetl.engine.excerpts import excerpt
from noetl.projections.differences import differences
from noetl.projections.divergence import Divergence, Pair, compared, first_among
from noetl.projections.stories import ARCS, TASK, Fact, Story
from noetl.stores.contract import Execution, Store

VALUE_CHARACTERS_MAX = 2000
STEPS_MAX = 200
Known = Callable[[str, list[list[Any]]], Awaitable[Loaded]]
Side = tuple[Story, Loaded]


async def diff(store: Store, playbooks: Known, before: Execution, after: Execution) -> dict[str, Any]:
    """The document that `noetl diff` prints."""
    one, other = await story_of(store, before), await story_of(store, after)
    sides = (one, await playbooks(one.sha, [])), (other, await playbooks(other.sha, []))
    return document((before, after), sides)


async def story_of(store: Store, row: Execution) -> Story:
    story, seq = Story(), 0
    while rows := await store.events(row.id, seq, EVENTS_PER_READ):
        for seq, event in rows:
            story.apply(seq, event)
    return story


def document(rows: tuple[Execution, Execution], sides: tuple[Side, Side]) -> dict[str, Any]:
    (one, mine), (other, yours) = sides
    pairs = [pair for pair in compared(one, other) if pair.first is not None]
    first = first_among(pairs)
    inputs = differences(one.progress.workload, other.progress.workload, "workload")
    signals = differences(one.signals, other.signals, "signals")
    output = differences(_data(one), _data(other), "output")
    ctx = differences(one.progress.ctx, other.progress.ctx, "ctx")
    is_same = not (pairs or inputs or signals or output or ctx) and one.progress.status == other.progress.status
    return {
        "is_same": is_same,
        "executions": [_execution(row, story) for row, story in zip(rows, (one, other), strict=True)],
        "inputs": [cut(row) for row in [*inputs, *signals]],
        "playbook": {"is_same": one.sha == other.sha, "steps": changed_steps(mine, yours)},
        "first": first_row(first, (mine.playbook, yours.playbook)) if first else None,
        "steps": [step_row(pair, (mine.playbook, yours.playbook)) for pair in pairs[:STEPS_MAX]],
        "omitted_steps": max(len(pairs) - STEPS_MAX, 0),
        "output": [cut(row) for row in output],
        "ctx": [cut(row) for row in ctx],
    }


def _data(story: Story) -> Any:
    output = story.progress.output or {}
    return output.get("data") if "data" in output else output.get("ref")


def _execution(row: Execution, story: Story) -> dict[str, Any]:
    return {"execution_id": str(row.id), "path": row.path, "version": row.version, "status": story.progress.status}


# --- texts -----------------------------------------------------------------------------------------------------------


def changed_steps(before: Loaded, after: Loaded) -> list[dict[str, Any]]:
    """Steps whose text is another one, or that only one has."""
    if before.text.sha == after.text.sha:
        return []
    mine, yours = _step_texts(before), _step_texts(after)
    return [
        {"step": name, "change": "changed" if name in mine and name in yours else "new" if name in yours else "gone"}
        for name in dict.fromkeys((*mine, *yours))
        if mine.get(name) != yours.get(name)
    ]


def _step_texts(loaded: Loaded) -> dict[str, list[str]]:
    """Each step's lines, from its own to the next one's."""
    lines = loaded.text.data.decode("utf-8", "replace").splitlines()
    steps = sorted(loaded.playbook.steps.values(), key=lambda step: step.place.line)
    ends = [*(step.place.line - 1 for step in steps[1:]), len(lines)]
    return {
        step.name: [line.strip() for line in lines[step.place.line - 1 : end] if line.strip()]
        for step, end in zip(steps, ends, strict=True)
    }


# --- rows ------------------------------------------------------------------------------------------------------------


def first_row(first: Divergence, playbooks: tuple[Playbook, Playbook]) -> dict[str, Any]:
    """A divergence with its places in both logs and both texts."""
    facts = first.facts
    task = next((fact for fact in facts if fact is not None), None)
    before, after = first.values
    return {
        "step": first.step,
        "runs": list(first.runs),
        "iteration": ".".join(map(str, first.iteration)) or None,
        "task": (task.task if task else "") or None,
        "visit": (task.visit if task else 0) or None,
        "attempt": (task.attempt if task else 0) or None,
        "what": first.what,
        "field": first.field or None,
        "seqs": [fact.seq if fact else None for fact in facts],
        "lines": [_line(book, first, fact) for book, fact in zip(playbooks, facts, strict=True)],
        "before": _short(before),
        "after": _short(after),
        "differences": [cut(row) for row in differences(before, after, first.field)],
        "sentence": sentence(first),
    }


def step_row(pair: Pair, playbooks: tuple[Playbook, Playbook]) -> dict[str, Any]:
    assert pair.first is not None  # noqa: S101 - only those that differ are told
    sides = (pair.before, pair.after)
    return {
        "step": pair.step,
        "runs": [run.id if run else None for run in sides],
        "statuses": [run.status if run else None for run in sides],
        "attempts": [run.attempts if run else None for run in sides],
        "what": pair.first.what,
        "sentence": sentence(pair.first),
        "lines": [_line(book, pair.first, fact) for book, fact in zip(playbooks, pair.first.facts, strict=True)],
    }


def _line(playbook: Playbook, first: Divergence, fact: Fact | None) -> int | None:
    """Where in the text that stands: the rule or arc, else the task, else the step."""
    step = playbook.steps.get(first.step)
    if step is None or fact is None:
        return None
    arcs = fact.value.get("arcs") if fact.what == ARCS else None
    if arcs and 0 <= arcs[0] < len(step.router.arcs):
        return int(step.router.arcs[arcs[0]].place.line)
    task = next((one for one in (*step.tasks, *step.compensation) if one.label == fact.task), None)
    if task is None:
        return step.place.line
    rule = fact.value.get("rule", -1) if fact.what == TASK and first.field in ("rule", "do", "to") else -1
    if task.policy is not None and 0 <= rule < len(task.policy.rules):
        return task.policy.rules[rule].place.line
    return task.place.line


def cut(row: dict[str, Any]) -> dict[str, Any]:
    """A difference whose values fit on a screen."""
    return {name: _short(value) if name in ("before", "after") else value for name, value in row.items()}


def _short(value: Any) -> Any:
    return excerpt(value, VALUE_CHARACTERS_MAX)[0]


# --- words -----------------------------------------------------------------------------------------------------------

SENTENCES = {
    ("task", "kind"): "is of another kind",
    ("task", "output"): "gave another output",
    ("task", "error"): "failed for another reason",
    ("task", "rule"): "was judged by another rule",
    ("task", "do"): "led to another directive",
    ("task", "to"): "led on to another task",
    ("task", "writes"): "wrote other values",
    ("arcs", "arcs"): "took other arcs to the same steps",
    ("arcs", "fired"): "took other arcs, or sent other args",
    ("arcs", "writes"): "wrote other values on its way out",
    ("arcs", "error"): "has a guard that ended otherwise",
    ("end", "status"): "ended otherwise",
    ("end", "error"): "failed for another reason",
    ("end", "output"): "came to another output",
    ("end", "writes"): "wrote other values at its end",
}
WORDS = {
    "admission": "was admitted otherwise",
    "loop": "ran over another collection",
    "child": "called its child otherwise",
}


def sentence(first: Divergence) -> str:
    """`step "load", iteration 3, task "put" gave another output`"""
    mine, yours = first.facts
    where = f'step "{first.step}"'
    if first.iteration:
        where += f", iteration {'.'.join(map(str, first.iteration))}"
    if first.what == "run":
        return f"{where} ran in the {'first' if mine else 'second'} only"
    if mine is None or yours is None or not first.field:
        return f"{where} {_parted(mine, yours)}"
    if mine.task:
        where += f', task "{mine.task}"'
        where += f" (attempt {mine.attempt})" if mine.attempt > 1 else ""
    said = SENTENCES.get((first.what, first.field)) or WORDS.get(first.what, "differs")
    return f"{where} {said}"


def _parted(mine: Fact | None, yours: Fact | None) -> str:
    """One went on with this, the other with that."""
    if mine is None or yours is None:
        return f"went on to {_name(mine or yours)} in the {'first' if mine else 'second'} only"
    return f"went on to {_name(mine)} in the first, to {_name(yours)} in the second"


def _name(fact: Fact | None) -> str:
    if fact is None or not fact.task:
        return f"its {fact.what if fact else 'end'}"
    attempt = f" (attempt {fact.attempt})" if fact.attempt > 1 else ""
    return f'task "{fact.task}"{attempt}'
