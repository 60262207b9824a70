"""`outcome.result` is the old name of `output.data`.

The payload of an output is `output.data`, and it is the payload itself: for an HTTP task the parsed body. The old
`outcome.result` of an HTTP task was the body under `data` beside `status_code`, `headers` and `url`; those are now
`output.data`, `output.http.status`, `output.http.headers` and `output.http.url`.

Wrong:

    set:
      ctx.orders: "{{ outcome.result.data.orders }}"

Right:

    set:
      ctx.orders: "{{ output.data.orders }}"

Spec: DI-02, DI-04, TK-04.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.marks import marked, respelt

RULE = contract.Rule(code="NL903", name="deprecated-result", spec=("DI-02", "DI-04", "TK-04"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for mark in marked(draft, "outcome-result"):
        yield respelt(RULE, mark, "output.data is the only name of the payload")
