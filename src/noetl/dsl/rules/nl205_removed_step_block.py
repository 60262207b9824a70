"""A step has a block that older versions of the language had: `case`, `retry`, `sink`, `vars` or `eval`.

What they did has one place each now. Branches between steps are arcs; what happens after a task (retry, jump, stop) is
said by its rules; storing is a task like any other; values are kept with `set`.

Wrong:

    - step: fetch
      tool: { kind: http, url: https://example.com/items }
      retry: { attempts: 5 }

Right:

    - step: fetch
      tool:
        kind: http
        url: https://example.com/items
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' }}"
                then: { do: retry, attempts: 5 }
              - else:
                  then: { do: continue }

Spec: PB-09, RS-05.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, Sequence
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import shown
from noetl.dsl.rules.misplaced import REMOVED, misplaced

RULE = contract.Rule(code="NL205", name="removed-step-block", spec=("PB-09", "RS-05"))

ERROR = """ "{{ output.status == 'error' }}" """.strip()
WHY = {
    "case": "branches between steps are arcs; what follows a task is said by the rules of that task",
    "retry": "a retry is a rule of the task that is tried again",
    "sink": "storing is a task like any other: it writes, and returns a reference",
    "vars": "values are kept with set: ctx lasts for the execution, step for this step run",
    "eval": "what happens after a task is said by its rules, under spec.policy",
}


def check(draft: Draft) -> Iterator[Finding]:
    for one in misplaced(draft, REMOVED):
        yield RULE.at(
            one.entry.key.place,
            f'{one.owner} has a block "{one.key}", which the language no longer has',
            why=WHY[one.key],
            fix=FIXES[one.key](one.entry.value),
        )


def of_case(value: AnyNode) -> str:
    first = value.items[0] if isinstance(value, Sequence) and value.items else value
    when = shown(first.get("when"), '"{{ … }}"') if isinstance(first, Mapping) else '"{{ … }}"'
    return f"write next: {{ arcs: [{{ step: …, when: {when} }}, …] }}"


def of_retry(value: AnyNode) -> str:
    keys = ("attempts", "max_attempts", "count")
    number = next((found for key in keys if isinstance(value, Mapping) and (found := value.get(key))), value)
    is_number = isinstance(number, Scalar) and isinstance(number.value, int) and not isinstance(number.value, bool)
    attempts = number.text if is_number and isinstance(number, Scalar) else "3"
    rule = f"{{ when: {ERROR}, then: {{ do: retry, attempts: {attempts} }} }}"
    return f"write on the task: spec: {{ policy: {{ rules: [{rule}, …] }} }}"


def of_sink(value: AnyNode) -> str:
    tool = value.get("tool") if isinstance(value, Mapping) else None
    kind = (tool if isinstance(tool, Mapping) else value).text("kind") if isinstance(value, Mapping) else None
    return f"make it the last task of tool: - {{ name: store, kind: {kind or 'postgres'}, … }}"


def of_vars(value: AnyNode) -> str:
    name = next(iter(value.entries), "<name>") if isinstance(value, Mapping) else "<name>"
    inner = shown(value.get(name), "…") if isinstance(value, Mapping) else "…"
    return f"write set: {{ ctx.{name}: {inner} }}"


def of_eval(value: AnyNode) -> str:
    first = value.items[0] if isinstance(value, Sequence) and value.items else value
    when = shown(first.get("expr") or first.get("when"), ERROR) if isinstance(first, Mapping) else ERROR
    do = shown(first.get("do"), "…") if isinstance(first, Mapping) else "…"
    return f"write on the task: spec: {{ policy: {{ rules: [{{ when: {when}, then: {{ do: {do} }} }}, …] }} }}"


FIXES = {"case": of_case, "retry": of_retry, "sink": of_sink, "vars": of_vars, "eval": of_eval}
