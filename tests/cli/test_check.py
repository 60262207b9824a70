"""noetl check, as a whole process: exit codes, formats, standard input, repairs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = """apiVersion: noetl.io/v2
kind: Playbook
metadata:
  name: good
workflow:
  - step: start
    tool:
      kind: noop
"""
BAD = GOOD.replace("kind: noop", "kind: nope")
OLD = GOOD.replace("      kind: noop", "      - greet:\n          kind: noop")


def noetl(*words: str, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "noetl", *words], input=stdin, capture_output=True, cwd=cwd, env=environment
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(BAD)
    (tmp_path / "old.yaml").write_text(OLD)
    return tmp_path


def test_a_right_playbook_leaves_with_0_and_says_so(folder: Path) -> None:
    done = noetl("check", "good.yaml", cwd=folder)

    assert (done.returncode, done.stderr) == (0, b"next: noetl run good.yaml\n")
    assert done.stdout.decode() == "checked 1 file: nothing found, ready to run\n"


def test_an_error_leaves_with_1_and_is_printed_with_its_line(folder: Path) -> None:
    done = noetl("check", "bad.yaml", "good.yaml", cwd=folder)

    assert done.returncode == 1
    assert "bad.yaml:8:13: error NL303: " in done.stdout.decode()
    assert "    8 |       kind: nope\n      |             ^^^^\n" in done.stdout.decode()
    assert done.stdout.decode().endswith("checked 2 files: 1 error\n")


def test_json_is_one_document_and_nothing_else(folder: Path) -> None:
    done = noetl("check", "bad.yaml", "--format", "json", cwd=folder)

    findings = json.loads(done.stdout)
    assert done.returncode == 1
    assert [
        (one["code"], one["rule"], one["severity"], one["path"], one["line"], one["column"]) for one in findings
    ] == [("NL303", "unknown-kind", "error", "bad.yaml", 8, 13)]
    assert {"message", "why", "fix"} <= set(findings[0])


def test_json_of_a_right_playbook_is_an_empty_list(folder: Path) -> None:
    assert json.loads(noetl("check", "good.yaml", "--format", "json", cwd=folder).stdout) == []


def test_sarif_names_the_rule_and_the_region(folder: Path) -> None:
    log = json.loads(noetl("check", "bad.yaml", "--format", "sarif", cwd=folder).stdout)

    run = log["runs"][0]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][0]["id"] == run["results"][0]["ruleId"] == "NL303"
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 8


def test_github_annotations_escape_what_would_end_them(folder: Path) -> None:
    lines = noetl("check", "bad.yaml", "--format", "github", cwd=folder).stdout.decode().splitlines()

    assert len(lines) == 1
    assert lines[0].startswith("::error file=bad.yaml,line=8,endLine=8,col=13,endColumn=17,title=NL303 unknown-kind::")


def test_standard_input_is_read_for_a_dash() -> None:
    done = noetl("check", "-", stdin=BAD.encode())

    assert done.returncode == 1
    assert done.stdout.startswith(b"<stdin>:8:13: error NL303")


def test_a_file_that_is_not_there_leaves_with_2_and_the_others_are_checked(folder: Path) -> None:
    done = noetl("check", "missing.yaml", "bad.yaml", cwd=folder)

    assert done.returncode == 2
    assert b'cannot read "missing.yaml"' in done.stderr
    assert b"NL303" in done.stdout
    assert b"Traceback" not in done.stderr


def test_a_directory_stands_for_the_playbooks_below_it(folder: Path) -> None:
    done = noetl("check", ".", cwd=folder)

    assert done.stdout.decode().splitlines()[-1].startswith("checked 3 files: 1 error")


def test_the_first_playbook_of_a_directory_is_what_to_run_next(tmp_path: Path) -> None:
    (tmp_path / "a.test.yaml").write_text(
        "apiVersion: noetl.io/v2\nkind: PlaybookTest\nmetadata: {name: t}\nplaybook: b.yaml\n"
    )
    (tmp_path / "b.yaml").write_text(GOOD)
    (tmp_path / "c.yaml").write_text(GOOD)

    assert noetl("check", ".", cwd=tmp_path).stderr.decode() == f"next: noetl run .{os.sep}b.yaml\n"


@pytest.mark.spec("DI-02")
def test_strict_makes_deprecated_spellings_errors(folder: Path) -> None:
    assert noetl("check", "old.yaml", cwd=folder).returncode == 0
    assert noetl("check", "--strict", "old.yaml", cwd=folder).returncode == 1


@pytest.mark.spec("DI-02")
def test_fix_repairs_in_place_and_touches_nothing_else(folder: Path) -> None:
    path = folder / "old.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + OLD.replace("\n", "\r\n").encode() + b"# the end")
    path.chmod(0o640)

    done = noetl("check", "--strict", "--fix", "old.yaml", cwd=folder)

    assert done.returncode == 0
    assert (
        path.read_bytes()
        == b"\xef\xbb\xbf"
        + GOOD.replace("      kind: noop", "      - name: greet\n        kind: noop").replace("\n", "\r\n").encode()
        + b"# the end"
    )
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in folder.iterdir()) == ["bad.yaml", "good.yaml", "old.yaml"]


def test_fix_of_standard_input_prints_the_repaired_text() -> None:
    done = noetl("check", "--fix", "-", stdin=OLD.encode())

    assert done.stdout.decode() == GOOD.replace("      kind: noop", "      - name: greet\n        kind: noop")
    assert b"repaired 1 finding" in done.stderr


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"[" * 50_000, b"a: &a [*a]", b"", b"\x00" * 10, b"{{ x }}"])
def test_whatever_bytes_come_in_there_is_no_traceback(data: bytes) -> None:
    done = noetl("check", "-", stdin=data)

    assert done.returncode == 1
    assert b"Traceback" not in done.stdout + done.stderr
    assert b"error NL1" in done.stdout


def test_explain_prints_the_page_of_a_code_or_a_name() -> None:
    by_code, by_name = noetl("explain", "nl301"), noetl("explain", "jump-to-unknown-task")

    assert by_code.returncode == 0
    assert by_code.stdout == by_name.stdout
    assert by_code.stdout.startswith(b"NL301 jump-to-unknown-task (error)\n")


def test_explain_guesses_the_near_miss_of_an_unknown_code() -> None:
    done = noetl("explain", "jump-to-unknown-tsk")

    assert done.returncode == 2
    assert b'did you mean "jump-to-unknown-task"?' in done.stderr


def test_explain_without_a_code_lists_every_rule() -> None:
    assert b"\nNL301  error    jump-to-unknown-task: " in noetl("explain").stdout


def test_a_directory_without_playbooks_is_wrong_input_and_not_ready_to_run(tmp_path: Path) -> None:
    done = noetl("check", str(tmp_path))

    assert done.returncode == 2
    assert b"there is no playbook in" in done.stderr
    assert b"ready to run" not in done.stdout


def test_more_findings_than_anyone_reads_are_cut_and_that_is_said(tmp_path: Path) -> None:
    steps = "".join(f"  - {{step: s{number}, toool: 1}}\n" for number in range(1200))
    (tmp_path / "many.yaml").write_text(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: m}\nworkflow:\n" + steps
    )

    done = noetl("check", str(tmp_path / "many.yaml"))

    assert b"only the first 1,000 findings are shown" in done.stdout
