"""How run and resume end: exit codes and what is said, for every status."""

import json

import pytest

from noetl.cli import voice
from noetl.cli.endings import finish
from noetl.server import RunResult

FAILURE = {"kind": "connection", "message": "refused", "step": "load", "task": "fetch"}


@pytest.fixture(autouse=True)
def nothing_heard(monkeypatch):
    """Whatever command line an earlier test had in this process."""
    monkeypatch.setattr(voice, "heard", ())


def summary(status="success", data=None, error=None, **facts):
    output = {"status": "ok", "data": data, "ref": None, "error": None, "meta": {}}
    return {
        "execution_id": "7", "status": status, "output": output, "ctx": {}, "error": error, "steps": [],
        "duration_ms": 1200, **facts,
    }  # fmt: skip


def end(found, form="text", is_interrupted=False):
    return finish(RunResult(summary=found, is_interrupted=is_interrupted), form, lambda step, task: "orders.yaml:3:5")


@pytest.mark.parametrize(
    ("status", "is_interrupted", "code"),
    [
        ("success", False, 0),
        ("failed", False, 1),
        ("cancelled", False, 1),
        ("incident", False, 1),
        ("waiting", False, 4),
        ("running", True, 130),
        ("waiting", True, 130),
        ("success", True, 0),
        ("failed", True, 1),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_the_exit_code_follows_from_the_status(status, is_interrupted, code, form):
    assert end(summary(status), form, is_interrupted) == code


def test_json_is_the_summary_and_nothing_else(capsys):
    found = summary("failed", error=FAILURE)

    end(found, "json")

    said = capsys.readouterr()
    assert json.loads(said.out) == found
    assert said.err == ""


def test_an_error_is_said_with_its_place_and_the_next_command(capsys):
    end(summary("failed", error=FAILURE))

    assert capsys.readouterr().err.splitlines() == [
        'error: step "load", task "fetch" (orders.yaml:3:5): refused',
        "✗ failed in 1.2 s · execution 7",
        "next: noetl show 7",
        "next: noetl rerun 7 --from-failed",
    ]


def test_what_was_undone_is_begun_anew_and_not_gone_on_with(capsys):
    finish(RunResult(summary=summary("failed", error=FAILURE), is_undone=True), "text", lambda step, task: "a.yaml:3:5")

    assert capsys.readouterr().err.splitlines()[-2:] == ["next: noetl show 7", "next: noetl rerun 7"]


@pytest.mark.parametrize(
    ("data", "printed"),
    [("plain text", "plain text\n"), ([1], "[\n  1\n]\n"), (None, ""), (0, "0\n"), ("a\nb", "a\nb\n")],
)
def test_the_output_s_data_is_all_that_standard_output_gets(capsys, data, printed):
    end(summary(data=data))

    assert capsys.readouterr().out == printed


def test_into_a_file_goes_all_of_a_long_output(capsys):
    end(summary(data="\n".join(map(str, range(1000)))))

    assert len(capsys.readouterr().out.splitlines()) == 1000


def test_on_a_terminal_a_long_output_is_cut_and_the_rest_is_named(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    end(summary(data="\n".join(map(str, range(1000)))))

    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 20
    assert said.err.splitlines()[0] == "… 980 more lines: noetl show 7 --format json"


def test_an_output_kept_elsewhere_is_named_on_standard_error(capsys):
    end(summary() | {"output": {"status": "ok", "data": None, "ref": {"sha256": "0"}}})

    said = capsys.readouterr()
    assert said.out == ""
    assert '"sha256": "0"' in said.err
