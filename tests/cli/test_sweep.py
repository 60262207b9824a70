"""noetl sweep, as a user meets it."""

import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from noetl.cli.main import main
from tests.runner.runs import run

DAY = 24 * 3600
LARGE = """
workflow:
  - step: start
    tool:
      kind: noop
      input: {made: "{{ workload.text }}"}
      spec: {result: {ttl: TTL}}
"""


def swept(capsys: pytest.CaptureFixture[str], home: Path, *options: str) -> str:
    capsys.readouterr()
    assert main(["sweep", "--home", str(home), *options]) == 0
    return capsys.readouterr().out


def results_in(home: Path) -> list[Path]:
    return [path for path in (home / "noetl.results").rglob("*") if path.is_file()]


def make_older(home: Path, seconds: float) -> None:
    """As if everything there had been stored, and every execution had ended, so long ago."""
    for file in results_in(home):
        os.utime(file, (time.time() - seconds, time.time() - seconds))
    with closing(sqlite3.connect(home / "noetl.db")) as database:
        database.execute("UPDATE execution SET ended_at = ended_at - ?", (seconds,))
        database.commit()


@pytest.mark.spec("RS-08")
def test_a_result_goes_when_its_ttl_and_a_day_have_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(tmp_path, LARGE.replace("TTL", "1"), text="x" * 100_000)
    assert ran.output["ref"]["meta"]["ttl"] == 1

    young = swept(capsys, tmp_path)
    make_older(tmp_path, 2 * DAY)
    dry = swept(capsys, tmp_path, "--dry-run")
    files_after_dry = len(results_in(tmp_path))
    real = json.loads(swept(capsys, tmp_path, "--format", "json"))

    assert young.startswith("removed 0 results (0 B), kept 2 results")
    assert dry.startswith("would remove 1 result (98 KiB), kept 1 result")
    assert files_after_dry == 2
    assert (real["removed"], real["kept"], real["dry_run"]) == (1, 1, False)


@pytest.mark.spec("RS-08")
def test_keep_days_is_for_those_without_a_ttl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, LARGE.replace("TTL", str(30 * DAY)), text="x" * 100_000)
    make_older(tmp_path, 2 * DAY)

    for_ever = swept(capsys, tmp_path)
    at_once = swept(capsys, tmp_path, "--keep-days", "0")

    assert for_ever.startswith("removed 0 results")
    assert at_once.startswith("removed 1 result (")  # the workload; the result has a ttl of its own


@pytest.mark.spec("RS-08")
def test_reading_what_was_swept_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(tmp_path, LARGE.replace("TTL", "1"), text="x" * 100_000)
    for file in results_in(tmp_path):
        file.unlink()

    again = run(
        tmp_path, "workflow: [{step: s, tool: {kind: resolve, ref: '{{ workload.ref }}'}}]", ref=ran.output["ref"]
    )

    assert again.error["kind"] == "ref_missing"
    assert "may have been swept" in again.error["message"]


def test_a_home_in_which_nothing_ran_has_nothing_to_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert swept(capsys, tmp_path / "new") == "removed 0 results (0 B), kept 0 results (0 B)\n"
    assert not (tmp_path / "new").exists()


def test_help_names_what_goes() -> None:
    from noetl.cli.sweep import command

    assert "nothing needs any more" in CliRunner().invoke(command, ["--help"]).output
