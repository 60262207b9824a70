"""`set_ctx` and `set_iter` are the old spelling of `set`.

One `set` writes all scopes, and each target names its own: `ctx.` for the execution, `iter.` for this iteration,
`step.` for this run of the step.

Wrong:

    then:
      do: continue
      set_ctx: { total: "{{ output.data.total }}" }
      set_iter: { page: 1 }

Right:

    then:
      do: continue
      set: { ctx.total: "{{ output.data.total }}", iter.page: 1 }

Spec: DI-02, DI-04, SC-10.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.marks import marked

RULE = contract.Rule(code="NL904", name="deprecated-set-scope", spec=("DI-02", "DI-04", "SC-10"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for mark in marked(draft, "set-scope"):
        old, scope = mark.facts.get("old", "set_ctx"), mark.facts.get("scope", "ctx")
        yield RULE.at(
            mark.place,
            f'"{old}" is now "set"',
            why="one set writes every scope, and each target names its own",
            fix=f"write set: {{{scope}.<name>: <value>}}",
            edits=mark.edits,
        )
