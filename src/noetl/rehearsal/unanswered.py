"""A call that nobody answers, in words: which task, where it stands, and the ways out."""

from __future__ import annotations

from noetl.dsl.source import Place
from noetl.rehearsal.asking import Asked
from noetl.rehearsal.stage import Rehearsed

RECORD = "or record answers: noetl run … --record FILE"


def unanswered_words(asked: Asked, rehearsed: Rehearsed) -> str:
    """What was asked in vain, and below it what to do."""
    return f"{_what(asked, rehearsed)}\n   fix: {_fix(asked)}"


def _what(asked: Asked, rehearsed: Rehearsed) -> str:
    of = f' of the called playbook "{asked.playbook}"' if asked.playbook else ""
    where = f", iteration {asked.iteration}" if asked.iteration else ""
    who = f'task "{asked.task}" of step "{asked.step}"{of}{where} ({place_of_task(asked, rehearsed)})'
    if asked.kind == "playbook":
        return f'{who} calls the playbook "{asked.input.get("path")}", which is no file beside it'
    return f"{who} has no answer, and kind: {asked.kind} does not run in this test"


def _fix(asked: Asked) -> str:
    answer = f"{asked.name}: {{ data: … }}"
    under = f"children: {{ {asked.playbook}: {{ {answer} }} }}" if asked.playbook else f"tools: {{ {answer} }}"
    other = "put the file there" if asked.kind == "playbook" else f"let the kind run, with real: [{asked.kind}, …]"
    return f"answer it, under {under}; {other}; {RECORD}"


def place_of_task(asked: Asked, rehearsed: Rehearsed) -> Place | str:
    loaded = rehearsed.playbooks.get(asked.execution_id, rehearsed.loaded)
    step = loaded.playbook.steps.get(asked.step)
    tasks = (*step.tasks, *step.compensation) if step else ()
    return next((task.place for task in tasks if task.label == asked.task), step.place if step else "")
