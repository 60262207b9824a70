"""The tutorial is done as a newcomer does it: nothing but what stands on the page, and quickly."""

from pathlib import Path

import pytest

from tests.docs.story import Command, Edit, File, Reader, is_as_shown, live_through, scenes

PAGE = (Path(__file__).parent.parent.parent / "docs" / "tutorial.md").read_text("utf-8")
CPU_SECONDS_MAX = 10


@pytest.fixture
def reader(tmp_path):
    return Reader(tmp_path, tmp_path / "home")


@pytest.mark.slow
def test_the_tutorial_needs_nothing_that_is_not_on_its_page_and_takes_under_ten_seconds(tmp_path, capsys):
    (tmp_path / "folder").mkdir()

    cost = live_through(PAGE, tmp_path / "folder", tmp_path / "home")

    with capsys.disabled():
        print(f"\nthe tutorial: {cost.cpu_seconds:.1f} s of the processor, {cost.seconds:.1f} s by the clock")
    assert cost.cpu_seconds < CPU_SECONDS_MAX


def test_every_command_on_the_page_is_a_command_of_noetl():
    lines = [scene.words for scene in scenes(PAGE) if isinstance(scene, Command)]

    assert len(lines) > 10
    assert [line for line in lines if line.split()[0] not in ("noetl", "cd")] == []


@pytest.mark.parametrize(
    ("shown", "is_it"),
    [
        (["✓ a: done in 3 ms", "b"], True),
        (["…", "b"], True),
        (["✓ a: done in …"], False),
        (["…", "c", "…"], False),
        (["✓ …: done in 1 ms", "b"], True),
        ([], False),
    ],
)
def test_what_a_command_said_is_compared_line_by_line(shown, is_it):
    assert is_as_shown(["✓ a: done in 1.2 s", "b"], shown) is is_it


def test_a_page_is_read_as_files_edits_and_commands():
    page = (
        '```yaml title="a.yaml"\nx: 1\n```\n\n```diff title="a.yaml"\n-x: 1\n+x: 2\n y: 1\n```\n\n'
        "<!-- leaves with 1 -->\n```console\n$ noetl one\nsaid\n\n$ noetl two\n```\n\n```yaml\nfor: people\n```\n"
    )

    assert list(scenes(page)) == [
        File("a.yaml", "x: 1\n"),
        Edit("a.yaml", "x: 1\ny: 1\n", "x: 2\ny: 1\n"),
        Command("noetl one", ["said"], 0),
        Command("noetl two", [], 1),
    ]


def test_a_command_that_says_something_else_is_a_fault_of_the_page(reader):
    with pytest.raises(AssertionError, match="the page shows:\nnoetl 0"):
        reader.does(Command("noetl --version", ["noetl 0"], 0))


def test_a_command_that_leaves_otherwise_is_a_fault_of_the_page(reader):
    with pytest.raises(AssertionError, match="left with 2, and not with 0"):
        reader.does(Command("noetl check gone.yaml", ["…"], 0))


def test_an_edit_of_lines_that_are_not_there_is_a_fault_of_the_page(reader):
    reader.does(File("a.yaml", "x: 1\n"))

    with pytest.raises(AssertionError, match=r"these lines stand 0 times in a\.yaml"):
        reader.does(Edit("a.yaml", "y: 1\n", ""))


def test_nothing_is_on_the_path_of_a_newcomer_but_what_was_installed(reader):
    with pytest.raises(AssertionError, match="left with 127"):
        reader.does(Command("sed --version", ["…"], 0))
