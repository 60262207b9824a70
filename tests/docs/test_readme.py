"""The first five minutes of README.md, as they stand there."""

import re
from pathlib import Path

import pytest

from noetl.cli.main import VERBS
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


def test_the_table_of_commands_has_every_one_of_them():
    section = PAGE.partition("\n## Commands\n")[2].partition("\n## ")[0]
    rows = "".join(re.findall(r"^\|[^|]+\|", section, re.MULTILINE))
    named = {words.split()[0] for words in re.findall(r"`(?:noetl )?([^`]+)`", rows)}

    assert [verb for verb in VERBS if verb not in named and f"noetl {verb} " not in section] == []
