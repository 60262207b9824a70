"""Saying that playbooks do not check, as `check` says it: nothing was done."""

from __future__ import annotations

from collections.abc import Sequence

import click

from noetl.cli import exits
from noetl.cli.check import coloured
from noetl.cli.words import as_json
from noetl.dsl.check import Checked
from noetl.dsl.findings import Finding, as_text, printable
from noetl.dsl.reports import as_json as findings_as_json
from noetl.dsl.source import Source
from noetl.errors import InvalidPlaybook


def refuse(error: InvalidPlaybook, form: str) -> int:
    """Print the findings of a playbook that the server refused; gives the exit code."""
    findings = [finding for finding in error.findings if isinstance(finding, Finding)]
    source = error.source if isinstance(error.source, Source) else Source(error.name, "")
    return refuse_all([Checked(source, [], findings)], form, "started")


def refuse_all(results: Sequence[Checked], form: str, what: str = "registered") -> int:
    """Print the findings of playbooks that do not check; gives the exit code."""
    if form == "json":
        findings = [finding for result in results for finding in result.findings]
        click.echo(as_json({"status": "invalid", "findings": findings_as_json(findings)}))
        return exits.WRONG_INPUT
    for result in results:
        for finding in result.findings:
            click.echo(coloured(finding, as_text(finding, result.source)) + "\n", err=True)
    names = ", ".join(f'"{printable(result.source.name)}"' for result in results)
    click.echo(f"{names} does not check, so nothing was {what}", err=True)
    return exits.WRONG_INPUT
