"""`executor.spec.entry_step` names a step that the workflow does not have.

An execution begins at the step that `entry_step` names; without it at the step called `start`, else at the first of
the list.

Wrong:

    executor:
      spec: { entry_step: begin }
    workflow:
      - step: start
        tool: { kind: noop }

Right:

    executor:
      spec: { entry_step: start }

Spec: RT-06.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, did_you_mean, listed
from noetl.dsl.nodes import shorten
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL128", name="unknown-entry-step", spec=("RT-06",))


def check(draft: Draft) -> Iterator[Finding]:
    wanted = draft.executor_spec.scalar("entry_step") if draft.executor_spec else None
    names = draft.step_names
    if wanted and isinstance(wanted.value, str) and names and wanted.value not in names:
        yield RULE.at(
            wanted.place,
            f'entry_step is "{shorten(wanted.text)}", but the workflow has no such step',
            why=f"steps: {listed(names)}",
            fix=did_you_mean(wanted.text, names, "name one of its steps, or delete entry_step to begin at the first"),
        )
