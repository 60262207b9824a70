"""An http task takes any certificate.

With `verify: false` nobody knows who answers: whoever stands between can read what is sent, credentials included, and
answer in the server's place. A server with a certificate of its own CA is checked too, if the CA's file is named; a
relative path is looked for beside the playbook.

Wrong:

    spec:
      verify: false

Right:

    spec:
      verify: ca.pem

Spec: TL-01.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.nodes import Entry, Mapping, Scalar
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL329", name="certificate-not-checked", spec=("TL-01",), severity=WARNING)
KIND, KNOB = "http", "verify"


def check(draft: Draft) -> Iterator[Finding]:
    for entry in knobs(draft):
        if isinstance(entry.value, Scalar) and entry.value.value is False:
            yield RULE.at(
                entry.key.place,
                "verify is false, so any certificate is taken",
                why="whoever stands between can read what is sent, credentials included, and answer instead",
                fix="remove it, or name the file of the CA: verify: ca.pem",
            )


def knobs(draft: Draft) -> Iterator[Entry]:
    """Each `verify` that reaches an http task: under its spec, or as a default of the kind in a spec around it."""
    around = [draft.executor_spec, *(step.spec for step in draft.steps)]
    around += [loop.spec for step in draft.steps for loop in step.loops]
    of_kind = [spec.mapping(KIND) for spec in (*around, *(task.spec for task in draft.tasks)) if spec]
    own = [task.spec for task in draft.tasks if task.kind == KIND]
    for spec in (*of_kind, *own):
        if isinstance(spec, Mapping) and KNOB in spec.entries:
            yield spec.entries[KNOB]
