"""A template has more than 8,192 characters.

Templates are bounded so that the time to read and evaluate one is bounded. A text of that length is usually data or
code with a few values in it: hand the values over instead.

Wrong:

    kind: postgres
    command: |
      INSERT INTO … ten thousand characters … VALUES ({{ input.id }})

Right:

    kind: postgres
    command: |
      INSERT INTO … ten thousand characters … VALUES (%(id)s)
    params:
      id: "{{ input.id }}"

Spec: TP-05.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract
from noetl.expressions import LIMITS

RULE = contract.Rule(code="NL613", name="template-too-long", spec=("TP-05",))


def check(draft: Draft) -> Iterator[Finding]:
    for text in draft.texts:
        if text.fault and text.fault.kind == "length":
            yield RULE.at(
                text.node.place,
                f"this template has {len(text.node.text):,} characters",
                why=f"a template may have {LIMITS.source_chars:,}",
                fix="keep the long part out of it: hand values over as params or input, or split it over tasks",
            )
