"""noetl schedule and noetl trigger: on the store of a home, and against a server, with the same words."""

import json
import time
import urllib.request

import pytest

from noetl.cli.main import main
from tests.cli.remote_server import serving
from tests.cli.running import GREET

SCHEDULES = """\
apiVersion: noetl.io/v2
kind: Schedule
metadata: { name: nightly }
spec:
  playbook: { path: tests/trial }
  cron: "30 2 * * *"
  timezone: Europe/Berlin
---
apiVersion: noetl.io/v2
kind: Schedule
metadata: { name: often }
spec:
  playbook: { path: tests/trial, version: 1 }
  every: 1s
  overlap: allow
"""
TRIGGERS = """\
apiVersion: noetl.io/v2
kind: Trigger
metadata: { name: order }
spec:
  playbook: { path: tests/trial }
  webhook: { auth: token, credential: hook }
---
apiVersion: noetl.io/v2
kind: Trigger
metadata: { name: message }
spec:
  playbook: { path: tests/trial }
  nats: { subject: orders.new }
"""
FIRED_SECONDS_MAX = 30.0


@pytest.fixture(params=["home", pytest.param("server", marks=[pytest.mark.slow, pytest.mark.xdist_group("remote")])])
def ask(request, tmp_path, capsys, monkeypatch):
    """Run a verb, at home or against a server; gives exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_COLOR", "1")
    for name, text in {"s.yaml": SCHEDULES, "t.yaml": TRIGGERS, "p.yaml": GREET}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    def asked(*words):
        code = main(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    if request.param == "home":
        yield asked
        return
    with serving(tmp_path / "home") as server:
        monkeypatch.setenv("NOETL_SERVER_URL", server.url)
        yield asked


def data_of(answer):
    code, out, err = answer
    assert code == 0, err
    return json.loads(out)


def test_a_schedule_goes_through_its_life(ask):
    applied = ask("schedule", "apply", "s.yaml")
    again = ask("schedule", "apply", "s.yaml")
    paused = ask("schedule", "pause", "nightly")
    rests = ask("schedule", "next", "nightly")
    resumed = ask("schedule", "resume", "nightly")
    coming = data_of(ask("schedule", "next", "nightly", "--count", "3", "--format", "json"))
    listed = ask("schedule", "list")
    shown = ask("schedule", "show", "nightly")
    removed = ask("schedule", "remove", "nightly")
    gone = ask("schedule", "show", "nightly")

    assert applied[1] == "nightly  applied\noften  applied\n"
    assert 'no playbook "tests/trial@1" yet' in applied[2]
    assert again[1] == "nightly  unchanged\noften  unchanged\n"
    assert paused[1] == "nightly  paused\n"
    assert "nothing is due" in rests[2]
    assert resumed[1].startswith("nightly  active, next ")
    assert [due[11:19] for due in coming] == ["02:30:00"] * 3
    assert "30 2 * * * Europe/Berlin" in listed[1]
    assert "every 1s" in listed[1]
    assert "0 started, 0 skipped" in shown[1]
    assert removed[1] == "nightly  removed\n"
    assert (gone[0], gone[2]) == (
        2,
        'error: there is no schedule "nightly"; `noetl schedule list` names those there are\n'
        "next: noetl schedule list\n",
    )


def test_a_schedule_is_run_now_by_a_server(ask, request):
    ask("catalog", "register", "p.yaml")
    ask("schedule", "apply", "s.yaml")

    missing = ask("schedule", "run", "nobody")
    begun = ask("schedule", "run", "nightly", "--format", "json")

    assert (missing[0], "there is no schedule" in missing[2]) == (2, True)
    if "home" in request.node.name:
        assert (begun[0], begun[1]) == (2, "")
        assert "--server URL" in begun[2]
    else:
        execution_id = data_of(begun)["execution_id"]
        assert data_of(ask("schedule", "show", "nightly", "--format", "json"))["last_execution_id"] == execution_id


def test_a_trigger_goes_through_its_life(ask):
    applied = ask("trigger", "apply", "t.yaml")
    listed = ask("trigger", "list")
    shown = data_of(ask("trigger", "show", "order", "--format", "json"))
    removed = ask("trigger", "remove", "order")
    gone = ask("trigger", "remove", "order")

    assert applied[1] == "order  applied\nmessage  applied\n"
    assert "POST /api/v1/hooks/order" in listed[1]
    assert "nats orders.new" in listed[1]
    assert shown["webhook"]["credential"] == "hook"
    assert (removed[0], gone[0]) == (0, 2)


def test_a_document_that_does_not_check_applies_nothing(ask, tmp_path):
    (tmp_path / "bad.yaml").write_text(SCHEDULES.replace('"30 2 * * *"', '"30 25 * * *"'), encoding="utf-8")
    code, _, err = ask("schedule", "apply", "s.yaml", "bad.yaml")

    assert code == 2
    assert 'bad.yaml:6:13: error NL134: "25" is no hour' in err
    assert data_of(ask("schedule", "list", "--format", "json")) == []


def test_a_file_without_such_a_document_is_refused(ask):
    code, _, err = ask("trigger", "apply", "p.yaml")

    assert code == 2
    assert '"p.yaml" has no document of kind: Trigger' in err


@pytest.mark.slow
@pytest.mark.xdist_group("remote")
def test_a_server_fires_schedules_and_hooks_and_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"s.yaml": SCHEDULES, "t.yaml": TRIGGERS, "p.yaml": GREET}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with serving(tmp_path / "home", NOETL_SECRET_HOOK="planted-hook-s3cret") as server:
        monkeypatch.setenv("NOETL_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("NOETL_SERVER_URL", server.url)
        for words in (
            ("catalog", "register", "p.yaml"),
            ("schedule", "apply", "s.yaml"),
            ("trigger", "apply", "t.yaml"),
        ):
            assert main(list(words)) == 0
        headers = {"Content-Type": "application/json", "X-NoETL-Token": "planted-hook-s3cret"}
        request = urllib.request.Request(f"{server.url}/api/v1/hooks/order", b"{}", headers)  # noqa: S310 - loopback
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - loopback
            begun = json.load(answer)
        capsys.readouterr()
        deadline = time.monotonic() + FIRED_SECONDS_MAX
        started = 0
        while started < 2 and time.monotonic() < deadline:
            main(["schedule", "show", "often", "--format", "json"])
            started = json.loads(capsys.readouterr().out)["counts"]["started"]
        main(["show", begun["execution_id"], "--format", "json"])
        shown = json.loads(capsys.readouterr().out)

    assert started >= 2
    assert shown["path"] == "tests/trial"


@pytest.mark.slow
@pytest.mark.xdist_group("remote")
def test_a_store_that_a_server_has_is_read_here_and_changed_there(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / "home"))
    (tmp_path / "s.yaml").write_text(SCHEDULES, encoding="utf-8")
    main(["schedule", "apply", "s.yaml"])
    with serving(tmp_path / "home"):
        capsys.readouterr()
        changed = main(["schedule", "remove", "nightly"])
        refused = capsys.readouterr().err
        main(["schedule", "list", "--format", "json"])
        listed = json.loads(capsys.readouterr().out)

    assert (changed, "--server" in refused) == (2, True)
    assert [row["name"] for row in listed] == ["nightly", "often"]
