"""What the lock files let in: hashes for all, no scripts at installing, licences that we may pass on."""

import json
import re
import subprocess
import sys
from importlib import metadata

import pytest

from scripts import locked
from scripts.locked import ROOT

PYTHON, PAGES = locked.python_lock(), locked.pages_lock()
LICENCES = locked.licences()
MANIFEST = json.loads((ROOT / "ui" / "package.json").read_text("utf-8"))
PAGE = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
# Packages of ui/ that may run a script when they are installed, and why. npm must not run any other.
MAY_RUN_SCRIPTS: dict[str, str] = {}
# Words of the page for families of packages.
FAMILIES = {
    "@codemirror/": "CodeMirror", "@lezer/": "CodeMirror", "@types/": "TypeScript", "@vitejs/": "Vite",
    "@tanstack/": "@tanstack", "@biomejs/": "Biome", "react-dom": "React",
}  # fmt: skip


def ids(expression):
    return set(re.findall(r"[\w.+-]+", expression)) - {"AND", "OR", "WITH"}


def test_uv_finds_the_lock_in_step_with_the_project():
    command = [sys.executable, "-m", "uv", "lock", "--check", "--offline", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, f"run `make lock`: {done.stderr}"


def test_the_pages_lock_was_made_from_their_manifest():
    root = json.loads((ROOT / "ui" / "package-lock.json").read_text("utf-8"))["packages"][""]

    assert root["dependencies"] == MANIFEST["dependencies"]
    assert root["devDependencies"] == MANIFEST["devDependencies"]


@pytest.mark.parametrize("name", [*MANIFEST["dependencies"], *MANIFEST["devDependencies"]])
def test_every_package_of_the_pages_is_exact_and_has_its_word_in_the_page(name):
    word = next((word for start, word in FAMILIES.items() if name.startswith(start)), name)
    version = {**MANIFEST["dependencies"], **MANIFEST["devDependencies"]}[name]

    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert word.lower() in PAGE.lower()


def test_every_package_of_the_pages_has_a_hash_but_builders_for_other_systems():
    """A registry may lack those; none of them is part of what is shipped (ui/scripts/lock.mjs)."""
    without = [row for row in PAGES.rows.values() if "integrity" not in row]

    assert all(row.get("dev") and row.get("optional") and (row.get("os") or row.get("cpu")) for row in without)
    assert all(package.files for package in PAGES.runtime())


def test_no_package_of_the_pages_runs_a_script_when_it_is_installed():
    scripted = {locked.name_at(place) for place, row in PAGES.rows.items() if row.get("hasInstallScript")}

    assert scripted == MAY_RUN_SCRIPTS.keys()
    assert "ignore-scripts=true" in (ROOT / "ui" / ".npmrc").read_text("utf-8").splitlines()


def test_no_package_of_the_pages_comes_from_an_address():
    assert [place for place, row in PAGES.rows.items() if "resolved" in row or row.get("link")] == []


def test_every_python_package_comes_from_an_index_with_hashes():
    assert [name for (name, _), row in PYTHON.rows.items() if set(row["source"]) != {"registry"}] == []
    assert [package.name for package in PYTHON.every() if not package.files] == []


def test_there_is_a_licence_for_each_package_that_noetl_runs_with_and_no_other():
    assert LICENCES["python"].keys() == {package.name for package in PYTHON.runtime()}


@pytest.mark.parametrize("package", [*PYTHON.runtime(), *PAGES.runtime()], ids=lambda package: package.name)
def test_a_licence_of_what_is_shipped_or_brought_is_one_that_we_may_pass_on(package):
    assert ids(package.licence)
    assert ids(package.licence) <= set(LICENCES["allowed"])


def test_the_licences_of_what_is_built_into_the_pages_go_with_them():
    text = (ROOT / "src" / "noetl" / "ui" / "built" / "licences.md").read_text("utf-8")
    told = set(re.findall(r"^## (\S+) - (\S+) \((.+)\)$", text, re.MULTILINE))

    assert {("react", package.version, "MIT") for package in PAGES.runtime() if package.name == "react"} <= told
    assert told <= {(package.name, package.version, package.licence) for package in PAGES.runtime()}
    assert text.count("Copyright") >= len(told) / 2


@pytest.mark.parametrize("name", LICENCES["python"])
def test_a_licence_is_the_one_that_the_package_states(name):
    """Where it is installed here, and states one as an SPDX expression."""
    try:
        stated = metadata.metadata(name).get("License-Expression")
    except metadata.PackageNotFoundError:
        stated = None

    assert stated in (None, LICENCES["python"][name])


def test_a_package_that_is_needed_through_an_extra_of_another_is_found():
    text = """
[[package]]
name = "ours"
source = { editable = "." }
dependencies = [{ name = "a" }]
[package.optional-dependencies]
more = [{ name = "a", extra = ["x"] }]
[[package]]
name = "a"
version = "1"
source = { registry = "an index" }
dependencies = [{ name = "b", version = "2" }]
optional-dependencies = { x = [{ name = "c" }] }
[[package]]
name = "b"
version = "1"
source = { registry = "an index" }
[[package]]
name = "b"
version = "2"
source = { registry = "an index" }
dependencies = [{ name = "a" }]
[[package]]
name = "c"
version = "1"
source = { registry = "an index" }
"""
    lock = locked.PythonLock(text)

    assert [package.key for package in lock.core()] == [("a", "1"), ("b", "2")]
    assert [package.key for package in lock.runtime()] == [("a", "1"), ("b", "2"), ("c", "1")]


def test_a_package_of_the_pages_is_found_where_node_finds_it():
    rows = {
        "": {},
        "node_modules/a": {"version": "1", "dependencies": {"b": "*"}},
        "node_modules/a/node_modules/b": {"version": "2", "dependencies": {"c": "*"}},
        "node_modules/b": {"version": "1", "dev": True},
        "node_modules/c": {"version": "1", "integrity": "sha512-AAEC"},
    }
    lock = locked.PagesLock(json.dumps({"packages": rows}))

    assert [(one.key, one.needs) for one in lock.runtime()] == [
        (("a", "1"), (("b", "2"),)),
        (("b", "2"), (("c", "1"),)),
        (("c", "1"), ()),
    ]
    assert lock.runtime()[2].files == (("", "sha512", "000102"),)
