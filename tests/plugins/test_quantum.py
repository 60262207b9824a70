"""The plugin of examples/plugins, installed beside NoETL and used through whole processes."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.running import document, noetl
from tests.plugins.packages import QUANTUM

BELL = QUANTUM / "examples" / "bell.yaml"
ENABLED = {"NOETL_TOOLS_PLUGINS": "quantum"}


@pytest.fixture
def installed(packages):
    packages.add_quantum()
    return packages.environ


@pytest.mark.slow
@pytest.mark.spec("TL-02")
def test_an_enabled_plugin_runs_and_follows_the_placement_of_its_playbook(tmp_path, installed):
    found = document(noetl("run", str(BELL), "--format", "json", home=tmp_path, **installed, **ENABLED))

    assert (found["status"], found["output"]["data"]) == ("success", {"outcomes": ["00", "11"], "backend": "single"})


@pytest.mark.spec("TL-02")
def test_the_configuration_file_enables_a_plugin_too(tmp_path, installed):
    (tmp_path / "noetl.toml").write_text('[tools]\nplugins = ["quantum"]\n')

    done = noetl("check", str(BELL), home=tmp_path, **installed)

    assert (done.returncode, done.stdout) == (0, "checked 1 file: nothing found, ready to run\n")


@pytest.mark.spec("TL-02", "TL-03")
def test_the_fields_of_an_enabled_plugin_are_checked_before_a_run(tmp_path, installed):
    (tmp_path / "wrong.yaml").write_text(BELL.read_text("utf-8").replace("seed: 7", "sede: 7\n        backend: [1]"))

    done = noetl("check", "wrong.yaml", "--format", "json", home=tmp_path, **installed, **ENABLED)

    assert done.returncode == 1
    assert "sede" in done.stdout
    assert [finding["severity"] for finding in json.loads(done.stdout)].count("error") == 2


@pytest.mark.spec("TL-02")
def test_the_schema_for_editors_knows_an_enabled_plugin_and_no_other(tmp_path, installed):
    with_it = document(noetl("schema", home=tmp_path, **installed, **ENABLED))
    without = document(noetl("schema", home=tmp_path, **installed))

    definitions = "$defs" if "$defs" in with_it else "definitions"
    assert "circuit" in json.dumps(with_it[definitions]["kind.quantum"])
    assert "kind.quantum" not in without[definitions]


@pytest.mark.spec("TL-02")
@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_plugin_that_is_not_enabled_is_not_imported_and_the_error_says_how_to_enable_it(tmp_path, packages, verb):
    packages.add("noetl-quantum", kinds={"quantum": "planted"}, modules={"planted": "raise SystemExit('imported')"})

    done = noetl(verb, str(BELL), home=tmp_path, **packages.environ)

    said = done.stdout + done.stderr
    assert done.returncode == (1 if verb == "check" else 2)
    assert 'has the kind "quantum", which no tool answers to' in said
    assert (
        "why: noetl-quantum 1.0 brings this kind, but it is not enabled here, and a playbook cannot enable it" in said
    )
    assert 'adds "quantum" to tools.plugins in noetl.toml, or to NOETL_TOOLS_PLUGINS' in said
    assert "imported" not in said


@pytest.mark.slow
@pytest.mark.spec("TK-19", "TL-02")
def test_an_error_of_the_plugins_own_kind_reaches_the_result(tmp_path, installed):
    (tmp_path / "wrong.yaml").write_text(BELL.read_text("utf-8").replace("cx 0 1", "cx 0 0"))

    found = document(noetl("run", "wrong.yaml", "--format", "json", home=tmp_path, **installed, **ENABLED))

    assert (found["status"], found["error"]["kind"]) == ("failed", "quantum.circuit")
    assert found["error"]["message"] == "line 2: cx names a qubit twice"


@pytest.mark.slow
@pytest.mark.spec("TL-02")
def test_the_plugins_own_tests_pass():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(QUANTUM)],
        cwd=QUANTUM,
        env={**os.environ, "PYTHONPATH": str(QUANTUM / "src")},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
