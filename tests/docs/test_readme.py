"""The first five minutes of README.md, as they stand there."""

from pathlib import Path

import pytest

from tests.docs.story import Command, live_through, scenes

PAGE = (Path(__file__).parent.parent.parent / "README.md").read_text("utf-8")


@pytest.mark.slow
def test_what_the_readme_begins_with_is_what_a_newcomer_sees(tmp_path):
    (tmp_path / "folder").mkdir()

    live_through(PAGE, tmp_path / "folder", tmp_path / "home")

    assert [scene.words for scene in scenes(PAGE) if isinstance(scene, Command)] == [
        "noetl init shop",
        "cd shop",
        "noetl run orders.yaml",
        "noetl show last",
        "noetl test",
    ]
