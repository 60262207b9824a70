"""Outcomes as JUnit XML, which CI systems show. Well-formed whatever a test or a tool said."""

from __future__ import annotations

import re
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from noetl.dsl.findings import as_text
from noetl.rehearsal.suite import ERRONEOUS, FAILED, Outcome, Suite

# what XML 1.0 has no way to write
UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(suite: Suite) -> str:
    """One <testsuite> per file; a document that does not check is a case that could not run."""
    groups = [(file, list(several)) for file, several in groupby(suite.outcomes, key=lambda one: one.file)]
    parts = [_suite(file, outcomes) for file, outcomes in groups]
    for checked in suite.wrong:
        message = "\n\n".join(as_text(finding, checked.source) for finding in checked.findings)
        parts.append(_wrong(checked.source.name, message))
    parts += [_wrong(message, message) for message in suite.unreadable]
    failures, errors = suite.count(FAILED), suite.count(ERRONEOUS) + len(suite.wrong) + len(suite.unreadable)
    count = len(suite.outcomes) + len(suite.wrong) + len(suite.unreadable)
    seconds = sum(outcome.real_seconds for outcome in suite.outcomes)
    head = f'<testsuites tests="{count}" failures="{failures}" errors="{errors}" time="{seconds:.3f}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *parts, "</testsuites>", ""])


def _suite(file: str, outcomes: list[Outcome]) -> str:
    failed, erroneous = (sum(one.status == status for one in outcomes) for status in (FAILED, ERRONEOUS))
    seconds = sum(one.real_seconds for one in outcomes)
    head = (
        f'  <testsuite name={_attribute(file)} tests="{len(outcomes)}" failures="{failed}" errors="{erroneous}" '
        f'time="{seconds:.3f}">'
    )
    return "\n".join([head, *(_case(one) for one in outcomes), "  </testsuite>"])


def _case(outcome: Outcome) -> str:
    head = (
        f"    <testcase name={_attribute(outcome.test.name)} classname={_attribute(outcome.file)} "
        f'file={_attribute(outcome.file)} line="{outcome.test.place.line}" time="{outcome.real_seconds:.3f}"'
    )
    if outcome.status == FAILED:
        lines = [f"{one.place}: {one.sentence()}" for one in outcome.differences]
        return f"{head}>{_element('failure', outcome.differences[0].sentence(), lines)}</testcase>"
    if outcome.status == ERRONEOUS:
        return f"{head}>{_element('error', outcome.fault.splitlines()[0], [outcome.fault])}</testcase>"
    return f"{head}/>"


def _wrong(name: str, message: str) -> str:
    case = f"    <testcase name={_attribute(name)} classname={_attribute(name)}>"
    element = _element("error", message.splitlines()[0] if message else "", [message])
    return (
        f'  <testsuite name={_attribute(name)} tests="1" failures="0" errors="1">\n'
        f"{case}{element}</testcase>\n  </testsuite>"
    )


def _element(name: str, message: str, lines: list[str]) -> str:
    return f"<{name} message={_attribute(message)}>{escape(_written(chr(10).join(lines)))}</{name}>"


def _attribute(text: str) -> str:
    return quoteattr(_written(text))


def _written(text: str) -> str:
    return UNWRITABLE.sub("\ufffd", text)
