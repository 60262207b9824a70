"""A task has an eval block, which the rules of its policy have replaced.

Older playbooks said under `eval` what happens after a task, with `expr` for the condition. The same is now said by
`spec.policy.rules`: `when` is the condition and `then` holds the directive with its details. `noetl migrate --from
legacy` rewrites a whole playbook; `--legacy` runs it as it is.

Wrong:

    - name: fetch
      kind: http
      url: https://example.com/items
      eval:
        - expr: "{{ outcome.status == 'error' }}"
          do: retry
          attempts: 3
        - else:
            do: continue

Right:

    - name: fetch
      kind: http
      url: https://example.com/items
      spec:
        policy:
          rules:
            - when: "{{ output.status == 'error' }}"
              then: { do: retry, attempts: 3 }
            - else:
                then: { do: continue }

Spec: PB-09, PB-10.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, Sequence, shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import quoted, shown
from noetl.dsl.rules.pipelines import said

RULE = contract.Rule(code="NL315", name="eval-block", spec=("PB-09", "PB-10"))

WIDTH = 120
EMPTY = '{ when: "{{ … }}", then: { do: … } }'
CONDITIONS = ("expr", "when", "if", "condition")


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        entry = task.direct.get("eval")
        kind = draft.kind_of(task)
        if entry and not (kind and kind.field("eval")):
            yield RULE.at(
                entry.key.place,
                f"{said(task)} has an eval block",
                why="what happens after a task is said by its policy; --legacy runs eval as it is",
                fix=f"write {modern(entry.value)}, or run noetl migrate",
            )


def modern(node: AnyNode) -> str:
    """The policy that the first entries stand for, on one line."""
    items = node.items if isinstance(node, Sequence) else []
    rules = [rule_of(item) for item in items if isinstance(item, Mapping)] or [EMPTY]
    count = 1
    while count < len(rules) and len(", ".join(rules[: count + 1])) <= WIDTH:
        count += 1
    more = ", …" if len(rules) > count else ""
    return f"spec: {{ policy: {{ rules: [{', '.join(rules[:count])}{more}] }} }}"


def rule_of(item: Mapping) -> str:
    otherwise = item.mapping("else")
    if otherwise:
        return f"{{ else: {{ then: {then_of(otherwise)} }} }}"
    condition = next((node for key in CONDITIONS if isinstance(node := item.get(key), Scalar)), None)
    when = shorten(condition.text.replace("outcome.", "output."), WIDTH) if condition else "{{ … }}"
    return f"{{ when: {quoted(when)}, then: {then_of(item)} }}"


def then_of(item: Mapping) -> str:
    """What an entry does, in today's words: every set_… is a set."""
    words: dict[str, str] = {}
    for key, entry in item.entries.items():
        if key.startswith("set"):
            words["set"] = "{ … }"
        elif key not in CONDITIONS:
            words[key] = value_of(entry.value)
    return f"{{ {', '.join(f'{key}: {word}' for key, word in words.items())} }}" if words else "{ do: … }"


def value_of(node: AnyNode) -> str:
    text = shown(node, "…") if isinstance(node, Scalar) else "…"
    return "none" if text == "fixed" else text
