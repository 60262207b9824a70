"""A spelling that is understood only with `--compat upstream`.

Playbooks written for the public NoETL implementations use words that the documents do not grant. With
`--compat upstream`, or `executor.spec.compat: upstream`, they run unchanged; `noetl migrate --from upstream` writes the
words that are always understood.

Wrong:

    kind: http
    endpoint: https://api.example.com/items

Right:

    kind: http
    url: https://api.example.com/items

Spec: UP-04.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.marks import translated

RULE = contract.Rule(code="NL920", name="upstream-spelling", spec=("UP-04",), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    yield from translated(RULE, draft, "upstream-", "it is understood only with --compat upstream", "upstream")
