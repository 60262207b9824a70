"""What the verbs that rewrite files share: diffs, and files that cannot be read."""

from __future__ import annotations

import difflib

from noetl.dsl.check import text_findings
from noetl.dsl.findings import as_text
from noetl.dsl.read import read


def diff_of(name: str, old: bytes, new: bytes) -> str:
    """A unified diff that `patch` and `git apply` take; empty if nothing changed."""
    before, after = lines_of(old), lines_of(new)
    found = difflib.unified_diff(before, after, f"a/{name.lstrip('/')}", f"b/{name.lstrip('/')}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in found)


def lines_of(data: bytes) -> list[str]:
    """Lines as git counts them: each ends with a line feed."""
    return [f"{line}\n" for line in data.decode("utf-8").split("\n")[:-1]] + last_line(data)


def last_line(data: bytes) -> list[str]:
    rest = data.decode("utf-8").rpartition("\n")[2]
    return [rest] if rest else []


def faults_as_text(data: bytes, name: str) -> str:
    """The findings about a text that cannot be read."""
    reading = read(data, name)
    return "\n\n".join(as_text(finding, reading.source) for finding in text_findings(reading))


def plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
