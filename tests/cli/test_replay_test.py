"""noetl replay-test: would an edit have changed past executions, and where first?"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from noetl.cli import exits
from tests.cli.running import HEAD, document, noetl

pytestmark = pytest.mark.slow

TEXT = (
    HEAD
    + """workload: {limit: 5, rows: [3, 8, 4], size: 10}
workflow:
  - step: read
    tool:
      - {name: fetch, kind: python, code: "return input['rows'] * 1", input: {rows: "{{ workload.rows }}"}}
    set: {ctx.rows: "{{ output.data }}"}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: "{{ ctx.rows }}", iterator: row, spec: {mode: parallel}}
    tool:
      - name: double
        kind: python
        code: |
          open('touched', 'a').write('x')
          return 'y' * input['size'] + str(input['row'] * 2)
        input: {row: "{{ row }}", size: "{{ workload.size }}"}
    next:
      spec: {mode: exclusive}
      arcs:
        - {step: alarm, when: "{{ output.loop.total > workload.limit * 10 }}"}
        - {step: done}
  - step: alarm
    tool: {kind: noop}
  - step: done
    tool: {kind: noop, input: {n: "{{ ctx.rows | length }}"}}
"""
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replay")
    (folder / "text.yaml").write_text(TEXT)
    for payload in ("{}", '{"size": 90000}', '{"rows": [1]}'):  # the second stores its results outside the log
        done = noetl("run", "text.yaml", "--payload", payload, "--quiet", home=folder)
        assert done.returncode == exits.DONE, done.stderr
    return folder


def judged(home: Path, before: str, after: str, *words: str) -> list[dict[str, Any]]:
    """What is said of an edit of the text."""
    assert TEXT.count(before) == 1
    (home / "edited.yaml").write_text(TEXT.replace(before, after))
    done = noetl("replay-test", "edited.yaml", *(words or ("--against", "1")), "--format", "json", home=home)
    assert done.returncode in (exits.DONE, exits.FAILED), done.stderr
    found: list[dict[str, Any]] = document(done)
    assert (done.returncode == exits.DONE) == all(row["verdict"] == "same" for row in found)
    return found


def line_of(home: Path, words: str) -> int:
    text = (home / "edited.yaml").read_text()
    return text[: text.index(words)].count("\n") + 1


def test_an_edit_that_changes_nothing_is_the_same_for_all(home: Path) -> None:
    before = "        - {step: done}\n"
    touched = sum(len(file.read_text()) for file in home.rglob("touched"))

    found = judged(
        home, before, f'        - {{step: alarm, when: "{{{{ false }}}}"}}\n{before}', "--where", "status=success"
    )

    assert [(row["execution_id"], row["verdict"], row["sentence"]) for row in found] == [
        (number, "same", "") for number in ("3", "2", "1")
    ]
    assert sum(len(file.read_text()) for file in home.rglob("touched")) == touched


def test_another_arc_is_named_with_its_line_and_what_was_before(home: Path) -> None:
    (row,) = judged(home, "> workload.limit * 10", "< workload.limit")

    assert (row["verdict"], row["first"]["step"], row["first"]["what"]) == ("changed", "each", "arcs")
    assert row["line"] == line_of(home, "{step: alarm, when")
    assert row["first"]["differences"][0] == {"path": "fired.0.step", "before": "done", "after": "alarm"}


@pytest.mark.parametrize(
    ("before", "after", "task", "paths"),
    [
        ("input['row'] * 2", "input['row'] * 3", "double", ["code"]),
        ('row: "{{ row }}"', 'row: "{{ row + 1 }}"', "double", ["row"]),
        ("rows: [3, 8, 4]", "rows: [3, 8]", "fetch", ["rows.2"]),
    ],
)
def test_a_call_with_another_input_cannot_be_told_further(
    home: Path, before: str, after: str, task: str, paths: list[str]
) -> None:
    (row,) = judged(home, before, after)

    assert (row["verdict"], row["call"]["task"]) == ("unknown", task)
    assert [one["path"] for one in row["call"]["differences"]] == paths
    assert row["line"] == line_of(home, f"name: {task}")


def test_a_call_that_was_not_made_then_is_named(home: Path) -> None:
    tool = "tool: {kind: noop, input: {n:"
    more = "tool: [{name: one, kind: noop}, {name: tell, kind: shell, command: echo}]\n    input: {m: {n:"
    (row,) = judged(home, tool, more)

    assert row["verdict"] in ("unknown", "changed")
    assert "tell" in row["sentence"] or row["first"]["step"] == "done"


def test_several_executions_are_named_after_one_word(home: Path) -> None:
    both = noetl("replay-test", "text.yaml", "--against", "1", "2", "--format", "json", home=home)
    bare = noetl("replay-test", "text.yaml", "1", home=home)

    assert both.returncode == exits.DONE, both.stderr
    assert [(row["execution_id"], row["verdict"]) for row in document(both)] == [("1", "same"), ("2", "same")]
    assert bare.returncode == exits.WRONG_INPUT
    assert "--against 1" in bare.stderr


def test_a_wrong_text_and_no_execution_are_wrong_input(home: Path) -> None:
    (home / "wrong.yaml").write_text(TEXT.replace("step: each\n", "stepp: each\n"))

    wrong = noetl("replay-test", "wrong.yaml", "--against", "last", home=home)
    none = noetl("replay-test", "text.yaml", home=home)
    away = noetl("replay-test", "text.yaml", "--against", "last", "--server", "http://127.0.0.1:1", home=home)

    assert [one.returncode for one in (wrong, none, away)] == [exits.WRONG_INPUT] * 3
    assert "noetl export" in away.stderr


def test_what_its_answers_do_not_explain_is_said_to_be_unknown(home: Path) -> None:
    """A rerun that changed ctx by hand."""
    done = noetl("rerun", "1", "--from", "done", "--set", "ctx.rows=[1,2,3,4,5]", "--quiet", home=home)
    assert done.returncode == exits.DONE, done.stderr

    (row,) = judged(home, "metadata: {name: trial", "metadata: {name: other", "--against", "last")

    assert row["verdict"] == "unknown"
    assert "recorded answers alone do not explain it" in row["sentence"]


def test_what_a_child_gave_that_is_kept_outside_the_log_explains_a_loop(home: Path) -> None:
    child = (
        HEAD + "workload: {n: 0}\nworkflow: [{step: a, tool: {kind: noop, input: {x: \"{{ 'x' * workload.n }}\"}}}]\n"
    )
    (home / "child.yaml").write_text(child)
    call = 'tool: {kind: playbook, path: child, input: {n: "{{ iter.n }}"}}'
    text = HEAD + f"workflow: [{{step: call, loop: {{in: [1, 90000], iterator: n}}, {call}}}]\n"
    (home / "caller.yaml").write_text(text)
    ran = document(noetl("run", "caller.yaml", "--format", "json", home=home))

    done = noetl("replay-test", "caller.yaml", "--against", ran["execution_id"], home=home)

    assert done.returncode == exits.DONE, done.stdout


CALLS = (
    HEAD
    + """keychain: [{name: one, kind: bearer}, {name: two, kind: bearer}]
