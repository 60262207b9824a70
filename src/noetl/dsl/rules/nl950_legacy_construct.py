"""A construct of document 003 that is understood only with `--legacy`.

The constructs of the older document (`eval`, `expr`, a step's `when`, `next` as a list, `vars`, …) are refused unless
`--legacy` is given. Then they are translated before anything runs, and mean what document 003 says; `noetl migrate
--from legacy` writes the translation down.

Wrong:

    - step: fetch
      when: "{{ workload.enabled }}"

Right:

    - step: fetch
      spec:
        policy:
          admit:
            rules:
              - when: "{{ workload.enabled }}"
                then: { allow: true }
              - else:
                  then: { allow: false }

Spec: PB-10.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.marks import translated

RULE = contract.Rule(code="NL950", name="legacy-construct", spec=("PB-10",), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    yield from translated(RULE, draft, "legacy-", "it is understood only with --legacy", "legacy")
