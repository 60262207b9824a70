"""What `make dist-check` lives through in each environment holds here too, and tells what went wrong."""

import stat
import sys
from pathlib import Path

import pytest

from scripts import dist_check, story

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """An empty folder with a new home."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / ".noetl"))
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_the_story_goes_well_from_the_first_playbook_to_the_pages(desk):
    story.run_a_playbook()
    story.start_a_project()
    story.use_a_server()
    story.open_the_pages()


def test_a_command_that_fails_is_told_with_what_it_said(desk, monkeypatch):
    broken = desk / "noetl"
    broken.write_text("#!/bin/sh\necho no such module: noetl.ui >&2\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(story, "NOETL", str(broken))

    with pytest.raises(story.Disappointment, match=r"(?s)noetl init project: exit code 1, wanted 0:.*no such module"):
        story.start_a_project()


def test_every_python_at_hand_gets_the_wheel_and_the_newest_all(tmp_path):
    (tmp_path / "noetl-1-py3-none-any.whl").touch()
    (tmp_path / "noetl-1.tar.gz").touch()

    planned = dist_check.trials({"3.11": "a", "3.13": "b"}, tmp_path)

    assert [trial.title for trial in planned] == [
        "Python 3.11, wheel",
        "Python 3.13, wheel",
        "Python 3.13, sdist",
        "Python 3.13, wheel with cluster",
    ]


def test_the_python_that_runs_this_is_at_hand():
    found = dist_check.pythons()

    assert f"3.{sys.version_info[1]}" in found
    assert all(Path(where).exists() for where in found.values())
