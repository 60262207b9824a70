"""A credential stands under `executor`.

`executor` says where and how a playbook runs. What it may log in with is declared in `keychain`, by name and kind; the
secret itself is never written into a playbook. A task names the entry with `auth`.

Wrong:

    executor:
      spec:
        http: { auth: { token: abc123 } }

Right:

    keychain:
      - name: orders_api
        kind: bearer

    # and on the task
    auth: orders_api

Spec: PB-05, KC-01.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.misplaced import CREDENTIAL, misplaced

RULE = contract.Rule(code="NL122", name="credentials-under-executor", spec=("PB-05", "KC-01"))


def check(draft: Draft) -> Iterator[Finding]:
    for one in misplaced(draft, CREDENTIAL):
        yield RULE.at(
            one.entry.key.place,
            f'"{one.key}" under executor: credentials are declared in the keychain only',
            why="the executor says where a playbook runs; a secret is never part of a playbook",
            fix="declare keychain: [{ name: …, kind: … }] and name the entry on the task: auth: <name>",
            is_about_secret=True,
        )
