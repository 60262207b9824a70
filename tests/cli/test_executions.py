"""list, show, events, replay, resume, cancel, signal and catalog, as whole processes over one home."""

import json

import pytest

from tests.cli.running import FAIL, GREET, HEAD, WAIT, document, noetl

pytestmark = pytest.mark.slow  # two to four processes each


@pytest.fixture
def home(tmp_path):
    for name, text in {"greet": GREET, "fail": FAIL, "wait": WAIT}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


CALLS = (
    HEAD
    + """workflow:
  - step: start
    tool: {kind: playbook, path: tests/child}
"""
)


def run(home, name):
    """Run a playbook; the execution's id."""
    return document(noetl("run", f"{name}.yaml", "--format", "json", home=home))["execution_id"]


# --- looking ---------------------------------------------------------------------------------------------------------


def test_list_names_executions_newest_first(home):
    first, second = run(home, "greet"), run(home, "fail")

    found = json.loads(noetl("list", "--format", "json", home=home).stdout)

    assert [(row["execution_id"], row["status"]) for row in found] == [(second, "failed"), (first, "success")]
    assert set(found[0]) >= {"execution_id", "path", "version", "status", "created_at", "duration_ms"}
    assert found[0]["path"] == "tests/trial"


def test_list_chooses_by_status_and_number(home):
    first = run(home, "greet")
    run(home, "greet")
    failed = run(home, "fail")

    by_status = noetl("list", "--status", "failed", home=home)
    by_number = json.loads(noetl("list", "--limit", "2", "--format", "json", home=home).stdout)

    assert by_status.stdout.splitlines()[1].split()[:2] == [failed, "failed"]
    assert first not in [row["execution_id"] for row in by_number]
    assert len(by_number) == 2


def test_list_chooses_by_the_words_that_the_api_has(home):
    greeted, failed = run(home, "greet"), run(home, "fail")

    def listed(*words):
        return [row["execution_id"] for row in document(noetl("list", *words, "--format", "json", home=home))]

    assert listed("--status", "failed,incident") == [failed]
    assert listed("--status", "failed,success", "--path", "tests/*", "--since", "24h") == [failed, greeted]
    assert listed("--path", "tests/trial", "--root", "--limit", "1") == [failed]
    assert listed("--q", "TRIAL", "--until", "2020-01-01") == []
    assert listed("--q", greeted) == [greeted]
    assert "no executions like that" in noetl("list", "--path", "team/*", home=home).stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--status", "failed,lost"), '"lost" is none; there are running, waiting'),
        (("--status", ""), "is none"),
        (("--since", "yesterday"), "so long ago, as 90m, 24h"),
        (("--until", "24x"), "or a time, as 2026-03-01"),
    ],
)
def test_list_says_how_a_filter_is_written(home, words, says):
    done = noetl("list", *words, home=home)

    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())


def test_list_of_an_empty_home_creates_nothing_and_says_so(home):
    done = noetl("list", home=home)

    assert (done.returncode, done.stdout) == (0, "")
    assert "no executions in sqlite:///" in done.stderr
    assert not (home / ".noetl").exists()


def test_show_draws_the_runs_and_says_what_to_do_next(home):
    execution = run(home, "greet")

    done = noetl("show", "last", home=home)

    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[0] == f"tests/trial@1  ✓ success  execution {execution}"
    assert [line.split()[:2] for line in lines[3:5]] == [["✓", "start"], ["✓", "end"]]
    assert done.stderr == f"next: noetl events {execution}\nnext: noetl rerun {execution}\n"


def test_last_is_the_newest_execution_that_nobody_called(home):
    (home / "child.yaml").write_text(GREET.replace("tests/trial", "tests/child"))
    noetl("catalog", "register", "child.yaml", home=home)
    (home / "parent.yaml").write_text(CALLS)
    execution = run(home, "parent")

    done = noetl("show", "last", "--format", "json", home=home)

    listed = json.loads(noetl("list", "--format", "json", home=home).stdout)
    assert [row["path"] for row in listed] == ["tests/child", "tests/trial"]
    assert json.loads(done.stdout)["execution_id"] == execution
    assert noetl("list", home=home).stderr.endswith("next: noetl list --root\n")
    assert "--root" not in noetl("list", "--root", home=home).stderr


