"""The site has every page: what stands in docs/ stands in its navigation too, and the other way round."""

import re
from pathlib import Path

import pytest

from scripts.links import plain_bars, shown

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
NAVIGATION = re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2])
PARTS = ("rules", "tools/guides")  # pages of rules are found by their index, guides are parts of the pages of kinds


def written():
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    return {page for page in pages if Path(page).parent.as_posix() not in PARTS or page.endswith("README.md")}


def test_every_page_is_in_the_navigation_once():
    named = [page for page in NAVIGATION if not page.startswith("project/")]

    assert sorted(named) == sorted(written())


@pytest.mark.parametrize("page", [page for page in NAVIGATION if page.startswith("project/")])
def test_pages_about_the_project_are_those_of_the_repository(page):
    assert (ROOT / page.removeprefix("project/")).exists()


def test_the_first_page_leads_to_every_other():
    first = (DOCS / "README.md").read_text("utf-8")

    missing = [page for page in written() - {"README.md"} if f"]({page})" not in first]
    assert [page for page in missing if not page.startswith("tools/")] == []  # their index leads to those


def test_a_bar_in_the_code_of_a_table_is_shown_without_its_stroke_and_elsewhere_code_stays_as_it_is():
    page = "| a |\n|---|\n| `text\\|json` \\| b |\n\n`grep 'a\\|b'`\n\n```\n| `a\\|b` |\n```\n"

    assert plain_bars(page) == page.replace("`text\\|json`", "`text|json`")


def test_a_file_that_a_browser_would_save_is_shown_on_a_page_of_its_own():
    page = shown("a.yaml", "x: 1 # `y`\n")

    assert page == "# a.yaml\n\n[The file itself](a.yaml)\n\n```yaml\nx: 1 # `y`\n```\n"
    assert shown("a.py", '"""\n```\n"""\n').endswith('\n\n````python\n"""\n```\n"""\n````\n')
