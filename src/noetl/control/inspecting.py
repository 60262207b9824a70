"""Playbooks under inspection: findings as data, versions side by side. Parses, runs nothing, keeps nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import unified_diff
from typing import Any

from noetl.control.catalog import Catalog, Text
from noetl.dsl.check import check
from noetl.dsl.findings import Finding, as_data
from noetl.stores.contract import Entry

DIFF_LINES_MAX = 50_000


def finding_rows(findings: Sequence[object]) -> list[dict[str, Any]]:
    """Findings as `noetl check --format json` prints them."""
    return [as_data(finding) for finding in findings if isinstance(finding, Finding)]


def check_report(catalog: Catalog, text: Text, *, is_strict: bool) -> dict[str, Any]:
    """What is wrong with a text. Blocks for as long as checking takes: call it off the event loop."""
    checked = check(
        text.data,
        text.name,
        catalog.kinds,
        is_strict=is_strict,
        is_legacy=text.is_legacy,
        is_upstream=text.is_upstream,
    )
    return {"is_valid": checked.is_valid, "is_cut": checked.is_cut, "findings": finding_rows(checked.findings)}


def difference(old: Entry, new: Entry) -> str:
    """Two versions, as `diff -u` shows them; cut where nobody reads on."""
    lines = unified_diff(
        lines_of(old),
        lines_of(new),
        f"{old.path}@{old.version}",
        f"{new.path}@{new.version}",
        lineterm="",
    )
    return "".join(f"{line}\n" for line in bounded(lines))


def lines_of(entry: Entry) -> list[str]:
    return entry.text.decode("utf-8", "replace").splitlines()


def bounded(lines: Iterable[str]) -> Iterable[str]:
    for number, line in enumerate(lines):
        if number >= DIFF_LINES_MAX:
            yield "… and more"
            return
        yield line
