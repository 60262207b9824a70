"""A release moves the changelog, sets every number, commits and tags; what does not fit changes nothing."""

import re
import shutil
import subprocess
import sys

import pytest

from scripts import release
from scripts.locked import ROOT

CHANGELOG = """\
# Changelog

## Unreleased

### Fixed

- A thing that was broken.
"""
FILES = ["CHANGELOG.md", "pyproject.toml", "LICENSE", *release.PLACES, *release.LOCKS]
DAY = re.compile(r"\d{4}-\d\d-\d\d")


@pytest.fixture
def repository(tmp_path):
    """The files that a release is about, and the scripts, in a repository of their own."""
    root = tmp_path / "scratch"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    shutil.copytree(ROOT / "scripts", root / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "CHANGELOG.md").write_text(CHANGELOG)
    (root / ".gitignore").write_text("__pycache__/\n")
    found = release.Repository(root)
    for words in (["init", "--quiet"], ["config", "user.name", "T"], ["config", "user.email", "t@example.com"]):
        found.git(*words)
    return committed(found)


def committed(repository):
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", "work")
    return repository


def unreleased(repository, text):
    """More work after the last release."""
    changelog = repository.read("CHANGELOG.md").replace(release.UNRELEASED, f"{release.UNRELEASED}\n{text}\n")
    repository.write("CHANGELOG.md", changelog)
    return committed(repository)


def run(repository, *words):
    command = [sys.executable, str(repository.root / "scripts" / "release.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_first_release_moves_the_changes_and_sets_every_number(repository):
    done = run(repository, "1.2.0")

    assert (done.returncode, done.stderr) == (0, "")
    changelog = DAY.sub("DAY", repository.read("CHANGELOG.md"))
    assert changelog == CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n## 1.2.0 - DAY\n")
    assert '__version__ = "1.2.0"' in repository.read("src/noetl/__init__.py")
    assert re.findall(r"ersion: \"?([\d.]+)", repository.read("deploy/helm/noetl/Chart.yaml"))[:2] == ["1.2.0"] * 2
    assert "image: noetl:1.2.0" in repository.read("deploy/compose/compose.yaml")
    assert "-t noetl:1.2.0 " in repository.read("deploy/docker/Dockerfile")


def test_it_is_one_commit_and_one_tag_that_carries_the_notes(repository):
    run(repository, "1.2.0")

    assert repository.git("status", "--porcelain") == ""
    assert repository.git("log", "--format=%s").splitlines() == ["release: version 1.2.0", "work"]
    assert repository.git("tag", "--list", "--format=%(refname:short) %(objecttype)") == "v1.2.0 tag\n"
    notes = repository.git("tag", "--list", "--format=%(contents)", "v1.2.0")
    assert notes.strip() == "NoETL 1.2.0\n\n### Fixed\n\n- A thing that was broken."


def test_the_next_release_lists_what_changed_of_the_dependencies(repository):
    run(repository, "1.2.0")
    lock = repository.read("uv.lock")
    jinja = re.search(r'name = "jinja2"\nversion = "(.+)"', lock)[1]
    repository.write(
        "uv.lock", lock.replace(f'name = "jinja2"\nversion = "{jinja}"', 'name = "jinja2"\nversion = "99"')
    )
    unreleased(repository, "### Fixed\n\n- Another thing.")

    done = run(repository, "1.2.1")

    assert done.returncode == 0, done.stderr
    sections = re.findall(r"^## .*|^### .*|^- .*", repository.read("CHANGELOG.md"), re.MULTILINE)
    assert [DAY.sub("DAY", line) for line in sections] == [
        "## Unreleased",
        "## 1.2.1 - DAY",
        "### Fixed",
        "- Another thing.",
        "### Dependencies",
        f"- jinja2 {jinja} → 99.",
        "## 1.2.0 - DAY",
        "### Fixed",
        "- A thing that was broken.",
    ]


@pytest.mark.parametrize(
    ("changes", "number", "why"),
    [
        ("### Fixed\n\n- x", "1.2.0", "1.2.0 does not follow 1.2.0, which is released"),
        ("### Fixed\n\n- x", "1.1.9", "1.1.9 does not follow 1.2.0"),
        ("### Fixed\n\n- x", "1.2", "a version is like 1.2.3 or 1.2.3rc1, and not '1.2'"),
        ("### Fixed\n\n- x", "v1.3.0", "and not 'v1.3.0'"),
        ("", "1.3.0", "nothing stands under Unreleased"),
        ("### Added\n\n- x", "1.2.1", "1.2.1 must be a new minor version"),
        ("### Changed\n\n- **Breaking:** x", "1.3.0", "1.3.0 must be a new major version"),
    ],
)
def test_a_number_that_does_not_fit_is_refused_and_changes_nothing(repository, changes, number, why):
    run(repository, "1.2.0")
    unreleased(repository, changes)
    before = repository.git("rev-parse", "HEAD")

    done = run(repository, number)

    assert (done.returncode, why in done.stderr) == (1, True), done.stderr
    assert (repository.git("rev-parse", "HEAD"), repository.git("status", "--porcelain")) == (before, "")
    assert repository.git("tag") == "v1.2.0\n"


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("1.2.0", "1.2.1", "### Fixed\n\n- x"),
        ("1.2.0", "1.3.0", "### Added\n\n- x"),
        ("1.2.0", "2.0.0", "### Changed\n\n- **Breaking:** x"),
        ("0.2.0", "0.3.0", "### Changed\n\n- **Breaking:** x"),
        ("1.2.0", "1.3.0rc1", "### Added\n\n- x"),
        ("1.3.0rc9", "1.3.0rc10", "### Fixed\n\n- x"),
        ("1.3.0rc10", "1.3.0", "### Fixed\n\n- x"),
    ],
)
def test_numbers_that_follow(before, after, changes):
    release.check_number(release.version_of(after), [release.version_of(before)], changes)


def test_uncommitted_work_is_refused(repository):
    repository.write("LICENSE", "mine")

    done = run(repository, "1.2.0")

    assert (done.returncode, "not committed" in done.stderr, repository.git("tag")) == (1, True, "")


def test_a_dry_run_prints_the_notes_and_changes_nothing(repository):
    done = run(repository, "1.2.0", "--dry-run")

    assert (done.returncode, "- A thing that was broken." in done.stdout) == (0, True)
    assert (repository.git("status", "--porcelain"), repository.git("tag")) == ("", "")


def test_a_file_that_no_longer_names_the_version_is_told(repository):
    repository.write("deploy/compose/compose.yaml", "services: {}\n")
    committed(repository)

    done = run(repository, "1.2.0")

    assert (done.returncode, "tell scripts/release.py where it is now" in done.stderr) == (1, True)
    assert repository.git("status", "--porcelain") == ""
