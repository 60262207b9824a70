"""Findings for machines: JSON, SARIF 2.1.0, GitHub annotations. Data in, data or text out."""

from __future__ import annotations

from collections.abc import Iterable

from noetl.dsl.findings import Finding, as_data
from noetl.dsl.rules import by_code

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
GITHUB_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def as_json(findings: Iterable[Finding]) -> list[dict[str, object]]:
    return [as_data(finding) for finding in findings]


def as_sarif(findings: Iterable[Finding], version: str) -> dict[str, object]:
    """One SARIF log with one run."""
    found = list(findings)
    codes = sorted({finding.code for finding in found})
    driver = {
        "name": "noetl",
        "version": version,
        "rules": [sarif_rule(code) for code in codes],
    }
    results = [sarif_result(finding, codes.index(finding.code)) for finding in found]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def sarif_rule(code: str) -> dict[str, object]:
    rule = by_code(code)
    page = (rule.__doc__ or "").strip() if rule else ""
    return {
        "id": code,
        "name": rule.RULE.name if rule else code,
        "shortDescription": {"text": page.split("\n\n", 1)[0].replace("\n", " ") or code},
        "help": {"text": page or code},
    }


def sarif_result(finding: Finding, index: int) -> dict[str, object]:
    place = finding.place
    region = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    location = {"artifactLocation": {"uri": place.file.replace("\\", "/")}, "region": region}
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": SARIF_LEVELS[finding.severity],
        "message": {"text": sentence(finding)},
        "locations": [{"physicalLocation": location}],
    }


def sentence(finding: Finding) -> str:
    """What, why and fix in one text."""
    parts = [finding.message]
    parts += [f"why: {finding.why}"] if finding.why else []
    parts += [f"fix: {finding.fix}"] if finding.fix else []
    return "\n".join(parts)


def as_github(findings: Iterable[Finding]) -> str:
    """Workflow commands, one line each, that GitHub shows beside the changed lines."""
    return "".join(github_line(finding) for finding in findings)


def github_line(finding: Finding) -> str:
    place = finding.place
    span = f"line={place.line},endLine={place.end_line},col={place.column},endColumn={place.end_column}"
    title = property_text(f"{finding.code} {finding.rule}")
    file = property_text(place.file)
    return f"::{GITHUB_LEVELS[finding.severity]} file={file},{span},title={title}::{message_text(sentence(finding))}\n"


def message_text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def property_text(text: str) -> str:
    return message_text(text).replace(":", "%3A").replace(",", "%2C")
