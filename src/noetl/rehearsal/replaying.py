"""Would an edit have changed past executions, and where first? Each is rehearsed with the new text and its recorded
answers, and compared with what happened then.

The text of then is rehearsed too: it shows whether the execution can be told from its answers at all (a cancel, a
signal, a time may have decided it), and what its calls were given, which no log has.

    same         nothing would have been another
    changed      the first place in which it would have been
    unknown      from one place on it cannot be told: a call that was not made then, or one with another input, for
                 which what was recorded is no answer; or an execution that its answers alone do not explain
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.control.catalog import Loaded
from noetl.control.diffing import first_row, sentence
from noetl.control.requests import RunRequest
from noetl.dsl.nodes import plain
from noetl.dsl.read import read
from noetl.engine.events import Event, TaskStarted
from noetl.ids import iteration_id
from noetl.projections.differences import differences
from noetl.projections.divergence import Divergence, compared, first_among
from noetl.projections.stories import Story
from noetl.rehearsal.asking import Asked, Whereabouts
from noetl.rehearsal.past import REAL, Past, Place, place_of
from noetl.rehearsal.stage import Called, Rehearsed, Stage, Wanted
from noetl.rehearsal.unanswered import place_of_task
from noetl.stores.contract import LIVE

SAME, CHANGED, UNKNOWN = "same", "changed", "unknown"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one past execution."""

    execution_id: str
    path: str
    version: int
    verdict: str
    sentence: str = ""
    line: int | None = None  # in the new text
    first: dict[str, Any] | None = None  # as in `noetl diff`: before is what was, after what would be
    call: dict[str, Any] | None = None  # of unknown: which call, and what of its input changed


def judged(stage: Stage, past: Past, edited: RunRequest) -> Verdict:
    """Rehearse one past execution with an edited text. Raises InvalidPlaybook."""
    begun_at = past.events[0].ts
    own = RunRequest(
        data=past.text.data,
        name=past.text.name,
        is_legacy=past.text.is_legacy,
        is_upstream=past.text.is_upstream,
        payload=past.payload,
    )
    new = stage.rehearse(_wanted(past, msgspec.structs.replace(edited, payload=past.payload), begun_at))
    old = stage.rehearse(_wanted(past, own, begun_at))
    happened = story_of(past.events)
    unexplained = first_between(happened, story_of(old.events[old.execution_id]))
    if unexplained is not None or old.unanswered is not None:
        why = _unexplained(past, unexplained, old)
        return _verdict(past, UNKNOWN, f"its recorded answers alone do not explain it: {why}")
    return _told(past, happened, old, new)


def _unexplained(past: Past, first: Divergence | None, old: Rehearsed) -> str:
    """Where the text of then parts from what happened: at a call under way when the log ended, or elsewhere."""
    if first is not None and not _is_cut_off(first, old):
        return sentence(first).replace("in the first", "then").replace("in the second", "in its rehearsal")
    assert old.unanswered is not None  # noqa: S101 - else nothing cuts it off
    status = past.row.status
    end = "has not ended" if status in LIVE else f"ended as {status}"
    return f"{_who(old.unanswered)} has no answer in its log, which {end}"


def _wanted(past: Past, request: RunRequest, begun_at: float) -> Wanted:
    return Wanted(request=request, answers=past.answers, real=REAL, begun_at=begun_at)


def _told(past: Past, happened: Story, old: Rehearsed, new: Rehearsed) -> Verdict:
    log = new.events[new.execution_id]
    first = first_between(happened, story_of(log))
    changed = _changed_call(old, new)
    call_at = _seq_of(log, changed[0]) if changed else None
    is_after_call = first is not None and call_at is not None and call_at <= _seq(first)
    if first is not None and not is_after_call and not _is_cut_off(first, new):
        return _changed(past, first, old.loaded, new.loaded)
    if changed is not None:
        return _other_input(past, new, *changed) if changed[1] else _new_call(past, new, changed[0])
    if new.unanswered is not None:
        return _new_call(past, new, new.unanswered)
    if new.stopped:
        return _verdict(past, UNKNOWN, f"its rehearsal was stopped: {new.stopped}")
    return _verdict(past, SAME)


def _is_cut_off(first: Divergence, new: Rehearsed) -> bool:
    """Whether all that differs is that the rehearsal ended at a call that nobody answers."""
    mine, yours = first.facts
    if new.unanswered is None or yours is not None:
        return False
    return first.what == "run" or mine is not None


def _seq(first: Divergence) -> float:
    fact = first.facts[1]
    return float("inf") if fact is None else fact.seq


