"""`args` is the old name of `input`.

What a step or a task is given is called `input`, on the key and in templates alike; what it gives is `output`. `args`
still works and means the same. The `args` of an arc are another matter: see deprecated-arc-args.

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
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.marks import marked, respelt

RULE = contract.Rule(code="NL901", name="deprecated-args", spec=("DI-02", "DI-04"), severity=WARNING)

WHY = "what a boundary is given is called input, what it gives output"


def check(draft: Draft) -> Iterator[Finding]:
    for mark in marked(draft, "args"):
        if "old" in mark.facts:
            yield respelt(RULE, mark, WHY)
        else:
            yield RULE.at(mark.place, '"args" is now "input"', why=WHY, fix='write "input:"', edits=mark.edits)
