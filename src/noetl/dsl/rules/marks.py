"""Findings made of what the dialects marked."""

from __future__ import annotations

from collections.abc import Iterator

from noetl.dsl.dialects.tree import Mark
from noetl.dsl.draft import Draft
from noetl.dsl.findings import Finding
from noetl.dsl.nodes import shorten
from noetl.dsl.rules.contract import Rule


def marked(draft: Draft, *names: str) -> Iterator[Mark]:
    """The marks of these names, each place once."""
    seen = set()
    for mark in draft.marks:
        if mark.name in names and mark.place not in seen:
            seen.add(mark.place)
            yield mark


def respelt(rule: Rule, mark: Mark, why: str) -> Finding:
    """A name in a template that has a new one."""
    old, new = mark.facts.get("old", ""), mark.facts.get("new", "")
    return rule.at(
        mark.place, f'"{old}" is now "{shorten(new)}"', why=why, fix=f'write "{shorten(new, 160)}"', edits=mark.edits
    )


def translated(rule: Rule, draft: Draft, prefix: str, why: str, surface: str) -> Iterator[Finding]:
    """What only another surface knows, each place and spelling once."""
    seen = set()
    for mark in draft.marks:
        old, new = mark.facts.get("old", mark.name.removeprefix(prefix)), mark.facts.get("new", "")
        if not mark.name.startswith(prefix) or (mark.place, old) in seen:
            continue
        seen.add((mark.place, old))
        yield rule.at(
            mark.place,
            f'"{shorten(old)}" is now "{shorten(new)}"' if new else f'"{shorten(old)}" is an old spelling',
            why=why,
            fix=mark.facts.get("fix") or f"run noetl migrate --from {surface}, which rewrites it",
            edits=mark.edits,
        )
