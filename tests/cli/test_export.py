"""export and import, as whole processes: an execution as a file, from a home or a server, into another home."""

import json
import stat

import pytest

from noetl.cli import exits, export
from noetl.cli.main import main
from noetl.control import brought
from tests.cli.remote_server import serving
from tests.cli.running import FAIL, GREET, WAIT, document, noetl

pytestmark = pytest.mark.slow  # several processes each


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    for name, text in {"greet": GREET, "fail": FAIL, "wait": WAIT}.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.fixture
def elsewhere(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def run(home, name):
    """Run a playbook; the execution's id."""
    return document(noetl("run", f"{name}.yaml", "--format", "json", home=home))["execution_id"]


def lines_of(text):
    """An export as documents, without when it was made, and without the end behind the events."""
    header, *lines = map(json.loads, text.splitlines())
    events = lines[: header["events"]]
    assert header.pop("exported_at")
    return [header, *events]


# --- export ----------------------------------------------------------------------------------------------------------


def test_an_execution_is_written_to_a_file_named_after_it(home):
    execution_id = run(home, "greet")

    done = noetl("export", "last", home=home)

    file = home / f"trial-{execution_id}.noetl"
    header, *events = lines_of(file.read_text())
    log = [json.loads(line) for line in noetl("events", "last", "--format", "json", home=home).stdout.splitlines()]
    assert (done.returncode, done.stdout.split()[0]) == (exits.DONE, file.name)
    assert (header["format"], header["events"], header["execution"]["status"]) == (
        "noetl.execution",
        len(log),
        "success",
    )
    assert [event["name"] for event in events] == [event["name"] for event in log]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_is_there_stays_unless_it_is_said(home):
    run(home, "greet")
    (home / "kept.noetl").write_text("mine")

    refused = noetl("export", "last", "-o", "kept.noetl", home=home)
    kept = (home / "kept.noetl").read_text()
    forced = noetl("export", "last", "-o", "kept.noetl", "--force", "--format", "json", home=home)

    assert (refused.returncode, kept) == (exits.WRONG_INPUT, "mine")
    assert "--force" in refused.stderr
    assert document(forced)["bytes"] == len((home / "kept.noetl").read_bytes()) > 100
    assert [path.name for path in home.glob(".noetl-*")] == []


def test_a_log_that_is_too_long_to_be_imported_is_written_and_that_is_said(home, monkeypatch, capsys):
    run(home, "greet")
    monkeypatch.chdir(home)
    monkeypatch.setenv("NOETL_HOME", str(home / ".noetl"))
    limits = (export.IMPORTED_EVENTS_MAX, export.IMPORTED_BYTES_MAX)
    events = len(noetl("events", "last", "--format", "json", home=home).stdout.splitlines())

    monkeypatch.setattr(export, "IMPORTED_EVENTS_MAX", events)
    main(["export", "last", "-o", "fits.noetl"])
    fits = capsys.readouterr().err
    monkeypatch.setattr(export, "IMPORTED_EVENTS_MAX", events - 1)
    main(["export", "last", "-o", "large.noetl"])
    large = capsys.readouterr().err
    main(["export", "last", "-o", "again.noetl", "--format", "json"])

    assert limits == (brought.EVENTS_MAX, brought.FILE_BYTES_MAX)
    assert fits.splitlines() == ["next: noetl import fits.noetl"]
    assert f"and this has {events} events" in large
    assert "next: noetl import" not in large
    assert json.loads(capsys.readouterr().out)["is_importable"] is False


def test_a_folder_gets_a_file_of_the_usual_name(home, elsewhere):
    execution_id = run(home, "greet")

    noetl("export", execution_id, "-o", str(elsewhere), home=home)

    assert (elsewhere / f"trial-{execution_id}.noetl").exists()


def test_standard_output_gets_the_file_and_nothing_else(home):
    execution_id = run(home, "fail")

    done = noetl("export", execution_id, "-o", "-", home=home)

    assert lines_of(done.stdout)[0]["execution"]["status"] == "failed"
    assert [path.name for path in home.glob("*-*.noetl")] == []


@pytest.mark.parametrize("words", [("export", "99"), ("export", "nothing"), ("import", "nothing.noetl")], ids=" ".join)
def test_what_is_not_there_is_said(home, words):
    run(home, "greet")

    assert noetl(*words, home=home).returncode == exits.WRONG_INPUT


def test_a_server_gives_the_same_file(tmp_path):
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "greet.yaml").write_text(GREET)
    with serving(folder / ".noetl") as server:
        run_there = noetl("run", "greet.yaml", "--server", server.url, "--format", "json", home=folder)
        execution_id = document(run_there)["execution_id"]

        remote = noetl("export", execution_id, "--server", server.url, home=folder)
        missing = noetl("export", "99", "--server", server.url, home=folder)
        local = noetl("export", execution_id, "-o", "-", home=folder)

    assert (remote.returncode, missing.returncode) == (exits.DONE, exits.WRONG_INPUT)
    assert lines_of((folder / f"trial-{execution_id}.noetl").read_text()) == lines_of(local.stdout)


