"""noetl run --record, as whole processes: what it writes passes at once, holds no secret, and replaces nothing."""

import json

import pytest

from noetl.cli import exits
from noetl.dsl import playbook_tests
from noetl.dsl.read import read
from noetl.testing.http_server import Answer, running_api
from tests.cli.running import noetl

CANARY = "canary-7f3a91c2d4"
PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: orders}
keychain: [{name: shop, kind: bearer}]
workload: {url: "", pages: [a, b]}
workflow:
  - step: fetch
    loop: {in: "{{ workload.pages }}", iterator: page, spec: {mode: parallel}}
    tool:
      - name: get
        kind: http
        input: {url: "{{ workload.url }}/echo?page={{ iter.page }}", auth: shop}
      - name: count
        kind: python
        input:
          rows: "{{ get.data }}"
          token: "{{ keychain.shop.token }}"
          code: |
            import random
            return {"rows": len(input["rows"]), "seen": input["token"], "at": random.random()}
    set: {ctx.first: "{{ output.data[0] }}"}
    next: {arcs: [{step: report}]}
  - step: report
    tool: {kind: noop, input: {all: "{{ output.data }}"}}
"""
FAILS = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: fails}
workflow:
  - {step: a, tool: {kind: python, input: {code: "raise ValueError('no')"}}}
"""
WAITS = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: waits}
workflow:
  - step: a
    tool: {kind: noop}
    next: {arcs: [{step: b}]}
  - step: b
    spec:
      policy:
        admit:
          on_deny: wait
          rules:
            - {when: "{{ ctx.ok }}", then: {allow: true}}
            - else: {then: {allow: false}}
    tool: {kind: noop}
"""
LARGE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: large}
workflow:
  - step: make
    tool: {name: rows, kind: python, input: {code: "return [{'n': n} for n in range(20000)]"}}
    next: {arcs: [{step: each}]}
  - step: each
    tool: {name: back, kind: resolve, input: {ref: "{{ make.ref }}"}}
    next: {arcs: [{step: count}]}
  - step: count
    tool: {kind: python, input: {n: "{{ workload.n | default(5) }}", code: "return input['n']"}}
"""


CALLS = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: calls}
workbook:
  ask:
    kind: http
    input: {url: "{{ input.url }}"}
    spec:
      policy:
        rules:
          - when: "{{ output.status == 'error' }}"
            then: {do: retry, attempts: 5, delay: 0.01}
          - else: {then: {do: continue, set: {ctx.asked: "{{ output.http.headers['x-name'] }}"}}}
workflow:
  - step: call
    tool:
      - {name: it, kind: playbook, input: {path: child, number: 3}}
      - {name: ask_it, kind: workbook, input: {task: ask, url: "{{ workload.url }}/x"}}
"""
CHILD = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: child}
workload: {number: 0}
workflow:
  - {step: a, tool: {kind: python, input: {n: "{{ workload.number }}", code: "return input['n'] * 2"}}}
"""


@pytest.fixture
def home(tmp_path):
    texts = {"orders": PLAYBOOK, "fails": FAILS, "waits": WAITS, "large": LARGE, "calls": CALLS, "child": CHILD}
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def run(home, *words, **environ):
    return noetl("run", *words, home=home, **environ)


def document(file):
    (found,) = playbook_tests.tests_of(read(file.read_bytes(), file.name))
    return found


def test_a_recorded_run_passes_at_once_and_needs_nothing_outside(home):
    with running_api() as api:
        url = f"url={api.url}"
        secret = {"NOETL_SECRET_SHOP": json.dumps({"token": CANARY})}
        done = run(home, "orders.yaml", "--set", url, "--record", "tests/orders.test.yaml", **secret)

    assert done.returncode == exits.DONE, done.stderr
    assert done.stderr.endswith("recorded to tests/orders.test.yaml\nnext: noetl test tests/orders.test.yaml\n")
    tested = noetl("test", "--format", "json", home=home)
    assert tested.returncode == exits.DONE, tested.stdout
    test = document(home / "tests" / "orders.test.yaml")
    assert test.playbook == "../orders.yaml"
    assert test.expect["path"] == ["fetch", "report"]
    assert test.expect["runs"] == {"fetch.count": 2, "fetch.get": 2, "report.report_task": 1}
    assert [answer["iteration"] for answer in test.tools["fetch.count"]] == [0, 1]


@pytest.mark.spec("KC-05")
def test_no_secret_reaches_a_recording(home):
    with running_api() as api:
        secret = {"NOETL_SECRET_SHOP": json.dumps({"token": CANARY})}
        words = ["--set", f"url={api.url}", "--set", f"note=x{CANARY}", "--record", "t.test.yaml"]
        done = run(home, "orders.yaml", *words, **secret)
        assert any(CANARY in str(seen.headers) for seen in api.requests("/echo"))

    assert done.returncode == exits.DONE, done.stderr
    written = b"".join(file.read_bytes() for file in home.glob("t*") if file.is_file())
    assert CANARY.encode() not in written
    assert b"***" in written
    assert CANARY not in done.stdout + done.stderr


def test_a_failed_run_is_recorded_too(home):
    done = run(home, "fails.yaml", "--record", "fails.test.yaml")

    assert done.returncode == exits.FAILED
    expect = document(home / "fails.test.yaml").expect
    assert (expect["status"], expect["error"]["kind"]) == ("failed", "exception")
    assert noetl("test", "fails.test.yaml", home=home).returncode == exits.DONE


