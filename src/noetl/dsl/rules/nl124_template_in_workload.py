"""A text in the workload holds a template, and it is not rendered.

The workload is data: the playbook's defaults with the request's payload over them, made once, before anything runs.
Strings in it stay as they are, so that data from outside can never become a template. The template belongs where the
value is used.

Wrong:

    workload:
      host: api.example.com
      url: "https://{{ workload.host }}/items"

Right:

    workload:
      host: api.example.com
    workflow:
      - step: fetch
        tool:
          kind: http
          url: "https://{{ workload.host }}/items"

Spec: SC-01.
"""

from collections.abc import Iterator

from noetl.dsl.departures import Path
from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, Sequence
from noetl.dsl.rules import contract
from noetl.dsl.rules.whereabouts import dotted
from noetl.expressions import looks_like_template

RULE = contract.Rule(code="NL124", name="template-in-workload", spec=("SC-01",), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    workload = draft.workload
    for node, path in templates(workload, ("workload",)) if workload else ():
        yield RULE.at(
            node.place,
            f"the template in {dotted(path)} is not rendered",
            why="the workload is data; its strings stay as they are",
            fix="write the template where the value is used: in input, a tool field or set",
        )


def templates(node: AnyNode, path: Path) -> Iterator[tuple[Scalar, Path]]:
    """Every text below a node that looks like a template."""
    if isinstance(node, Scalar):
        if isinstance(node.value, str) and looks_like_template(node.value):
            yield node, path
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            yield from templates(item, (*path, index))
    elif isinstance(node, Mapping):
        for key, entry in node.entries.items():
            yield from templates(entry.value, (*path, key))