# --- import ----------------------------------------------------------------------------------------------------------


def imported(home, elsewhere, execution_id):
    noetl("export", execution_id, "-o", str(elsewhere / "run.noetl"), home=home)
    return noetl("import", "run.noetl", "--format", "json", home=elsewhere)


def test_an_imported_execution_is_a_finished_record_of_the_other_store(home, elsewhere):
    run(home, "greet")
    execution_id = run(home, "fail")

    row = document(imported(home, elsewhere, execution_id))

    here = document(noetl("show", execution_id, "--format", "json", home=home))
    there = document(noetl("show", row["execution_id"], "--format", "json", home=elsewhere))
    verified = noetl("replay", row["execution_id"], "--verify", home=elsewhere)
    catalog = json.loads(noetl("catalog", "list", "--format", "json", home=elsewhere).stdout)
    assert (row["execution_id"], row["status"], row["is_new"]) == ("1", "failed", True)
    assert there | {"execution_id": execution_id, "version": here["version"]} == here
    assert (there["version"], [(one["path"], one["version"]) for one in catalog]) == (1, [("tests/trial", 1)])
    assert verified.returncode == exits.DONE


def test_the_same_file_again_is_the_same_execution(home, elsewhere):
    first = document(imported(home, elsewhere, run(home, "greet")))

    again = noetl("import", "run.noetl", home=elsewhere)

    assert "which was imported before" in again.stdout
    assert len(json.loads(noetl("list", "--format", "json", home=elsewhere).stdout)) == 1
    assert again.stdout.startswith(f"execution {first['execution_id']} ")


def test_an_imported_execution_can_be_run_again(home, elsewhere):
    row = document(imported(home, elsewhere, run(home, "greet")))

    done = noetl("run", f"{row['path']}@{row['version']}", "--format", "json", home=elsewhere)

    assert document(done)["status"] == "success"


def test_one_that_had_not_ended_is_refused_for_it_would_go_on_by_itself(home, elsewhere):
    done = imported(home, elsewhere, run(home, "wait"))

    assert done.returncode == exits.WRONG_INPUT
    assert "had not ended when it was exported (waiting)" in done.stderr
    assert json.loads(noetl("list", "--format", "json", home=elsewhere).stdout or "[]") == []


def test_the_export_of_one_that_has_not_ended_says_that_it_is_not_to_be_imported_yet(home, elsewhere):
    waiting = run(home, "wait")

    done = noetl("export", waiting, "-o", str(elsewhere), home=home)
    row = document(noetl("export", waiting, "-o", str(elsewhere), "--force", "--format", "json", home=home))

    assert done.returncode == exits.DONE
    assert "has not ended" in done.stderr
    assert "next: noetl import" not in done.stderr
    assert row["is_importable"] is False


def test_a_damaged_file_is_told_by_its_line_and_nothing_is_kept(home, elsewhere):
    noetl("export", run(home, "greet"), "-o", str(elsewhere / "run.noetl"), home=home)
    file = elsewhere / "run.noetl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:5], lines[5][:-4], *lines[6:]]))

    done = noetl("import", "run.noetl", home=elsewhere)

    assert done.returncode == exits.WRONG_INPUT
    assert "line 6 of the exported execution" in done.stderr
    assert json.loads(noetl("catalog", "list", "--format", "json", home=elsewhere).stdout or "[]") == []


def test_a_file_comes_by_standard_input_too(home, elsewhere):
    exported = noetl("export", run(home, "greet"), "-o", "-", home=home).stdout

    done = noetl("import", "-", "--format", "json", home=elsewhere, stdin=exported.encode())

    assert document(done)["is_new"]
