"""The file holds no playbook.

It is empty, or it is YAML of another sort: a list, a text, or a mapping with none of the keys that a playbook has. A
playbook is a mapping with `apiVersion`, `kind`, `metadata` and `workflow`. What is run, planned or tested is a file
with one playbook: not one with documents of other kinds only, nor with several.

Wrong:

    - step: start
      tool: { kind: noop }

Right:

    apiVersion: noetl.io/v2
    kind: Playbook
    metadata: { name: hello }
    workflow:
      - step: start
        tool: { kind: noop }

Spec: PB-01, PB-02, PB-04.
"""

from collections.abc import Iterator

from noetl.dsl.findings import Finding, listed
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, describe
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract
from noetl.dsl.rules.shape_faults import is_playbook
from noetl.dsl.rules.whereabouts import first_entry
from noetl.dsl.shapes import SHAPES
from noetl.dsl.source import Place, Source

RULE = contract.Rule(code="NL109", name="not-a-playbook", spec=("PB-01", "PB-02", "PB-04"), is_of_text=True)

STOPPED = frozenset(("not-yaml", "not-utf8", "too-large"))
FIX = "begin with apiVersion: noetl.io/v2, kind: Playbook, metadata and workflow"


def check(reading: Reading) -> Iterator[Finding]:
    documents = [document for document in reading.documents if not is_nothing(document)]
    if not documents and not any(fault.fault in STOPPED for fault in reading.faults):
        why = "a playbook is a mapping; this file has no value at all"
        yield RULE.at(reading.source.place(0, 1), "the file is empty", why=why, fix=FIX)
    for document in documents:
        yield from of_document(document)


def is_nothing(document: AnyNode) -> bool:
    """An empty document, as a last line of `---` makes one; beside others it means nothing."""
    return isinstance(document, Scalar) and document.value is None


def of_document(document: AnyNode) -> Iterator[Finding]:
    keys = SHAPES["root"].keys
    if not isinstance(document, Mapping):
        yield RULE.at(
            one_line(document.place),
            f"a playbook is a mapping, this document is {describe(document)}",
            why=f"its keys are: {listed(keys)}",
            fix=FIX,
        )
    elif not is_playbook(document):
        first = first_entry(document)
        yield RULE.at(
            first.key.place if first else document.place,
            "this document has none of a playbook's keys",
            why=f"a playbook has: {listed(keys)}",
            fix=FIX,
        )


def not_one(source: Source, playbooks: list[Mapping]) -> Finding:
    """What is wrong with a text that is to be run and has no playbook, or several."""
    if len(playbooks) > 1:
        return RULE.at(
            one_line(playbooks[1].place),
            f"one file runs one playbook, but there are {len(playbooks)} in it",
            why="which of them is meant is not to be seen",
            fix="put each into a file of its own",
        )
    return RULE.at(
        source.place(0, 1),
        "there is no playbook in this file, only documents of other kinds",
        why="a test, a schedule or a trigger names a playbook, and is none",
        fix="name the file of the playbook itself",
    )


def one_line(place: Place) -> Place:
    """The beginning of a place: a whole document need not be underlined."""
    return Place(place.file, place.line, place.column, place.line, place.column + 1)
