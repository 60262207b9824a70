"""`executor.spec.output` names a step that the workflow does not have.

The output of an execution is that of the step that `output` names; without it, that of the last step that ended a
branch.

Wrong:

    executor:
      spec: { output: sumary }
    workflow:
      - step: summary
        tool: { kind: noop }

Right:

    executor:
      spec: { output: summary }

Spec: RT-13.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, did_you_mean, listed
from noetl.dsl.nodes import shorten
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL129", name="unknown-output-step", spec=("RT-13",))


def check(draft: Draft) -> Iterator[Finding]:
    wanted = draft.executor_spec.scalar("output") if draft.executor_spec else None
    names = draft.step_names
    if wanted and isinstance(wanted.value, str) and names and wanted.value not in names:
        yield RULE.at(
            wanted.place,
            f'executor.spec.output is "{shorten(wanted.text)}", but the workflow has no such step',
            why=f"steps: {listed(names)}",
            fix=did_you_mean(wanted.text, names, "name one of its steps, or delete output to take the last one's"),
        )
