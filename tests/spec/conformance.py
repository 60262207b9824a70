"""Write docs/conformance.md: every requirement, the tests that prove it, and the requirements that nothing proves yet.

`python -m tests.spec.conformance` writes the page, `--check` only compares. The tests are collected, not run; the page
depends on nothing but their marks and requirements.yaml.
"""

import sys
from collections import defaultdict
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from tests.spec.requirements import Requirement, cited_ids, requirements

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "conformance.md"

HEAD = """\
# Conformance

Every requirement of the specification, and the tests that prove it. Written by `make conformance` from
`tests/spec/requirements.yaml` and the `@pytest.mark.spec` marks of the tests; do not edit.
"""

FRONT_END = tuple(f"tests/{folder}/" for folder in ("cli", "docs", "dsl", "expressions", "fuzz"))
# What can be proved whole without running a playbook. Of all others such tests prove the checker's part only.
WITHOUT_A_RUN = frozenset(
    "PB-01 PB-02 PB-03 PB-04 PB-05 PB-09 PB-11 PB-12 PB-13 DI-01 DI-03 DI-04 TP-01 TP-03 TP-05 TP-07 TP-08 KC-07 "
    "SC-09 SC-10 ST-02 ST-03 ST-04 ST-08 LP-12 TK-01 TK-02 TK-03 TK-05 TK-17 TL-03 RT-01 RT-06 RT-10 AC-1".split()
)


# What is proved in part, and what is missing. A line goes when its tests prove the whole.
IN_PART: dict[str, str] = {}


class Citations:
    """Collects who cites what, as a pytest plugin; test ids without their parameters."""

    def __init__(self) -> None:
        self.tests_by_id: dict[str, set[str]] = defaultdict(set)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for requirement_id in cited_ids(item):
                self.tests_by_id[requirement_id].add(item.nodeid.partition("[")[0])


def collect(folder: Path) -> dict[str, set[str]]:
    citations = Citations()
    arguments = ["--collect-only", "-qq", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), str(folder)]
    with redirect_stdout(StringIO()) as said:
        code = pytest.main(arguments, plugins=[citations])
    if code != pytest.ExitCode.OK:
        sys.exit(f"{said.getvalue()}\nthe tests cannot be collected, so {PAGE.name} cannot be made")
    return citations.tests_by_id


def render(wanted: dict[str, Requirement], tests_by_id: dict[str, set[str]]) -> str:
    proved = [row for row in wanted.values() if tests_by_id.get(row.id)]
    missing = [row for row in wanted.values() if not tests_by_id.get(row.id)]
    partly = [row for row in proved if is_partly(row, tests_by_id[row.id])]
    parts = [HEAD, count_line(len(proved) - len(partly), len(partly), len(wanted))]
    section = ""
    for row in proved:
        if row.section != section:
            section = row.section
            parts.append(f"## {section.capitalize()}\n")
        tests = "\n".join(f"- `{test}`" for test in sorted(tests_by_id[row.id]))
        parts.append(f"{headline(row)}{limit_of(row) if row in partly else ''}\n\n{tests}\n")
    if missing:
        parts += ["## Nothing proves these yet\n", "\n".join(f"- {headline(row)}" for row in missing) + "\n"]
    return "\n".join(parts)


def limit_of(row: Requirement) -> str:
    return f" — *so far {IN_PART.get(row.id, 'only what can be seen without a run')}*"


def count_line(whole: int, partly: int, wanted: int) -> str:
    return f"{whole} of {wanted} requirements are proved, {partly} more in part.\n"


def is_partly(row: Requirement, tests: set[str]) -> bool:
    is_checked_only = row.id not in WITHOUT_A_RUN and all(test.startswith(FRONT_END) for test in tests)
    return is_checked_only or row.id in IN_PART


def headline(row: Requirement) -> str:
    return f"**{row.id}** ({row.level}) {escape(row.rule)}"


def escape(text: str) -> str:
    """Rules are full of *, _, < and braces that Markdown or a site builder would take for its own."""
    for character in "\\`*_<>[]|":
        text = text.replace(character, f"\\{character}")
    return text


def main(arguments: list[str]) -> int:
    page = render(requirements(), collect(ROOT / "tests"))
    if "--check" not in arguments:
        PAGE.write_text(page, encoding="utf-8")
        print(f"{PAGE.relative_to(ROOT)} written")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page:
        print(f"{PAGE.relative_to(ROOT)} is up to date")
        return 0
    print(f"{PAGE.relative_to(ROOT)} is out of date: run `make conformance` and commit it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