def test_a_run_that_waits_is_recorded_as_waiting(home):
    assert run(home, "waits.yaml", "--record", "waits.test.yaml").returncode == exits.WAITING

    assert document(home / "waits.test.yaml").expect["status"] == "waiting"
    assert noetl("test", "waits.test.yaml", home=home).returncode == exits.DONE


def test_answers_that_are_too_large_for_a_test_go_to_a_file_beside_it(home):
    done = run(home, "large.yaml", "--record", "large.test.yaml")

    assert "of answers to large.rec.jsonl beside it" in done.stderr
    assert document(home / "large.test.yaml").recording == "large.rec.jsonl"
    assert noetl("test", "large.test.yaml", home=home).returncode == exits.DONE


def test_children_and_workbook_tasks_are_recorded_by_their_callers(home):
    with running_api() as api:
        api.script("/x", Answer(status=503), Answer(status=503), Answer(json=[1], headers={"X-Name": "third"}))
        done = run(home, "calls.yaml", "--set", f"url={api.url}", "--record", "calls.test.yaml")

    assert done.returncode == exits.DONE, done.stderr
    test = document(home / "calls.test.yaml")
    assert test.tools["call.it"][0]["data"] == 6
    assert test.expect["runs"] == {"call.ask_it": 3, "call.it": 1}
    assert test.expect["ctx"] == {"asked": "third"}
    (home / "child.yaml").unlink()
    assert noetl("test", "calls.test.yaml", home=home).returncode == exits.DONE


def test_nothing_runs_where_nothing_may_be_written(home):
    for name in ("fails.test.yaml", "large.rec.jsonl"):
        (home / name).write_text("mine")
    runs = [
        run(home, "fails.yaml", "--record", "fails.test.yaml"),
        run(home, "large.yaml", "--record", "large.test.yaml"),
        run(home, "fails.yaml", "--record", "."),
        run(home, "fails.yaml", "--record", "x.test.yaml", "--server", "http://127.0.0.1:9"),
        run(home, "fails.yaml", "--record", "x.test.yaml", "--legacy", "--compat", "upstream"),
        run(home, "some/path", "--record", "x.test.yaml"),
        run(home, "fails.yaml", "--force"),
    ]

    assert [done.returncode for done in runs] == [exits.WRONG_INPUT] * len(runs)
    assert "is there already; --force writes over it" in runs[0].stderr
    assert not (home / ".noetl" / "noetl.db").exists()
    assert (home / "fails.test.yaml").read_text() == "mine"


def test_an_answer_that_yaml_has_no_words_for_is_recorded_and_not_expected(home):
    (home / "odd.yaml").write_text(FAILS.replace("raise ValueError('no')", "return 2**63"))

    done = run(home, "odd.yaml", "--record", "odd.test.yaml")

    assert done.returncode == exits.DONE, done.stderr
    assert "output" not in document(home / "odd.test.yaml").expect
    assert noetl("test", "odd.test.yaml", home=home).returncode == exits.DONE


def test_a_playbook_is_never_written_over_by_its_own_test(home):
    (home / "linked.yaml").symlink_to("fails.yaml")

    done = [run(home, "fails.yaml", "--record", name, "--force") for name in ("fails.yaml", "linked.yaml")]

    assert [one.returncode for one in done] == [exits.WRONG_INPUT] * 2
    assert all("is the playbook itself" in one.stderr for one in done)
    assert (home / "fails.yaml").read_text() == FAILS


def test_force_writes_over_what_is_there(home):
    (home / "fails.test.yaml").write_text("mine")

    run(home, "fails.yaml", "--record", "fails.test.yaml", "--force")

    assert document(home / "fails.test.yaml").name == "fails as it was recorded"


LEGACY = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: old}
workflow:
  - {step: a, tool: {kind: python, input: {code: "return 7"}}, next: [{step: b}]}
  - {step: b, tool: {kind: noop, input: {found: "{{ a.data }}"}}}
"""
UPSTREAM = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: old}
workflow:
  - {step: a, tool: {kind: python, code: "result = 7"}, next: {arcs: [{step: b}]}}
  - {step: b, tool: {kind: python, code: "result = {'found': context['a']}"}}
"""


@pytest.mark.parametrize(
    ("text", "words", "surface"),
    [(LEGACY, ["--legacy"], "legacy"), (UPSTREAM, ["--compat", "upstream"], "upstream")],
)
def test_a_playbook_in_an_old_spelling_is_recorded_with_its_surface(home, text, words, surface):
    (home / "old.yaml").write_text(text)

    done = run(home, "old.yaml", "--record", "tests/old.test.yaml", *words)

    assert done.returncode == exits.DONE, done.stderr
    assert document(home / "tests" / "old.test.yaml").surface == surface
    tested = noetl("test", "tests", home=home)
    assert tested.returncode == exits.DONE, tested.stdout


@pytest.mark.parametrize(("text", "surface"), [(LEGACY, "legacy"), (UPSTREAM, "upstream")])
def test_test_and_playbook_in_an_old_spelling_may_stand_in_one_file(home, text, surface):
    head = f"{text}---\napiVersion: noetl.io/v2\nkind: PlaybookTest\nmetadata: {{name: old}}\n"
    rest = "expect: {path: [a, b], output: {found: 7}}\n"
    (home / "old.test.yaml").write_text(f"{head}surface: {surface}\n{rest}")

    old = noetl("test", "old.test.yaml", home=home)

    assert old.returncode == exits.DONE, old.stdout
    (home / "old.test.yaml").write_text(head + rest)
    assert noetl("test", "old.test.yaml", home=home).returncode != exits.DONE
