"""Saying that playbooks do not check, as `check` says it: nothing was done.

By `say`, not by click: a plain `noetl run FILE` does not pass by click, which would then not have heard of NO_COLOR.
"""

from __future__ import annotations

from collections.abc import Sequence

from noetl.cli import exits
from noetl.cli.advice import advise
from noetl.cli.check import coloured
from noetl.cli.voice import say
from noetl.cli.words import as_json
from noetl.dsl.check import Checked
from noetl.dsl.findings import ERROR, Finding, as_text, printable
from noetl.dsl.reports import as_json as findings_as_json
from noetl.dsl.source import Source
from noetl.errors import InvalidPlaybook


def refuse(error: InvalidPlaybook, form: str, what: str = "started") -> int:
    """Print the findings of a playbook that the server refused; gives the exit code."""
    findings = [finding for finding in error.findings if isinstance(finding, Finding)]
    source = error.source if isinstance(error.source, Source) else Source(error.name, "")
    return refuse_all([Checked(source, [], findings)], form, what)


def advise_on(results: Sequence[Checked]) -> None:
    """The repair, if there is one that is mechanical; else the page of the first error."""
    faults = [(result.source.name, finding) for result in results for finding in result.findings]
    fixable = list(dict.fromkeys(name for name, finding in faults if finding.edits and not name.startswith("<")))
    codes = [finding.code for _, finding in faults if finding.severity == ERROR]
    advise("refused.fixable" if fixable else "refused", file=fixable, code=codes[0] if codes else None)


def refuse_all(results: Sequence[Checked], form: str, what: str = "registered") -> int:
    """Print the findings of playbooks that do not check; gives the exit code."""
    if form == "json":
        findings = [finding for result in results for finding in result.findings]
        say(as_json({"status": "invalid", "findings": findings_as_json(findings)}))
        return exits.WRONG_INPUT
    for result in results:
        for finding in result.findings:
            say(coloured(finding, as_text(finding, result.source)) + "\n", err=True)
    names = ", ".join(f'"{printable(result.source.name)}"' for result in results)
    say(f"{names} does not check, so nothing was {what}", err=True)
    advise_on(results)
    return exits.WRONG_INPUT
