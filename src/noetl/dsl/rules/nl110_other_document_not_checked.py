"""A document of another kind than Playbook is not checked here.

A file may hold schedules, triggers and tests beside playbooks, each as a document of its own. They are checked when
they are registered or run; `noetl check` reads playbooks and credentials, and says what it leaves out.

Wrong:

    apiVersion: noetl.io/v2
    kind: Schedule
    metadata: { name: nightly }

Right:

    apiVersion: noetl.io/v2
    kind: Playbook
    metadata: { name: nightly }
    workflow:
      - step: start
        tool: { kind: noop }

Spec: PB-01.
"""

from collections.abc import Iterator

from noetl.dsl.credential_documents import CREDENTIAL
from noetl.dsl.findings import INFO, Finding
from noetl.dsl.nodes import Mapping
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract
from noetl.dsl.shapes import OTHER_KINDS

RULE = contract.Rule(code="NL110", name="other-document-not-checked", spec=("PB-01",), severity=INFO, is_of_text=True)


def check(reading: Reading) -> Iterator[Finding]:
    for document in reading.documents:
        kind = document.scalar("kind") if isinstance(document, Mapping) else None
        if kind and kind.value in OTHER_KINDS - {CREDENTIAL}:
            yield RULE.at(
                kind.place,
                f"this document is a {kind.text}; it is not checked here",
                why="this command checks playbooks and credentials only",
                fix="nothing to do: it is checked when it is registered or run",
            )
