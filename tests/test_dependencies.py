"""pyproject.toml, uv.lock and docs/dependencies.md say the same, and installing without uv takes the locked set too."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from scripts.pins import pins

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK_TEXT = (ROOT / "uv.lock").read_text(encoding="utf-8")
LOCK = tomllib.loads(LOCK_TEXT)
PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").lower()

CORE = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
DEVELOPMENT = PROJECT["dependency-groups"]["dev"]
FOR_DOCS = PROJECT["dependency-groups"]["docs"]


def name_of(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower()


EVERY_REQUIREMENT = [*CORE, *(line for lines in EXTRAS.values() for line in lines), *DEVELOPMENT, *FOR_DOCS]


def test_there_are_at_most_twelve_core_dependencies():
    assert len(CORE) <= 12


@pytest.mark.parametrize("name", sorted({name_of(line) for line in EVERY_REQUIREMENT} - {"noetl"}))
def test_every_dependency_has_its_line_in_the_page(name):
    assert name in PAGE


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_extra_has_its_line_in_the_page(extra):
    assert f"| `{extra}` |" in PAGE


@pytest.mark.parametrize("line", [line for line in CORE if ">=" in line])
def test_the_bound_of_a_core_dependency_is_that_of_the_page(line):
    name, bound = line.split(">=")

    (row,) = [row for row in PAGE.splitlines() if row.startswith(f"| {name.lower()} |")]
    assert row.split("|")[3].strip() == f">={bound}"


def test_the_lock_was_made_from_this_project():
    (locked,) = [package for package in LOCK["package"] if package["name"] == "noetl"]
    metadata = locked["metadata"]

    assert bounds(row for row in metadata["requires-dist"] if "extra" not in row.get("marker", "")) == wanted(CORE)
    assert bounds(metadata["requires-dev"]["dev"]) == wanted(DEVELOPMENT)
    assert bounds(metadata["requires-dev"]["docs"]) == wanted(FOR_DOCS)
    assert set(metadata["provides-extras"]) == set(EXTRAS)


def bounds(rows: Iterable[dict[str, str]]) -> set[tuple[str, str]]:
    return {(row["name"], row.get("specifier", "")) for row in rows}


def wanted(lines: list[str]) -> set[tuple[str, str]]:
    """Name and bound, without the system it is for: Jinja2>=3.1.6, psycopg[binary]>=3.2.10."""
    parts = [re.fullmatch(r"([\w.-]+)(?:\[.*\])?(.*)", line.partition(";")[0].strip()) for line in lines]
    return {(re.sub(r"[-_.]+", "-", part[1]).lower(), part[2]) for part in parts}


def test_the_lock_has_a_hash_for_every_file():
    from_registry = [package for package in LOCK["package"] if "registry" in package["source"]]
    files = [file for package in from_registry for file in [*package.get("wheels", []), package.get("sdist")] if file]

    assert len(files) > len(from_registry)
    assert all(file["hash"].startswith("sha256:") for file in files)


def test_the_pins_name_every_locked_package_once():
    lines = pins(LOCK_TEXT)

    versions = Counter(package["name"] for package in LOCK["package"])
    assert len(lines) == sum(count == 1 for name, count in versions.items() if name != "noetl")
    assert {f"uv=={package['version']}" for package in LOCK["package"] if package["name"] == "uv"} <= set(lines)


def test_a_package_locked_in_two_versions_is_left_to_pip():
    registry = '{ registry = "an index" }'
    rows = [("a", "1"), ("b", "1"), ("b", "2")]
    text = "".join(f'[[package]]\nname = "{n}"\nversion = "{v}"\nsource = {registry}\n' for n, v in rows)

    assert pins(text) == ["a==1"]


def test_installing_from_source_builds_with_the_locked_versions():
    locked = {package["name"]: package for package in LOCK["package"]}
    builder = {"hatchling", *(one["name"] for one in locked["hatchling"]["dependencies"])}

    assert PROJECT["build-system"]["requires"] == ["hatchling>=1.27"]
    assert set(PROJECT["tool"]["uv"]["build-constraint-dependencies"]) == {
        f"{name}=={locked[name]['version']}" for name in builder
    }
