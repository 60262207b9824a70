"""noetl rerun --where: all executions of a filter, each by itself and none of them twice."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from noetl.cli import exits
from tests.cli.running import GREET, HEAD, document, noetl

pytestmark = pytest.mark.slow

FAILS = (
    HEAD.replace("tests/trial", "tests/fails")
    + """workload: {is_bad: true, reach: 3}
workflow:
  - step: read
    tool: {name: one, kind: noop}
    next: {arcs: [{step: load}]}
  - step: load
    loop: {in: "{{ range(workload.reach) }}", iterator: i}
    tool: {name: put, kind: noop, input: {row: "{{ 1 // (0 if workload.is_bad and i == 2 else 1) }}"}}
"""
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "fails.yaml").write_text(FAILS)
    (tmp_path / "greet.yaml").write_text(GREET)
    for _ in range(2):
        assert noetl("run", "fails.yaml", "--quiet", home=tmp_path).returncode == exits.FAILED
    assert noetl("run", "greet.yaml", "--quiet", home=tmp_path).returncode == exits.DONE
    return tmp_path


def many(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return noetl("rerun", "--where", "status=failed", "--where", "path=tests/*", *words, home=home)


def rows(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_each_of_them_runs_again_once(home: Path) -> None:
    mended = ("--from-failed", "--set", "is_bad=false", "--yes", "--format", "json")

    first, second = many(home, *mended), many(home, *mended)

    assert first.returncode == second.returncode == exits.DONE, first.stderr
    assert [(row["execution_id"], row["status"], row["is_new"]) for row in rows(first)] == [
        ("2", "success", True),
        ("1", "success", True),
    ]
    assert [(row["new_execution_id"], row["is_new"]) for row in rows(second)] == [
        (row["new_execution_id"], False) for row in rows(first)
    ]
    assert len(document(noetl("list", "--format", "json", home=home))) == 5


def test_what_is_refused_or_fails_again_is_said_and_the_others_go_on(home: Path) -> None:
    assert noetl("run", "fails.yaml", "--payload", '{"reach": 0, "is_bad": 1}', home=home).returncode == exits.DONE

    refused = many(home, "--from", "nowhere", "--yes")
    failed = many(home, "--from-failed", "--yes", "--limit", "2")

    assert refused.returncode == failed.returncode == exits.FAILED
    assert refused.stdout.count("refused") == 2
    assert 'step "nowhere" did not run' in refused.stdout
    assert failed.stdout.count("failed") >= 2
    assert "next: noetl show" in failed.stderr


def test_nothing_runs_before_somebody_said_so(home: Path) -> None:
    asked = many(home)
    looked = many(home, "--dry-run", "--format", "json")
    too_many = many(home, "--limit", "1", "--yes")
    unknown = noetl("rerun", "--where", "colour=red", "--yes", home=home)
    both = noetl("rerun", "1", "--where", "status=failed", home=home)
    no_status = noetl("rerun", "--where", "status=odd", "--yes", home=home)

    assert [one.returncode for one in (asked, too_many, unknown, both, no_status)] == [exits.WRONG_INPUT] * 5
    assert "say --yes" in asked.stderr
    assert "raise --limit" in too_many.stderr
    assert "status=…" in unknown.stderr
    assert 'error: --where: "odd" is none; there are running' in no_status.stderr
    assert [row["execution_id"] for row in rows(looked)] == ["2", "1"]
    assert len(document(noetl("list", "--format", "json", home=home))) == 3


def test_a_filter_that_would_be_passed_over_is_refused(home: Path) -> None:
    twice = noetl("rerun", "--where", "status=failed", "--where", "status=success", "--yes", home=home)
    neither = noetl("rerun", "--where", "root=perhaps", "--yes", home=home)

    assert [one.returncode for one in (twice, neither)] == [exits.WRONG_INPUT] * 2
    assert "--where names status twice; several statuses are named with commas" in twice.stderr
    assert "root=true or root=false" in neither.stderr


def test_none_like_that_is_no_failure(home: Path) -> None:
    done = noetl("rerun", "--where", "q=nothing", "--yes", "--format", "json", home=home)

    assert (done.returncode, rows(done)) == (exits.DONE, [])
