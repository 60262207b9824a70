"""Each guide holds together: what it tells its reader to write and to run works, in the order of the page."""

from pathlib import Path

import pytest

from tests.docs.story import Command, live_through, scenes

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES = {page.stem: page.read_text("utf-8") for page in sorted((DOCS / "guides").glob("*.md"))}
TOLD_ELSEWHERE = {"stopping"}  # test_stopping.py does what it says, Ctrl-C included
STORIES = {name: page for name, page in PAGES.items() if name not in TOLD_ELSEWHERE}
STORIES["testing"] = (DOCS / "testing.md").read_text("utf-8")
# tests/plugins/test_page.py does what docs/plugins.md says, tests/integration/test_cluster_pages.py docs/cluster.md.


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_what_a_guide_says_is_what_its_reader_sees(name, tmp_path):
    (tmp_path / "folder").mkdir()

    live_through(STORIES[name], tmp_path / "folder", tmp_path / "home")


@pytest.mark.parametrize("name", STORIES)
def test_a_guide_checks_its_playbook_strictly_and_runs_or_tests_it(name):
    words = [scene.words.split()[1] for scene in scenes(STORIES[name]) if isinstance(scene, Command)]

    assert any("check --strict" in scene.words for scene in scenes(STORIES[name]) if isinstance(scene, Command))
    assert {"run", "test"} & {*words}


@pytest.mark.parametrize("name", PAGES)
def test_a_guide_names_the_problem_the_mistakes_and_where_to_go_next(name):
    page = PAGES[name]

    assert "**The problem.**" in page
    assert "## Common mistakes" in page
    assert "\nNext: " in page
