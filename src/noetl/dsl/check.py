"""A text in, all its findings out: reads, translates, parses, runs every rule, and never stops at the first fault.

What a rule needs beyond the Draft is handed in as data (the tool kinds), so nothing here opens a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, cast

import msgspec

from noetl.dsl.aliases import Spans, is_within
from noetl.dsl.dialects.reading import translate
from noetl.dsl.draft import OTHER_KINDS, Draft
from noetl.dsl.findings import ERROR, WARNING, Finding, usefulness
from noetl.dsl.kinds import Kinds
from noetl.dsl.nodes import Mapping, plain
from noetl.dsl.parse import parse
from noetl.dsl.read import Reading, read
from noetl.dsl.source import Source

FINDINGS_MAX = 1000
STRICT_WARNINGS = frozenset(("NL206",))


class Checked(msgspec.Struct):
    """What a text holds and what is wrong with it."""

    source: Source
    drafts: list[Draft]
    findings: list[Finding]
    is_cut: bool = False  # there are more than FINDINGS_MAX
    has_playbook: bool = False

    @property
    def is_valid(self) -> bool:
        return not any(finding.severity == ERROR for finding in self.findings)


def check(
    data: bytes | str,
    name: str,
    kinds: Kinds,
    *,
    is_strict: bool = False,
    is_legacy: bool = False,
    is_upstream: bool = False,
) -> Checked:
    """Check every document of a text."""
    reading = read(data, name)
    findings = list(text_findings(reading))
    drafts = []
    for document in reading.documents:
        if isinstance(document, Mapping) and document.text("kind") not in OTHER_KINDS:
            draft = make_draft(reading.source, document, kinds, is_legacy=is_legacy, is_upstream=is_upstream)
            drafts.append(draft)
            findings.extend(draft_findings(draft))
    # What stands under an anchor is met once for each alias to it: the same finding at the same place is said once.
    kept = sorted(dict.fromkeys(set_severities(findings, is_strict)), key=usefulness)
    safe = [without_shared_edits(finding, reading.shared) for finding in kept[:FINDINGS_MAX]]
    return Checked(reading.source, drafts, safe, len(kept) >= FINDINGS_MAX, bool(drafts))


def drafts_of(data: bytes | str, name: str, kinds: Kinds, *, is_legacy: bool, is_upstream: bool) -> list[Draft]:
    """The documents of a text that is known to check: the same drafts, without asking any rule."""
    reading = read(data, name)
    return [
        make_draft(reading.source, document, kinds, is_legacy=is_legacy, is_upstream=is_upstream)
        for document in reading.documents
        if isinstance(document, Mapping) and document.text("kind") not in OTHER_KINDS
    ]


def documents_of(data: bytes | str, name: str) -> list[dict[str, Any]]:
    """The playbooks of a text as plain data."""
    found = read(data, name).documents
    documents = [one for one in found if isinstance(one, Mapping) and one.text("kind") not in OTHER_KINDS]
    return [cast(dict[str, Any], plain(document)) for document in documents]


def without_shared_edits(finding: Finding, shared: Spans) -> Finding:
    """No repair where aliases repeat a text: what is right for one use may be wrong for another."""
    is_shared = any(is_within(edit.start, edit.end, shared) for edit in finding.edits)
    return msgspec.structs.replace(finding, edits=()) if is_shared else finding


def make_draft(source: Source, root: Mapping, kinds: Kinds, *, is_legacy: bool, is_upstream: bool) -> Draft:
    """Translate one document to the 2026 surface and parse it."""
    translated = translate(root, kinds, is_legacy=is_legacy, is_upstream=is_upstream)
    return parse(
        source,
        root,
        kinds,
        is_legacy=is_legacy,
        is_upstream=translated.is_upstream,
        marks=translated.marks,
        debug_map=translated.debug_map,
    )


def text_findings(reading: Reading) -> Iterable[Finding]:
    """What is wrong with the text itself."""
    from noetl.dsl.rules import text_rules  # many small modules, which a playbook that was checked before needs not

    for rule in text_rules():
        yield from islice(rule(reading), FINDINGS_MAX)


def draft_findings(draft: Draft) -> Iterable[Finding]:
    """What is wrong with one playbook."""
    from noetl.dsl.rules import document_rules

    for rule in document_rules():
        yield from islice(rule(draft), FINDINGS_MAX)


def set_severities(findings: Iterable[Finding], is_strict: bool) -> Iterable[Finding]:
    """`--strict` makes the 9xx marks and ST-02 errors."""
    for finding in findings:
        is_mark = finding.code.startswith("NL9") or finding.code in STRICT_WARNINGS
        if is_strict and is_mark and finding.severity == WARNING:
            yield msgspec.structs.replace(finding, severity=ERROR)
        else:
            yield finding