workbook:
  sum:
    kind: python
    input: {code: "return input['n'] + 1"}
    spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 2}},
                            {else: {then: {do: continue}}}]}}
workflow:
  - step: a
    tool:
      - {name: add, kind: workbook, task: sum, input: {n: 1}}
      - {name: say, kind: shell, command: sleep 0.3, env: {T: "{{ keychain.one.token }}"}, spec: {timeout: 9}}
"""
)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("name: add,", "name: add,  ", "same"),
        ("['n'] + 1", "['n'] + 2", 'task "add" would be given another code'),
        ("attempts: 2", "attempts: 1", "another workbook.sum.spec.policy.rules.0.then.attempts"),
        ("keychain.one", "keychain.two", 'task "say" would be given another env.T'),
        ("timeout: 9", "timeout: 0.1", 'task "say" gave another output'),
    ],
)
def test_what_a_call_is_made_of_counts_also_where_no_log_shows_it(
    home: Path, before: str, after: str, said: str
) -> None:
    """The text of the workbook, a credential, and how long it may take."""
    secrets = {"NOETL_SECRET_ONE": '{"token": "first-word"}', "NOETL_SECRET_TWO": '{"token": "second-word"}'}
    (home / "calls.yaml").write_text(CALLS)
    ran = document(noetl("run", "calls.yaml", "--format", "json", home=home, **secrets))
    assert ran["status"] == "success"
    assert CALLS.count(before) == 1
    (home / "calls.yaml").write_text(CALLS.replace(before, after))

    done = noetl("replay-test", "calls.yaml", "--against", ran["execution_id"], home=home, **secrets)

    assert said in done.stdout
    assert "first-word" not in done.stdout + done.stderr


def test_a_call_that_was_under_way_when_the_log_ended_is_named(home: Path) -> None:
    wait = 'tool: {kind: python, code: "import time; time.sleep(60)"}'
    (home / "cut.yaml").write_text(HEAD + f"workflow: [{{step: a, {wait}}}]\n")
    begun = subprocess.Popen([sys.executable, "-m", "noetl", "run", "cut.yaml"], cwd=home, env=environ(home), stderr=-1)
    assert begun.stderr is not None
    number = begun.stderr.readline().split()[-1].decode()  # ▸ trial: execution 7
    begun.stderr.readline()
    begun.kill()
    begun.communicate()

    running = noetl("replay-test", "cut.yaml", "--against", number, home=home)
    assert noetl("cancel", number, home=home).returncode == exits.DONE
    cancelled = noetl("replay-test", "cut.yaml", "--against", number, home=home)

    called = 'step "a", task "a_task" has no answer in its log, which'
    assert [one.returncode for one in (running, cancelled)] == [exits.FAILED] * 2
    assert f"{called} has not ended" in running.stdout
    assert f"{called} ended as cancelled" in cancelled.stdout


def environ(home: Path) -> dict[str, str]:
    return {**os.environ, "NOETL_HOME": str(home / ".noetl")}
