"""A template that the server evaluates holds a statement.

Admission rules, arcs, `loop.in`, keychain entries and the set of a step with a loop are evaluated on the server, for
every execution it cares for. There a template is one expression, whose cost is bounded by what it is; `{% for %}` and
its like belong in tasks, which run on workers under limits of their own.

Wrong:

    next:
      arcs:
        - step: alarm
          when: "{% if ctx.failed > 3 %}true{% else %}false{% endif %}"

Right:

    next:
      arcs:
        - step: alarm
          when: "{{ ctx.failed > 3 }}"

Spec: TP-05.
"""

import re
from collections.abc import Iterator

from noetl.dsl.draft import Draft, Site
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract
from noetl.dsl.scopes import SITES, is_on_server

RULE = contract.Rule(code="NL612", name="statement-in-server-template", spec=("TP-05",))

STATEMENT = re.compile(r"\{%[-+]?\s*(?!raw\b)(\w+).*?%\}", re.S)
INSTEAD = {
    "if": "write {{ a if condition else b }}",
    "for": "use filters (map, select, sum, join), or do it in a task",
    "set": "write the value where it is used, or keep it with set: step.<name> in a task",
}


def check(draft: Draft) -> Iterator[Finding]:
    for text in draft.texts:
        if text.template and text.template.has_statements and is_on_server(text):
            match = STATEMENT.search(text.node.text)
            start, end = match.span() if match else (0, len(text.node.text))
            word = match.group(1) if match else "…"
            called = "the set of a step with a loop" if text.site == Site.STEP_SET else SITES[text.site].called
            yield RULE.at(
                text.place_of(start, end),
                f"{{% {word} %}} cannot be used in {called}",
                why="the server evaluates it, and evaluates single expressions only",
                fix=INSTEAD.get(word, "write one {{ expression }}, or do it in a task"),
            )
