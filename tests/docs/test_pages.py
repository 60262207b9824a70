"""Every rule, kind and verb has its page, and generated pages say what the code says."""

import re
import subprocess
import sys

import pytest

from noetl.cli.main import VERBS
from tests.dsl.front import PLAYBOOKS

ROOT = PLAYBOOKS.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

WRITTEN = [page for page in PAGES if page.parent.name != "rules"]  # pages of rules show what is wrong


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, "scripts/pages.py", "--check"], cwd=ROOT, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, "")


def test_every_verb_is_on_the_page_of_commands() -> None:
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")

    assert [verb for verb in VERBS if f"## noetl {verb}" not in page] == []


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_whole_playbooks_on_a_page_check_without_errors(page) -> None:  # type: ignore[no-untyped-def]
    from noetl.dsl.check import check
    from noetl.tools.registry import declarations

    blocks = re.findall(
        r"^```yaml(?: title=\"(?!old)[^\"]*\")?\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    for block in blocks:
        if block.startswith("apiVersion:"):
            found = check(block, page.name, declarations, is_strict=True).findings
            assert [finding.message for finding in found if finding.severity == "error"] == []
