"""The tooling that ties tests to the specification: cited ids must exist, and the page made of them is repeatable."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spec import conformance
from tests.spec.requirements import Requirement, read_requirements, requirements

ROOT = Path(__file__).parent.parent.parent


def run(arguments: list[str], cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    environment.pop("PYTEST_ADDOPTS", None)
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def run_pytest(folder: Path, citation: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = spec(*ids): cited\n")
    (folder / "test_claim.py").write_text(
        f"import pytest\n\n@pytest.mark.spec({citation})\ndef test_claim():\n    pass\n"
    )
    return run(["-m", "pytest", "-p", "tests.spec.citations", *arguments], folder, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


@pytest.mark.parametrize("arguments", [(), ("-p", "xdist", "-n", "1")], ids=["alone", "xdist"])
def test_a_citation_of_an_unknown_id_fails_the_run(tmp_path, arguments):
    outcome = run_pytest(tmp_path, '"RT-02", "RT_02"', *arguments)

    assert outcome.returncode not in (0, 5)
    assert (
        'test_claim.py::test_claim cites "RT_02", which is not in tests/spec/requirements.yaml; did you mean RT-02?'
    ) in outcome.stdout
    assert "passed" not in outcome.stdout


@pytest.mark.parametrize("citation", ["", 'id="RT-02"', '["RT-02"]'])
def test_a_citation_that_is_not_a_list_of_ids_fails_the_run(tmp_path, citation):
    outcome = run_pytest(tmp_path, citation)

    assert outcome.returncode not in (0, 5)
    assert "test_claim.py::test_claim" in outcome.stdout


def test_a_citation_of_known_ids_passes(tmp_path):
    outcome = run_pytest(tmp_path, '"RT-01", "RT-02"')

    assert outcome.returncode == 0, outcome.stdout


def test_the_requirements_are_read_whole():
    wanted = requirements()

    assert len(wanted) == conformance_source().count("  - {id: ")
    assert wanted["PB-01"].section == "playbook"
    assert {row.level for row in wanted.values()} == {"must", "should", "may"}


def conformance_source() -> str:
    return (ROOT / "tests" / "spec" / "requirements.yaml").read_text(encoding="utf-8")


def test_a_requirement_listed_twice_is_refused():
    row = "{id: PB-01, level: must, rule: r}"

    with pytest.raises(ValueError, match="PB-01 is listed twice"):
        read_requirements(f"a: [{row}]\nb: [{row}]")


WANTED = {
    "PB-01": Requirement("PB-01", "playbook", "must", "First."),
    "PB-02": Requirement("PB-02", "playbook", "may", "Writes _ref and a|b."),
    "RT-01": Requirement("RT-01", "routing", "should", "Third."),
}


def test_the_page_names_the_tests_of_each_id_and_the_ids_without():
    page = conformance.render(WANTED, {"PB-01": {"tests/b.py::test_b", "tests/a.py::test_a"}})

    assert "1 of 3 requirements" in page
    assert "## Playbook\n\n**PB-01** (must) First.\n\n- `tests/a.py::test_a`\n- `tests/b.py::test_b`\n" in page
    assert page.endswith(
        "## Nothing proves these yet\n\n- **PB-02** (may) Writes \\_ref and a\\|b.\n- **RT-01** (should) Third.\n"
    )


def test_the_page_of_a_proved_specification_has_no_list_of_gaps():
    page = conformance.render(WANTED, {key: {"tests/a.py::test_a"} for key in WANTED})

    assert "3 of 3 requirements" in page
    assert "Nothing proves" not in page


def test_the_page_tells_what_only_the_checker_has_proved():
    wanted = {"RT-02": Requirement("RT-02", "routing", "must", "Runs."), **WANTED}
    page = conformance.render(wanted, {"RT-02": {"tests/dsl/a.py::test_a"}, "RT-01": {"tests/dsl/a.py::test_a"}})

    assert "1 of 4 requirements are proved, 1 more in part." in page
    assert "**RT-02** (must) Runs. — *so far only what can be seen without a run*\n" in page
    assert "**RT-01** (should) Third.\n" in page


def test_the_page_tells_what_is_missing_of_a_requirement_that_is_proved_in_part(monkeypatch):
    monkeypatch.setitem(conformance.IN_PART, "RO-01", "without clictl and the server's API")
    wanted = {"RO-01": Requirement("RO-01", "roles", "must", "Three roles.")}
    page = conformance.render(wanted, {"RO-01": {"tests/control/a.py::test_a"}})

    assert "0 of 1 requirements are proved, 1 more in part." in page
    assert "**RO-01** (must) Three roles. — *so far without clictl and the server's API*\n" in page


def test_every_requirement_proved_in_part_exists():
    assert set(conformance.IN_PART) <= set(requirements())


def test_collecting_drops_parameters_and_reads_classes(tmp_path):
    (tmp_path / "test_claims.py").write_text(
        "import pytest\n\n"
        '@pytest.mark.parametrize("n", [1, 2])\n@pytest.mark.spec("RT-01")\ndef test_each(n): pass\n\n'
        '@pytest.mark.spec("RT-02")\nclass TestAll:\n    @pytest.mark.spec("RT-03")\n    def test_one(self): pass\n'
    )

    outcome = run(["-c", COLLECT, str(tmp_path)], ROOT)

    assert outcome.stdout.splitlines() == ["RT-01 test_each", "RT-02 TestAll::test_one", "RT-03 TestAll::test_one"]


COLLECT = """
import sys
from pathlib import Path
from tests.spec.conformance import collect
for requirement_id, tests in sorted(collect(Path(sys.argv[1])).items()):
    print(requirement_id, *(test.partition("::")[2] for test in tests))
"""


def test_a_test_file_that_cannot_be_imported_stops_the_page(tmp_path):
    (tmp_path / "test_broken.py").write_text("import nothing_of_this_name")

    outcome = run(["-c", COLLECT, str(tmp_path)], ROOT)

    assert outcome.returncode == 1
    assert "nothing_of_this_name" in outcome.stderr


@pytest.mark.parametrize(("page", "code"), [("as it should be", 0), ("old", 1), (None, 1)])
def test_the_check_compares_the_page_with_the_tests(monkeypatch, tmp_path, capsys, page, code):
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(conformance, "ROOT", tmp_path)
    monkeypatch.setattr(conformance, "PAGE", tmp_path / "docs" / "conformance.md")
    monkeypatch.setattr(conformance, "collect", lambda folder: {})
    monkeypatch.setattr(conformance, "render", lambda wanted, tests: "as it should be")
    if page is not None:
        conformance.PAGE.write_text(page)

    assert conformance.main(["--check"]) == code

    said = capsys.readouterr()
    assert ("up to date" in said.out) == (code == 0)
    assert ("run `make conformance`" in said.err) == (code == 1)
