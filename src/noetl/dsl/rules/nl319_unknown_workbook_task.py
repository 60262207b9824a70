"""A task calls a workbook task that does not exist.

`kind: workbook` calls one of the tasks that the playbook keeps under `workbook`, by its name. The name is written out,
so that it can be checked before the run.

Wrong:

    workbook:
      notify:
        kind: http
        url: https://example.com/notify
    workflow:
      - step: start
        tool:
          kind: workbook
          task: notfy

Right:

    workflow:
      - step: start
        tool:
          kind: workbook
          task: notify

Spec: PB-06.
"""

from collections.abc import Iterator

from noetl.dsl.departures import is_template
from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import Finding, did_you_mean, listed
from noetl.dsl.nodes import Scalar
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import said

RULE = contract.Rule(code="NL319", name="unknown-workbook-task", spec=("PB-06",))


def check(draft: Draft) -> Iterator[Finding]:
    workbook = draft.root.mapping("workbook")
    known = list(workbook.entries) if workbook else []
    for task in draft.tasks:
        called = task.called
        if called and called.text not in (workbook.entries if workbook else {}):
            yield finding(task, called, known)


def finding(task: Task, called: Scalar, known: list[str]) -> Finding:
    has = f"the workbook has {listed(known)}" if known else "this playbook has no workbook"
    if is_template(called):
        return RULE.at(
            called.place,
            f"{said(task)} takes the name of the workbook task from a template",
            why=f"the name is written out, so that it can be checked before the run; {has}",
            fix="write the task's name",
        )
    return RULE.at(
        called.place,
        f'{said(task)} calls "{called.text}", but the workbook has no such task',
        why=has,
        fix=did_you_mean(called.text, known, f"add it: workbook: {{ {called.text}: {{ kind: … }} }}"),
    )