def test_show_names_the_place_of_a_failure(home):
    run(home, "fail")

    done = noetl("show", "last", home=home)

    assert 'error: step "start", task "refuse" (fail.yaml:7:9): ' in done.stdout


def test_show_as_json_has_the_runs(home):
    execution = run(home, "greet")

    found = document(noetl("show", execution, "--format", "json", home=home))

    assert (found["execution_id"], found["status"]) == (execution, "success")
    assert [(row["step"], row["status"]) for row in found["runs"]] == [("start", "success"), ("end", "success")]


@pytest.mark.spec("EV-01", "EV-03", "EV-04", "EV-06")
def test_events_are_one_json_object_per_line_in_order(home):
    execution = run(home, "greet")

    done = noetl("events", execution, "--format", "json", home=home)

    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["event_id"] for one in found] == [f"{execution}-{seq}" for seq in range(1, len(found) + 1)]
    assert found[0]["name"] == "playbook.execution.requested"
    assert [one["name"] for one in found[-2:]] == ["workflow.finished", "playbook.processed"]
    sources = {one["name"]: one["source"] for one in found}
    assert {sources[name] for name in ("task.started", "task.done", "step.done")} == {"worker"}
    assert {sources[name] for name in ("step.scheduled", "next.evaluated", "workflow.finished")} == {"server"}
    assert {"step": "start", "task_label": "start_task", "attempt": 1}.items() <= next(
        one for one in found if one["name"] == "task.done"
    ).items()


def test_following_an_execution_that_has_ended_prints_it_and_ends(home):
    execution = run(home, "greet")

    all_of_it = noetl("events", execution, home=home).stdout
    followed = noetl("events", execution, "--follow", home=home)

    assert followed.returncode == 0
    assert followed.stdout == all_of_it


def test_events_after_a_number_keep_their_step_names(home):
    execution = run(home, "greet")

    everything = noetl("events", execution, home=home).stdout.splitlines()
    rest = noetl("events", execution, "--after", "5", home=home).stdout.splitlines()

    assert rest == everything[5:]


@pytest.mark.spec("EV-05")
def test_replay_gives_the_state_at_any_event(home):
    execution = run(home, "greet")

    end = document(noetl("replay", execution, "--format", "json", home=home))
    start = document(noetl("replay", execution, "--at", "1", "--format", "json", home=home))

    assert (end["status"], end["ctx"]) == ("success", {"text": "hello"})
    assert (start["status"], start["seq"], "text" in start.get("ctx", {})) == ("running", 1, False)
    assert "success" in noetl("replay", execution, home=home).stdout


@pytest.mark.spec("EV-05")
def test_replay_verify_finds_a_log_in_order(home):
    execution = run(home, "greet")

    done = noetl("replay", execution, "--verify", home=home)

    assert done.returncode == 0, done.stdout
    assert "the log is in order" in done.stdout
    assert document(noetl("replay", execution, "--verify", "--format", "json", home=home))["is_equal"] is True


# --- acting ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RS-01")
def test_a_signal_too_large_for_the_log_is_refused_and_nothing_is_recorded(home):
    execution = run(home, "wait")
    before = noetl("events", execution, home=home).stdout

    refused = noetl("signal", execution, "--set", f"ctx.big={'x' * 70_000}", home=home)

    assert refused.returncode == 2
    assert "the signal was refused and nothing was written: an event may hold" in refused.stderr
    assert noetl("events", execution, home=home).stdout == before


@pytest.mark.spec("ST-06", "SC-02")
def test_a_signal_lets_a_waiting_execution_go_on(home):
    execution = document(noetl("run", "wait.yaml", "--format", "json", home=home))["execution_id"]

    signalled = noetl("signal", execution, "--set", "ctx.approved=true", home=home)
    resumed = noetl("resume", execution, "--format", "json", home=home)

    assert signalled.returncode == 0, signalled.stderr
    found = document(resumed)
    assert (resumed.returncode, found["status"], found["ctx"]) == (0, "success", {"approved": True})
    assert found["output"]["data"] == {"by": True}


def test_resume_tells_what_goes_on_and_not_again_what_was_told(home):
    execution = document(noetl("run", "wait.yaml", "--format", "json", home=home))["execution_id"]
    noetl("signal", execution, "--set", "ctx.approved=true", home=home)

    done = noetl("resume", execution, home=home)

    assert "✓ approve: done in " in done.stderr
    assert "start: done" not in done.stderr


