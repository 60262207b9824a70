"""A document of a kind that is not checked here.

A file may hold schedules, triggers, credentials and tests beside playbooks, each as a document of its own. Tests are
checked when they are run; `noetl check` reads all the others, and says what it leaves out.

Wrong:

    apiVersion: noetl.io/v2
    kind: PlaybookTest
    metadata: { name: nightly_test }

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
from noetl.dsl.draft import OTHER_KINDS
from noetl.dsl.findings import INFO, Finding
from noetl.dsl.nodes import Mapping
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract
from noetl.dsl.start_shapes import SCHEDULE, TRIGGER

CHECKED = frozenset((CREDENTIAL, SCHEDULE, TRIGGER))
RULE = contract.Rule(code="NL110", name="other-document-not-checked", spec=("PB-01",), severity=INFO, is_of_text=True)


def check(reading: Reading) -> Iterator[Finding]:
    for document in reading.documents:
        kind = document.scalar("kind") if isinstance(document, Mapping) else None
        if kind and kind.value in OTHER_KINDS - CHECKED:
            yield RULE.at(
                kind.place,
                f"this document is a {kind.text}; it is not checked here",
                why="this command checks playbooks, credentials, schedules and triggers",
                fix="nothing to do: it is checked when it is run",
            )
