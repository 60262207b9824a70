"""`--fix`: a text with everything repaired that is mechanical. Text in, text out; the caller reads and writes files."""

from __future__ import annotations

from collections.abc import Callable

from noetl.dsl.check import Checked
from noetl.dsl.findings import Finding, apply_edits

PASSES_MAX = 20
TEXT_BLOCK = "NL10"  # the codes of a text that cannot be read as it is


def fix(text: str, check: Callable[[str], Checked]) -> tuple[str, int]:
    """The repaired text, and how many findings that repaired. Some repairs make room for others, so it goes round."""
    repaired = 0
    for _ in range(PASSES_MAX):
        result = check(text)
        fixed, count = apply_edits(text, result.findings)
        if count and is_worse(result, check(fixed)):
            fixed, count = apply_edits(text, harmless(text, result, check))
        if not count:
            break
        text, repaired = fixed, repaired + count
    return text, repaired


def is_worse(before: Checked, after: Checked) -> bool:
    """Whether the text reads less well than before: repairs that do not get on, such as two keys of one name."""
    return text_faults(after) > text_faults(before)


def text_faults(result: Checked) -> int:
    return sum(finding.code.startswith(TEXT_BLOCK) for finding in result.findings)


def harmless(text: str, before: Checked, check: Callable[[str], Checked]) -> list[Finding]:
    """The findings whose repairs can be made together; each is tried upon those before it."""
    taken: list[Finding] = []
    for finding in before.findings:
        fixed, count = apply_edits(text, [*taken, finding])
        if finding.edits and count > len(taken) and not is_worse(before, check(fixed)):
            taken.append(finding)
    return taken
