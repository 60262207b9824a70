"""A directive (`do`) stands where nothing obeys it.

`continue`, `retry`, `jump`, `break`, `fail` and `skip` move the program counter of a pipeline, so they have a meaning
only in the rules of a task: `spec.policy.rules[].then.do`. Admission answers with `allow`; arcs choose the next step;
the policies of step, loop, next and executor have no control flow.

Wrong:

    spec:
      policy:
        rules:
          - when: "{{ output.status == 'error' }}"
            do: retry
            attempts: 5

Right:

    spec:
      policy:
        rules:
          - when: "{{ output.status == 'error' }}"
            then: { do: retry, attempts: 5 }

Spec: ST-08, TK-05.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import Scalar, shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import pair_text, shown
from noetl.dsl.rules.misplaced import DIRECTIVE, Misplaced, misplaced
from noetl.dsl.shapes import SHAPES

RULE = contract.Rule(code="NL209", name="directive-outside-task-policy", spec=("ST-08", "TK-05"))

WHY = "directives move through a pipeline, so they stand in the then of a task's rules only"


def check(draft: Draft) -> Iterator[Finding]:
    for one in misplaced(draft, DIRECTIVE):
        yield RULE.at(one.entry.key.place, message(one), why=WHY, fix=fix(one))


PLACES = {
    "policy": "the policy of ",
    "spec": "the spec of ",
    "arc": "an arc of ",
    "loop": "the loop of ",
    "admission": "the admission of ",
}


def message(one: Misplaced) -> str:
    directive = f"do: {shorten(one.entry.value.text, 20)}" if isinstance(one.entry.value, Scalar) else "do"
    if one.where == "rule":
        return f'"{directive}" stands in a rule of {one.owner}, but not in its then'
    return f'"{directive}" in {PLACES.get(one.where, "")}{one.owner} has no effect'


def fix(one: Misplaced) -> str:
    if one.where == "rule":
        return f"write then: {{ {details(one)} }}"
    if one.where == "admission":
        return "write then: { allow: true } or then: { allow: false }"
    if one.where == "task":
        return f"write spec: {{ policy: {{ rules: [{{ else: {{ then: {{ {details(one)} }} }} }}] }} }}"
    if one.where == "arc":
        return "delete it: the arc itself says where to go"
    return f"move it into a task: spec.policy.rules: [{{ when: …, then: {{ do: {shown(one.entry.value, '…')} }} }}]"


def details(one: Misplaced) -> str:
    """The directive and what belongs to it, as the author spelt them."""
    entries = [entry for key, entry in one.parent.entries.items() if key in SHAPES["then"].keys]
    return ", ".join(pair_text(entry) or f"{entry.key.text}: …" for entry in entries)
