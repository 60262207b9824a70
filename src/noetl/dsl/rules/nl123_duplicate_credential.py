"""Two entries of the keychain have the same name.

`auth: <name>` and `{{ keychain.<name> }}` find a credential by its name, so each name stands for one.

Wrong:

    keychain:
      - { name: db, kind: postgres_credential }
      - { name: db, kind: basic }

Right:

    keychain:
      - { name: db, kind: postgres_credential }
      - { name: api, kind: basic }

Spec: KC-01, KC-07.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import Mapping, Scalar, shorten
from noetl.dsl.rules import contract

RULE = contract.Rule(code="NL123", name="duplicate-credential", spec=("KC-01", "KC-07"))


def check(draft: Draft) -> Iterator[Finding]:
    keychain = draft.root.sequence("keychain")
    first: dict[str, Scalar] = {}
    for entry in keychain.items if keychain else ():
        name = entry.scalar("name") if isinstance(entry, Mapping) else None
        if name is None or not name.text:
            continue
        if name.text in first:
            yield RULE.at(
                name.place,
                f'the keychain has "{shorten(name.text)}" twice; the first is on line {first[name.text].line}',
                why="auth and {{ keychain.<name> }} find a credential by its name",
                fix="delete one of them, or give it another name",
            )
        first.setdefault(name.text, name)
