"""The plain run is understood as click would understand it, and whatever is not plain is left to click."""

import gc
import subprocess
import sys

import pytest

from noetl.cli.group import _load
from noetl.cli.main import VERBS
from noetl.cli.plain import COMPLETE_VARIABLE, PlainRun, plain_run

DEFAULTS = {"assignments": (), "payload": None, "legacy": False, "compat": None, "request_key": None}
DEFAULTS |= {"record": None, "force": False}
DEFAULTS |= {"wait_seconds": 0.0, "home": None, "store": None}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a playbook, and one whose name reads as an option."""
    for name in ("a.yaml", "-b.yaml"):
        (tmp_path / name).write_text("kind: Playbook\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "understood"),
    [
        ("a.yaml", PlainRun("a.yaml")),
        ("./a.yaml", PlainRun("./a.yaml")),
        ("a.yaml --quiet", PlainRun("a.yaml", is_quiet=True)),
        ("-q a.yaml -q", PlainRun("a.yaml", is_quiet=True)),
        ("a.yaml --format json", PlainRun("a.yaml", "json")),
        ("--format json --format text a.yaml", PlainRun("a.yaml")),
    ],
)
def test_a_plain_run_is_understood_as_click_understands_it(here, line, understood):
    words = line.split()

    context = _load(VERBS["run"].target).make_context("run", [*words])

    assert plain_run(["run", *words]) == plain_run(["exec", *words]) == understood
    said_of_it = {"target": understood.file, "form": understood.form, "quiet": understood.is_quiet}
    assert context.params == {**DEFAULTS, **said_of_it}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "check a.yaml",
        "run",
        "run -",
        "run missing.yaml",
        "run .",
        "run reports/daily@3",
        "run a.yaml a.yaml",
        "run a.yaml --help",
        "run a.yaml --set x=1",
        "run a.yaml --server http://127.0.0.1:1",
        "run a.yaml --format",
        "run a.yaml --format yaml",
        "run a.yaml --format=json",
        "run a.yaml --forma json",
        "run -b.yaml",
        "run -- a.yaml",
        "run -qq a.yaml",
        "--help run a.yaml",
    ],
)
def test_whatever_is_not_plain_is_left_to_click(here, line):
    assert plain_run(line.split()) is None


def test_a_shell_that_asks_for_completion_is_answered_by_click(here, monkeypatch):
    monkeypatch.setenv(COMPLETE_VARIABLE, "bash_complete")

    assert plain_run(["run", "a.yaml"]) is None


LAST_LOOK = """
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count() > 1000, gc.get_threshold()[0]))  # the first to ask is called last
from noetl.cli import main
main(["--version"])
"""


def test_a_process_ends_without_looking_for_garbage_once_more():
    said = subprocess.run([sys.executable, "-c", LAST_LOOK], capture_output=True, text=True, timeout=60, check=True)

    assert said.stdout.splitlines()[-1] == "True 100000"
    assert gc.get_freeze_count() < 1000, "only at the end: a caller in the same process goes on collecting"
