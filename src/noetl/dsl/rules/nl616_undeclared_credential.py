"""A template reads a keychain entry that the playbook does not declare.

Before the workflow starts, the server proves that every declared credential can be resolved; a worker is handed the
declared ones and no others. So the entry must be in the root's `keychain`, and its name must be written out.

Wrong:

    keychain:
      - name: openai_token
        kind: bearer
    …
    headers:
      Authorization: "Bearer {{ keychain.open_ai_token.token }}"

Right:

    headers:
      Authorization: "Bearer {{ keychain.openai_token.token }}"

Spec: KC-07.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, did_you_mean, listed
from noetl.dsl.rules import contract
from noetl.dsl.rules.reads import SCOPE, Meaning, meanings, place_of_key

RULE = contract.Rule(code="NL616", name="undeclared-credential", spec=("KC-07",))


def check(draft: Draft) -> Iterator[Finding]:
    declared = list(draft.credentials)
    said: set[tuple[int, object]] = set()
    for meaning in meanings(draft):
        if meaning.read.name != "keychain" or meaning.sort != SCOPE:
            continue
        entry = meaning.read.parts[0].key if meaning.read.parts else None
        if entry not in declared and (id(meaning.text), entry) not in said:
            said.add((id(meaning.text), entry))
            yield whole(meaning) if entry is None else undeclared(meaning, str(entry), declared)


def undeclared(meaning: Meaning, entry: str, declared: list[str]) -> Finding:
    part = meaning.read.parts[0]
    return RULE.at(
        place_of_key(meaning.text, part),
        f'the keychain has no entry "{entry}"',
        why=f"it declares: {listed(declared)}" if declared else "this playbook declares no credentials",
        fix=did_you_mean(entry, declared, f"declare it: keychain: [{{name: {entry}, kind: …}}]"),
    )


def whole(meaning: Meaning) -> Finding:
    return RULE.at(
        meaning.text.place_of(meaning.read.offset, meaning.read.end),
        "keychain is read without the name of an entry",
        why="a worker is handed the entries that a template names, so the name must be written out",
        fix="write keychain.<name>.<field>",
    )
