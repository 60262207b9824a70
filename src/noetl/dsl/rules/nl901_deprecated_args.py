"""`args` is the old name of `input`.

What a step or a task is given is called `input`, on the key and in templates alike; what it gives is `output`. `args`
still works and means the same; beside `input` it adds to it, and a name that stands in both is an error. The `args` of
an arc are another matter: see deprecated-arc-args.

Wrong:

    - step: fetch
      args:
        page: 1
      tool:
        kind: http
        url: "https://api.example.com/items?page={{ args.page }}"

Right:

    - step: fetch
      input:
        page: 1
      tool:
        kind: http
        url: "https://api.example.com/items?page={{ input.page }}"

Spec: DI-02, DI-04.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import ERROR, WARNING, Finding, listed
from noetl.dsl.nodes import Mapping, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.marks import marked, respelt
from noetl.dsl.rules.misplaced import ARGS, Misplaced, misplaced

RULE = contract.Rule(code="NL901", name="deprecated-args", spec=("DI-02", "DI-04"), severity=WARNING, also=(ERROR,))

WHY = "what a boundary is given is called input, what it gives output"


def check(draft: Draft) -> Iterator[Finding]:
    for mark in marked(draft, "args"):
        if "old" in mark.facts:
            yield respelt(RULE, mark, WHY)
        else:
            fix = 'move its values to the "input" beside it' if "beside" in mark.facts else 'write "input:"'
            yield RULE.at(mark.place, '"args" is now "input"', why=WHY, fix=fix, edits=mark.edits)
    for one in misplaced(draft, ARGS):
        yield not_joined(one)


def not_joined(one: Misplaced) -> Finding:
    """`args` and `input` that cannot be one mapping."""
    parts = [one.entry.value, one.parent.entries["input"].value]
    names = [list(part.entries) if isinstance(part, Mapping) else [] for part in parts]
    both = [f'"{name}"' for name in names[0] if name in names[1]]
    odd = next((part for part in parts if not isinstance(part, Mapping)), None)
    if odd is None:
        said = f"and both give {listed(both, 3)}"
        fix = f"keep one value of {listed(both, 3)}, and write all of them under input"
    else:
        said, fix = f"and one of them is {describe(odd)}", "write one mapping of names to values, under input"
    return RULE.at(
        one.entry.key.place,
        f"{one.owner} has args and input, {said}",
        why="args is the old name of input, so the two are one mapping",
        fix=fix,
        severity=ERROR,
    )
