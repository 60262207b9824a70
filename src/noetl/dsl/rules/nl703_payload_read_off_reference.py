"""A template reads payload from a reference.

A reference says where data is kept: `type`, `locator`, `auth_reference` and `meta` (and, in older ones, `store`, `key`,
`range`, `checksum`, `size`, `schema_hint`). The data is not in it. A task of `kind: resolve` fetches the data, checks
its size and checksum, and gives it as its output.

Wrong:

    input:
      first: "{{ ctx.records_ref.rows[0] }}"

Right:

    tool:
      - name: records
        kind: resolve
        ref: "{{ ctx.records_ref }}"
      - name: show
        kind: noop
        input:
          first: "{{ records.data.rows[0] }}"

Spec: RS-02, RS-04.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding, listed
from noetl.dsl.rules import contract
from noetl.dsl.rules.reads import Meaning, meanings
from noetl.dsl.rules.reference_paths import PARTS, reference_length, spelt

RULE = contract.Rule(code="NL703", name="payload-read-off-reference", spec=("RS-02", "RS-04"))

SHOWN = ("type", "locator", "auth_reference", "meta")


def check(draft: Draft) -> Iterator[Finding]:
    for meaning in meanings(draft):
        length = reference_length(meaning) if len(meaning.read.parts) > 0 else 0
        if length and length < len(meaning.read.parts) and meaning.read.parts[length].key not in PARTS:
            yield finding(meaning, length)


def finding(meaning: Meaning, length: int) -> Finding:
    read = meaning.read
    reference = spelt(read, length)
    return RULE.at(
        meaning.text.place_of(read.offset, read.parts[length].end),
        f"{spelt(read, length + 1)} reads payload, but {reference} is a reference",
        why=f"a reference has {listed(SHOWN)}; what it stands for is kept elsewhere",
        fix=f'resolve it first: {{ kind: resolve, ref: "{{{{ {reference} }}}}" }}, and read that task\'s output.data',
    )
