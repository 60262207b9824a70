"""A task gives its tool two fields of which it can use only one.

Some fields say the same thing in different ways: `json`, `form` and `body` are all the body of a request. And a field
may stand on the task or under `input`, but not in both places: nothing says which one would count.

Wrong:

    tool:
      kind: http
      url: https://example.com/items
      method: POST
      json: { name: a }
      body: name=a

Right:

    tool:
      kind: http
      url: https://example.com/items
      method: POST
      json: { name: a }

Spec: TL-03, TK-11.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import Finding
from noetl.dsl.kinds import Kind
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import said, with_kind

RULE = contract.Rule(code="NL307", name="tool-fields-exclude-each-other", spec=("TL-03", "TK-11"))


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        kind = draft.kind_of(task)
        if kind:
            yield from rivals(task, kind)
            yield from doubles(task, kind)


def rivals(task: Task, kind: Kind) -> Iterator[Finding]:
    given = task.fields
    for group in kind.at_most_one_of:
        names = [name for name in given if name in group]
        for name in names[1:]:
            yield RULE.at(
                given[name].key.place,
                f'{with_kind(task)} has both "{names[0]}" and "{name}"',
                why=f"of {', '.join(group)} at most one is used",
                fix=f'keep one of the two; "{names[0]}" stands at line {given[names[0]].key.line}',
            )


def doubles(task: Task, kind: Kind) -> Iterator[Finding]:
    for name, entry in task.direct.items():
        if name in task.input and kind.field(name):
            yield RULE.at(
                task.input[name].key.place,
                f'"{name}" of {said(task)} stands under input and on the task itself',
                why=f"both are the tool's field {name}, and one of them would be lost",
                fix=f"remove one of them; the other is at line {entry.key.line}",
            )
