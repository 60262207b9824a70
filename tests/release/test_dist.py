"""Sdist and wheel hold what git tracks and nothing of the machine, and come out the same wherever they are built."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import dist

ROOT = Path(__file__).parent.parent.parent
PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "noetl"
version = "0.0.1"
requires-python = ">=3.11"
license-files = ["LICENSE"]
scripts = {noetl = "noetl:main"}
[tool.hatch.build.targets.wheel]
packages = ["src/noetl"]
"""
FILES = {"pyproject.toml": PROJECT, "LICENSE": "as you like\n", "src/noetl/__init__.py": "def main(): ...\n"}

pytestmark = pytest.mark.slow


def git(root, *words):
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.com"]
    subprocess.run(["git", "-C", str(root), *identity, *words], check=True, capture_output=True)


def repository(root, **files):
    """A small project of our name, with one commit."""
    for name, text in {**FILES, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "--quiet")
    git(root, "add", "--all", "--force")
    git(root, "commit", "--quiet", "--message", "first")
    return root


def digests(paths):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Sdist and wheel of this repository."""
    return dist.make(ROOT, tmp_path_factory.mktemp("dist"))


def test_a_build_elsewhere_by_somebody_else_gives_the_same_bytes(built, tmp_path):
    other = tmp_path / "elsewhere" / "noetl"
    dist.copy_files(dist.tracked_files(ROOT), ROOT, other)
    environ = {**os.environ, "SOURCE_DATE_EPOCH": dist.epoch(ROOT), "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    words = [sys.executable, str(other / "scripts" / "dist.py"), "--into", str(tmp_path / "dist")]

    subprocess.run(words, env=environ, umask=0o077, check=True, capture_output=True)

    assert digests((tmp_path / "dist").iterdir()) == digests(built)


def test_the_wheel_has_pages_migrations_types_and_licence_and_no_tests(built):
    names = set(dist.contents(built[1]))

    assert {"noetl/py.typed", "noetl/ui/built/index.html", "noetl/testing/services.py"} <= names
    assert {"noetl/stores/sql/sqlite_001.sql", "noetl/stores/sql/postgres_001.sql"} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "scripts/", "bench/")) or "__pycache__" in name]


def test_a_file_that_git_does_not_track_is_left_out_and_told(tmp_path):
    root = repository(tmp_path / "repository")
    (root / "src" / "noetl" / "secret.txt").write_text("s3cr3t")

    _, wheel = dist.make(root, tmp_path / "dist")

    assert "noetl/secret.txt" not in dist.contents(wheel)
    assert dist.left_out(root) == ["src/noetl/secret.txt"]


def test_what_was_built_before_does_not_stay_beside_the_new(tmp_path):
    root = repository(tmp_path / "repository")
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "noetl-0.0.0.tar.gz").touch()

    dist.make(root, tmp_path / "dist")

    assert sorted(path.name for path in (tmp_path / "dist").iterdir()) == [
        "noetl-0.0.1-py3-none-any.whl",
        "noetl-0.0.1.tar.gz",
    ]


def test_a_tracked_file_that_the_builder_ignores_is_missed(tmp_path):
    root = repository(tmp_path / "repository", **{".gitignore": "*.tmpl\n", "src/noetl/page.tmpl": "hello"})

    with pytest.raises(dist.DistError, match=r"the sdist lacks 1 files: src/noetl/page\.tmpl"):
        dist.make(root, tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


def test_a_folder_of_this_machine_inside_is_refused(tmp_path):
    where = tmp_path / "repository"
    root = repository(where, **{"src/noetl/place.py": f"HERE = {str(where)!r}\n"})

    with pytest.raises(dist.DistError, match=r"place\.py names .*, a folder of this machine"):
        dist.make(root, tmp_path / "dist")


def test_a_wheel_without_its_licence_is_refused(tmp_path):
    root = repository(tmp_path / "repository", **{"pyproject.toml": PROJECT.replace('["LICENSE"]', "[]")})

    with pytest.raises(dist.DistError, match="licenses/LICENSE is not there"):
        dist.make(root, tmp_path / "dist")


def test_an_unpacked_sdist_builds_the_same_wheel(tmp_path):
    root = repository(tmp_path / "repository")
    sdist, wheel = dist.make(root, tmp_path / "dist")
    unpacked = dist.unpack(sdist, tmp_path / "unpacked")
    shutil.rmtree(root)

    again = dist.build("wheel", unpacked, tmp_path / "again", "1700000000")
    once_more = dist.build("wheel", unpacked, tmp_path / "once-more", "1700000000")

    assert digests([again]) == digests([once_more])
    assert dist.contents(again) == dist.contents(wheel)
