"""How tests are shared out among processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
import json
import os

import pytest


@pytest.fixture(autouse=True)
def told(request):
    with open("told.jsonl", "a") as file:
        file.write(json.dumps([os.environ["PYTEST_XDIST_WORKER"], request.node.nodeid]) + "\\n")


@pytest.mark.parametrize("n", range(4))
def test_fast(n):
    pass


@pytest.mark.slow
def test_slow():
    pass


@pytest.mark.xdist_group("pair")
def test_of_a_group():
    assert __file__.endswith("first.py")
"""
SAME_ID = """
import pytest
from _pytest.nodeid import NodeId


def pytest_itemcollected(item):
    if item.originalname == "test_slow":
        item._id = NodeId(path="test_first.py", names=("test_slow",))
"""
COMMAND = [sys.executable, "-m", "pytest", "-p", "tests.shares", "-n", "2", "--dist", "loadgroup"]
SECONDS_MAX = 120.0


def pytest_in(folder: Path, *words: str) -> str:
    """Run two modules of five shares; the summary of failures."""
    for name in ("test_first.py", "test_second.py"):
        (folder / name).write_text(MODULE)
    (folder / "conftest.py").write_text(SAME_ID)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    return subprocess.run(
        [*COMMAND, *words, "--rootdir", str(folder), "-c", "pytest.ini", "."],
        cwd=folder,
        env={"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    ).stdout


@pytest.mark.slow
def test_a_share_stays_in_one_process_and_every_test_runs_once(tmp_path: Path) -> None:
    said = pytest_in(tmp_path, "--no-loadscope-reorder")

    told = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    places: dict[str, set[str]] = {}
    for worker, test in told:
        module, _, name = test.partition("::")
        places.setdefault("pair" if "group" in name else f"{module} {name.partition('[')[0]}", set()).add(worker)
    assert len(told) == 12
    assert all(len(places[share]) == 1 for share in ("pair", "test_first.py test_fast", "test_second.py test_fast"))
    assert "FAILED test_second.py::test_of_a_group - " in said  # by its own id, which `--last-failed` looks for


@pytest.mark.slow
def test_groups_come_first_and_fast_tests_last(tmp_path: Path) -> None:
    pytest_in(tmp_path, "--no-loadscope-reorder", "--maxprocesses", "1")

    tests = [json.loads(line)[1].partition("::")[2] for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert tests[:4] == ["test_of_a_group", "test_of_a_group", "test_slow", "test_slow"]
    assert all(test.startswith("test_fast") for test in tests[4:])
