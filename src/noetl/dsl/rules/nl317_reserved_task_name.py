"""A task has a name that templates already use for something else.

A finished task is read by its label, as in {{ fetch.data }}. Names of scopes (`ctx`, `iter`, `output`, …) come first,
so a task with such a name could never be read; words of the template language cannot be read at all.

Wrong:

    tool:
      - name: output
        kind: noop

Right:

    tool:
      - name: report
        kind: noop

Spec: TP-06.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import is_generated, label_place, said
from noetl.dsl.rules.reserved_words import LANGUAGE, reason

RULE = contract.Rule(code="NL317", name="reserved-task-name", spec=("TP-06",))


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        why = reason(task.label) if is_written(draft, task) else ""
        if why:
            shown = "" if task.label in LANGUAGE else f", so {{{{ {task.label}.data }}}} would not read this task"
            yield RULE.at(
                label_place(draft, task),
                f"{said(task)} has a reserved name",
                why=f"{why}{shown}",
                fix=f"give it another name, for example {task.label.strip('_')}_task",
            )


def is_written(draft: Draft, task: Task) -> bool:
    return task.step is None or (task.name is not None and not is_generated(draft, task))