def _seq_of(log: list[Event], asked: Asked) -> int | None:
    """Where in a log a call was made."""
    where, wanted = Whereabouts(), place_of(asked)
    for seq, event in enumerate(log, 1):
        where.committed(asked.execution_id, seq, [event])
        if isinstance(event, TaskStarted) and event.task == asked.task and place_in(where, asked, event) == wanted:
            return seq
    return None


def place_in(where: Whereabouts, asked: Asked, event: TaskStarted) -> Place:
    key = f"{iteration_id(asked.execution_id, event.run, event.iter)}:{event.task}:{event.visit}.0"
    return place_of(where.asked(key, event.kind, event.task, event.attempt, {}))


def _changed_call(old: Rehearsed, new: Rehearsed) -> tuple[Asked, list[dict[str, Any]]] | None:
    """The first call that was made then with another input, or passed over (no differences); of kinds that run for
    real the output tells."""
    inputs = {place_of(called.asked): called.asked for called in own_calls(old)}
    before, after = workbook_of(old.loaded), workbook_of(new.loaded)
    for called in own_calls(new):
        asked = called.asked
        if asked.kind in REAL:
            continue
        then = inputs.get(place_of(asked))
        if then is None:
            return asked, []
        rows = differences({"kind": then.kind, **then.input}, {"kind": asked.kind, **asked.input})
        rows = rows or differences(text_of(then, before), text_of(asked, after))
        if rows:
            return asked, rows
    return None


def own_calls(rehearsed: Rehearsed) -> list[Called]:
    return [called for called in rehearsed.calls if not called.asked.playbook]


def workbook_of(loaded: Loaded) -> dict[str, Any]:
    """The workbook as its author wrote it."""
    for document in read(loaded.text.data, loaded.text.name).documents:
        data = plain(document)
        if isinstance(data, dict) and isinstance(data.get("workbook"), dict):
            return dict(data["workbook"])
    return {}


def text_of(asked: Asked, workbook: dict[str, Any]) -> dict[str, Any]:
    """The task of the workbook that is called: what its own attempts gave, and its rules decided, is in no log."""
    return {"workbook": {asked.called: workbook.get(asked.called)}} if asked.called else {}


def first_between(before: Story, after: Story) -> Divergence | None:
    return first_among(compared(before, after))


def story_of(events: list[Event]) -> Story:
    story = Story()
    for seq, event in enumerate(events, 1):
        story.apply(seq, event)
    return story


# --- verdicts --------------------------------------------------------------------------------------------------------


def _verdict(past: Past, verdict: str, words: str = "", **more: Any) -> Verdict:
    row = past.row
    return Verdict(
        execution_id=str(row.id), path=row.path, version=row.version, verdict=verdict, sentence=words, **more
    )


def _changed(past: Past, first: Divergence, old: Loaded, new: Loaded) -> Verdict:
    row = first_row(first, (old.playbook, new.playbook))
    words = row["sentence"].replace("in the first", "then").replace("in the second", "with the edit")
    return _verdict(past, CHANGED, words, line=row["lines"][1] or _step_line(new, first.step), first=row)


def _step_line(loaded: Loaded, step: str) -> int | None:
    found = loaded.playbook.steps.get(step)
    return found.place.line if found else None


def _other_input(past: Past, new: Rehearsed, asked: Asked, rows: list[dict[str, Any]]) -> Verdict:
    named = ", ".join(str(row["path"]) for row in rows[:3])
    words = f"{_who(asked)} would be given another {named}, so what it answered then is no answer"
    return _verdict(past, UNKNOWN, words, line=_line(asked, new), call=_call(asked, rows))


def _new_call(past: Past, new: Rehearsed, asked: Asked) -> Verdict:
    words = f"{_who(asked)} would make a call ({asked.kind}) that was not made then"
    return _verdict(past, UNKNOWN, words, line=_line(asked, new), call=_call(asked, []))


def _who(asked: Asked) -> str:
    iteration = f", iteration {asked.iteration}" if asked.iteration else ""
    return f'step "{asked.step}"{iteration}, task "{asked.task}"'


def _line(asked: Asked, new: Rehearsed) -> int | None:
    line = getattr(place_of_task(asked, new), "line", None)
    return int(line) if line else None


def _call(asked: Asked, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "step": asked.step,
        "iteration": asked.iteration or None,
        "task": asked.task,
        "visit": asked.visit,
        "attempt": asked.attempt,
        "kind": asked.kind,
        "differences": rows,
    }