def test_what_a_task_prints_after_resume_has_the_name_of_its_step(home):
    printing = """tool: {kind: python, code: "print('approved')"}"""
    (home / "wait.yaml").write_text(WAIT[: WAIT.rindex("tool:")] + printing)
    execution = run(home, "wait")
    noetl("signal", execution, "--set", "ctx.approved=true", home=home)

    done = noetl("resume", execution, home=home)

    assert "| approve/approve_task: approved\n✓ approve: done" in done.stderr


def test_cancel_ends_an_execution_and_keeps_the_reason(home):
    execution = document(noetl("run", "wait.yaml", "--format", "json", home=home))["execution_id"]

    done = noetl("cancel", execution, "--reason", "wrong file", "--format", "json", home=home)

    assert document(done) == {"execution_id": execution, "status": "cancelled"}
    assert "wrong file" in noetl("show", execution, home=home).stdout


@pytest.mark.parametrize("verb", ["cancel", "signal"])
def test_what_has_ended_can_be_changed_no_more(home, verb):
    execution = run(home, "greet")

    done = noetl(verb, execution, *(("--set", "ctx.a=1") if verb == "signal" else ()), home=home)

    assert (done.returncode, done.stdout) == (2, "")
    assert "error: " in done.stderr


VERBS = (("show",), ("events",), ("replay",), ("resume",), ("cancel",), ("signal", "--set", "ctx.a=1"))
VERBS += (("why", "start"), ("eval", "1"), ("diff", "1"))


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words[0])
def test_an_execution_that_is_not_there_leaves_with_2(home, words):
    run(home, "greet")

    done = noetl(words[0], "999999999", *words[1:], home=home)

    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no execution 999999999 in " in done.stderr


@pytest.mark.parametrize("name", ["abc", "-1", "1.5", "", "9" * 40, "\x1b[2J"])
def test_what_is_no_number_leaves_with_2(home, name):
    done = noetl("show", "--", name, home=home)

    assert (done.returncode, done.stdout) == (2, "")
    assert "an execution is named by its number" in done.stderr
    assert "\x1b" not in done.stderr


def test_last_of_an_empty_home_leaves_with_2(home):
    done = noetl("show", "last", home=home)

    assert (done.returncode, done.stdout) == (2, "")


# --- the catalog -----------------------------------------------------------------------------------------------------


def test_a_registered_playbook_is_listed_shown_and_run(home):
    registered = noetl("catalog", "register", "greet.yaml", home=home)

    assert registered.stdout == "tests/trial@1  greet.yaml\n"
    assert "tests/trial@1" in noetl("catalog", "list", home=home).stdout
    assert noetl("catalog", "show", "tests/trial", home=home).stdout == GREET
    assert document(noetl("run", "tests/trial@1", "--format", "json", home=home))["status"] == "success"


def test_the_same_text_keeps_its_version_and_another_gets_the_next(home):
    (home / "other.yaml").write_text(GREET.replace("hello", "hi"))

    versions = [
        json.loads(noetl("catalog", "register", name, "--format", "json", home=home).stdout)[0]["version"]
        for name in ("greet.yaml", "greet.yaml", "other.yaml")
    ]

    assert versions == [1, 1, 2]
    assert '"hi"' in noetl("run", "tests/trial", home=home).stdout
    assert '"hello"' in noetl("run", "tests/trial@1", home=home).stdout


def test_if_one_file_does_not_check_none_is_registered(home):
    (home / "bad.yaml").write_text(GREET.replace("kind: noop}", "kind: nope}", 1))

    done = noetl("catalog", "register", "greet.yaml", "bad.yaml", home=home)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith('"bad.yaml" does not check, so nothing was registered\nnext: noetl explain NL303\n')
    assert json.loads(noetl("catalog", "list", "--format", "json", home=home).stdout) == []


def test_an_unknown_path_or_version_leaves_with_2(home):
    noetl("catalog", "register", "greet.yaml", home=home)

    for name in ("tests/nothing", "tests/trial@7", "@", "tests/trial@x"):
        done = noetl("catalog", "show", name, home=home)
        assert (done.returncode, done.stdout) == (2, ""), name
