"""No way leads to a task of a pipeline.

Tasks run one after the other unless a rule jumps, breaks or fails. When every rule of the task before leaves, and no
jump names this one, it can never run.

Wrong:

    tool:
      - name: fetch
        kind: http
        url: https://example.com/items
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' }}"
                then: { do: fail }
              - else:
                  then: { do: break }
      - name: store
        kind: noop

Right:

              - else:
                  then: { do: continue }
      - name: store
        kind: noop

Spec: TK-07, TK-09.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding, listed
from noetl.dsl.flow import Flow, flows, possible_rules
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import is_generated, label_place, owner, said

RULE = contract.Rule(code="NL321", name="unreachable-task", spec=("TK-07", "TK-09"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for flow in flows(draft):
        for index in runs(draft, flow):
            yield finding(draft, flow, index)


def runs(draft: Draft, flow: Flow) -> Iterator[int]:
    """The first of each run of tasks that nothing leads to; what only sugar made does not count."""
    is_running = False
    for index, task in enumerate(flow.tasks):
        is_cut_off = index not in flow.reached
        if is_cut_off and not is_running and not is_generated(draft, task):
            yield index
        is_running = is_cut_off and (is_running or not is_generated(draft, task))


def finding(draft: Draft, flow: Flow, index: int) -> Finding:
    task = flow.tasks[index]
    return RULE.at(
        label_place(draft, task),
        f"{said(task)} can never run",
        why=f"no jump in {owner(task)} names it, and {leaving(draft, flow, index)}",
        fix="let a rule before it continue, jump to it, or remove it",
    )


def leaving(draft: Draft, flow: Flow, index: int) -> str:
    """How the task before leaves."""
    before = flow.tasks[index - 1]
    deeds = dict.fromkeys(rule.do for rule, _ in possible_rules(draft, before))
    if index - 1 not in flow.reached:
        return f'"{before.label}" before it cannot run either'
    return f'"{before.label}" before it always leaves: {listed(deeds)}'
