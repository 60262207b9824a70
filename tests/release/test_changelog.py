"""CHANGELOG.md has the shape that people and `make release` rely on."""

import re
from datetime import date

import pytest

from noetl import __version__
from scripts.locked import ROOT
from scripts.release import BREAKING, version_of

TEXT = (ROOT / "CHANGELOG.md").read_text("utf-8")
SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Dependencies")
PARTS = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
RELEASES = PARTS[1:]


def test_unreleased_comes_first_and_then_versions_that_descend_with_their_days():
    titles = [part.splitlines()[0] for part in PARTS]
    found = [re.fullmatch(r"(\S+) - (\d{4}-\d\d-\d\d)", title) for title in titles[1:]]

    assert titles[0] == "Unreleased"
    assert all(found)
    versions = [version_of(match[1]) for match in found]
    days = [date.fromisoformat(match[2]) for match in found]
    assert versions == sorted(set(versions), reverse=True)
    assert days == sorted(days, reverse=True)


def test_the_newest_version_of_the_changelog_is_that_of_the_package():
    newest = RELEASES[0].split()[0] if RELEASES else __version__

    assert newest == __version__


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.split()[0])
def test_sections_are_those_of_keep_a_changelog_in_its_order_and_not_empty(part):
    names = re.findall(r"^### (.*)$", part, re.MULTILINE)

    assert [name for name in names if name not in SECTIONS] == []
    assert names == sorted(set(names), key=SECTIONS.index)
    assert all("\n- " in body for body in re.split(r"^### .*$", part, flags=re.MULTILINE)[1:])


def test_what_breaks_is_marked_in_the_one_way_that_a_release_looks_for():
    assert [line for line in TEXT.splitlines() if re.match(r"- \W*breaking", line, re.I) and BREAKING not in line] == []
