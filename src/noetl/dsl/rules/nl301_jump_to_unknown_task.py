"""A rule jumps to a task that its pipeline does not have.

A jump moves the program counter inside the pipeline it stands in: a step's tasks, one workbook task, or a
compensation. It cannot reach a task of another step; only the router starts steps.

Wrong:

    tool:
      - name: fetch_page
        kind: http
        url: https://example.com/items
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' }}"
                then: { do: fail }
              - else:
                  then: { do: jump, to: fetch }

Right:

              - else:
                  then: { do: jump, to: fetch_page }

Spec: TK-09.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import Finding, did_you_mean, listed
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import owner, pipelines

RULE = contract.Rule(code="NL301", name="jump-to-unknown-task", spec=("TK-09",))


def check(draft: Draft) -> Iterator[Finding]:
    for pipeline in pipelines(draft):
        labels = dict.fromkeys(task.label for task in pipeline)
        for task in pipeline:
            yield from lost_jumps(task, labels)


def lost_jumps(task: Task, labels: dict[str, None]) -> Iterator[Finding]:
    for rule in task.rules:
        target = rule.then.scalar("to") if rule.then and rule.do == "jump" else None
        if target and target.text and target.text not in labels:
            yield RULE.at(
                target.place,
                f'"{task.label}" jumps to "{target.text}", but {owner(task)} has no such task',
                why=f"a jump stays inside its own pipeline: {listed(labels)}",
                fix=did_you_mean(target.text, labels, f"name one of: {listed(labels)}"),
            )
