"""A task has a name that templates already use for something else.

A finished task is read by its label, as in {{ fetch.data }}. Names of scopes (`ctx`, `iter`, `output`, …) come first,
so a task with such a name could never be read. A task may be named like a word or a function of templates (`not`,
`loop`, `range`), but a template that reads it bare fails or is misread: that is told as an information.

Wrong:

    tool:
      - name: output
        kind: noop

Right:

    tool:
      - name: report
        kind: noop

Spec: TP-06, TP-02.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import INFO, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import is_generated, label_place, said
from noetl.dsl.rules.reserved_words import SCOPES, misleading, reason

RULE = contract.Rule(code="NL317", name="reserved-task-name", spec=("TP-06", "TP-02"), also=(INFO,))


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        if not is_written(draft, task):
            continue
        if task.label in SCOPES:
            yield named_like_a_scope(draft, task)
        elif why := misleading(task.label):
            yield named_like_a_word(draft, task, why)


def named_like_a_scope(draft: Draft, task: Task) -> Finding:
    return RULE.at(
        label_place(draft, task),
        f"{said(task)} has a reserved name",
        why=f"{reason(task.label)}, so {{{{ {task.label}.data }}}} would not read this task",
        fix=f"give it another name, for example {task.label.strip('_')}_task",
    )


def named_like_a_word(draft: Draft, task: Task, why: str) -> Finding:
    return RULE.at(
        label_place(draft, task),
        f"{said(task)} is named like something else in templates",
        why=why,
        fix=f"call it {task.label.lower()}_task, or by what it does, if a template shall read it",
        severity=INFO,
    )


def is_written(draft: Draft, task: Task) -> bool:
    return task.step is None or (task.name is not None and not is_generated(draft, task))
