"""noetl test, as whole processes: what it prints, writes and gives back."""

import json
import os
import re
import socket
import threading
import time
from xml.etree import ElementTree

import pytest

from noetl.cli import exits
from noetl.rehearsal.records import RECORDING_BYTES_MAX
from tests.cli.running import document, noetl

PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: orders}
workload: {url: "http://127.0.0.1:9/orders"}
workflow:
  - step: fetch
    tool:
      - name: get_page
        kind: http
        input: {url: "{{ workload.url }}"}
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' and output.error.retryable }}"
                then: {do: retry, attempts: 5, backoff: exponential, delay: 60}
              - when: "{{ output.status == 'error' }}"
                then: {do: fail}
              - else: {then: {do: continue, set: {ctx.rows: "{{ output.data.rows }}"}}}
    next:
      arcs:
        - step: report
          when: "{{ event.name == 'step.done' }}"
        - step: alarm
          when: "{{ event.name == 'step.failed' }}"
  - step: report
    spec:
      policy:
        admit:
          rules:
            - {when: "{{ ctx.rows | length > 100 }}", then: {allow: false}}
            - else: {then: {allow: true}}
    tool: {kind: noop, input: {rows: "{{ ctx.rows | length }}"}}
  - step: alarm
    tool: {kind: noop, input: {text: "{{ output.error.message }}"}}
"""
UNHANDLED = PLAYBOOK.replace("'step.failed'", "'step.failed' and workload.url == ''")
HEAD = "apiVersion: noetl.io/v2\nkind: PlaybookTest\n"
RETRIES = (
    HEAD
    + """metadata: {name: tries again while the service is busy}
playbook: ../orders.yaml
tools:
  fetch.get_page:
    - {error: {kind: server_error, message: busy}}
    - {error: {kind: server_error, message: busy}}
    - {data: {rows: [1, 2]}}
expect:
  output: {rows: 2}
  runs: {fetch.get_page: 3, alarm: 0}
  duration: {min: 180, max: 180}
"""
)
WRONG = (
    HEAD
    + """metadata: {name: expects what does not come}
playbook: ../orders.yaml
tools:
  fetch.get_page: {error: {kind: not_found, message: no such order}}
expect:   # what we think
  output:
    rows: 3   # three rows
    more: [1, 2]
  path: [fetch, report]   # straight on
  ctx: {rows: [1]}
  runs:
    fetch: 1
    alarm: 0   # none
  duration: {max: 5}
"""
)
UNANSWERED = HEAD + "metadata: {name: has no answer}\nplaybook: ../orders.yaml\n"


@pytest.fixture
def home(tmp_path):
    (tmp_path / "orders.yaml").write_text(PLAYBOOK)
    (tmp_path / "tests").mkdir()
    return tmp_path


def write(home, *texts, name="orders.test.yaml"):
    file = home / "tests" / name
    file.write_text("---\n".join(texts))
    return file


def test_minutes_of_retries_pass_in_a_moment(home):
    write(home, RETRIES)

    begun = time.monotonic()
    done = noetl("test", home=home)

    assert done.returncode == exits.DONE, done.stdout
    assert time.monotonic() - begun < 10  # three minutes simulated; well under a second where nothing else runs
    lines = done.stdout.splitlines()
    assert lines[0] == "tests/orders.test.yaml"
    assert lines[1].startswith("  ✓ tries again while the service is busy (3 m 00 s simulated, ")
    assert lines[2] == "1 test: 1 passed · 4 of 7 arcs and rules taken (57%)"
    assert done.stderr == "next: noetl test --coverage\n"


def test_what_differs_is_told_with_the_line_of_the_expectation(home):
    write(home, WRONG)

    done = noetl("test", home=home)

    assert done.returncode == exits.FAILED
    assert [line.strip() for line in done.stdout.splitlines()[2:-1]] == [
        "tests/orders.test.yaml:9:11: expect.output.rows: wanted 3, found nothing",
        "tests/orders.test.yaml:10:11: expect.output.more: wanted [1,2], found nothing",
        'tests/orders.test.yaml:9:5: expect.output.text: wanted nothing, found "no such order"',
        "tests/orders.test.yaml:12:15: expect.ctx.rows: wanted [1], found nothing",
        'tests/orders.test.yaml:11:9: expect.path: step 2: wanted "report", found "alarm"; '
        "the whole path was fetch, alarm",
        "tests/orders.test.yaml:15:12: expect.runs.alarm: wanted 0, found 1",
    ]
    assert done.stderr == "repair the playbook; or, if what came is right:\nnext: noetl test --update\n"


def test_a_run_that_failed_is_told_with_its_place_in_the_playbook(home):
    (home / "orders.yaml").write_text(UNHANDLED)
    write(home, WRONG)

    done = noetl("test", home=home)

    assert 'expect.status: wanted "success", found "failed"' in done.stdout
    assert 'the run ended with: step "fetch", task "get_page" (orders.yaml:8:9): no such order' in done.stdout


def test_update_rewrites_what_is_expected_and_keeps_comments(home):
    file = write(home, RETRIES, WRONG)

    done = noetl("test", "--update", home=home)
    first = file.read_text()
    again = noetl("test", "--update", home=home)

    assert done.returncode == again.returncode == exits.DONE
    assert "1 passed, 1 updated" in done.stdout
    assert file.read_text() == first
    assert first.startswith(RETRIES)
    assert first.removeprefix(RETRIES + "---\n") == (
        WRONG.replace(
            "  output:\n    rows: 3   # three rows\n    more: [1, 2]\n", "  output: { text: no such order }\n"
        )
        .replace("[fetch, report]", "[fetch, alarm]")
        .replace("{rows: [1]}", "{}")
        .replace("alarm: 0", "alarm: 1")
    )


def test_update_adds_the_status_that_a_test_did_not_name(home):
    (home / "orders.yaml").write_text(UNHANDLED)
    file = write(
        home, HEAD + "metadata: {name: fails}\nplaybook: ../orders.yaml\ntools:\n  fetch: {error: {kind: auth}}\n"
    )

    assert noetl("test", "--update", home=home).returncode == exits.DONE

    assert file.read_text().endswith("  fetch: {error: {kind: auth}}\nexpect:\n  status: failed\n")
    assert noetl("test", home=home).returncode == exits.DONE


def test_an_unanswered_task_opens_no_socket_and_names_three_ways_out(home):
    write(home, UNANSWERED)
    came = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        (home / "orders.yaml").write_text(PLAYBOOK.replace(":9/", f":{server.getsockname()[1]}/"))
        listener = threading.Thread(target=accept, args=(server, came))
        listener.start()
        done = noetl("test", home=home)
        server.close()
        listener.join()

    assert done.returncode == exits.FAILED
    assert came == []
    assert 'task "get_page" of step "fetch" (orders.yaml:8:9) has no answer, and kind: http does not run' in done.stdout
    for way in ("tools: { fetch.get_page: { data: … } }", "real: [http, …]", "noetl run … --record FILE"):
        assert way in done.stdout


def accept(server, came):
    try:
        connection, _ = server.accept()
        came.append(connection)
        connection.close()
    except OSError:
        pass


def test_coverage_names_the_lines_that_no_test_took(home):
    write(home, RETRIES)

    done = noetl("test", "--coverage", "--coverage-min", "60", home=home)

    assert done.returncode == exits.FAILED
    lines = done.stdout.splitlines()
    start = lines.index("never taken by these tests (3 of 7):")
    assert lines[start + 1 : start + 4] == [
        '  orders.yaml:16:17: rule 2 of task "get_page" in step "fetch" (fail)',
        '  orders.yaml:23:11: arc from "fetch" to "alarm"',
        '  orders.yaml:30:15: admission rule 1 of step "report" (denies)',
    ]
    assert lines[-1].endswith("taken (57%), wanted 60% at least")


def test_coverage_is_that_of_all_tests_of_a_playbook_together(home):
    many = RETRIES.replace("busy}\n", "denied}\n").replace("rows: [1, 2]", f"rows: [{', '.join('1' * 101)}]")
    many = many.replace("  output: {rows: 2}\n", "")
    write(home, RETRIES, WRONG, many)

    found = document(noetl("test", "--format", "json", home=home))

    assert found["coverage"] == {"covered": 7, "total": 7, "percent": 100.0, "never_taken": []}


def test_json_is_one_document(home):
    write(home, RETRIES, WRONG, UNANSWERED)

    done = noetl("test", "--format", "json", home=home)
    found = document(done)

    assert done.returncode == exits.FAILED
    assert [test["status"] for test in found["tests"]] == ["passed", "failed", "error"]
    assert found["tests"][0]["simulated_seconds"] == 180
    assert found["tests"][1]["differences"][0]["line"] == 23
    assert found["tests"][1]["run"]["output"]["data"] == {"text": "no such order"}


def test_junit_is_well_formed_whatever_was_said(home):
    odd = WRONG.replace("no such order", '"a < b & \\"c\\" \\u0007 ]]>"').replace("what does not come", "<&>")
    write(home, RETRIES, odd, UNANSWERED)
    write(home, HEAD + "metadata: {name: x}\nplaybok: a\n", name="bad.test.yaml")

    done = noetl("test", "--junit", "report.xml", home=home)

    assert done.returncode == exits.WRONG_INPUT
    root = ElementTree.parse(home / "report.xml").getroot()  # noqa: S314 - we wrote it
    cases = list(root.iter("testcase"))
    assert [case.get("name") for case in cases[:2]] == ["tries again while the service is busy", "expects <&>"]
    assert [len(list(root.iter(name))) for name in ("failure", "error")] == [1, 2]
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "1", "2")
    assert "a < b & " in next(root.iter("failure")).text


def test_tests_are_chosen_by_a_part_of_their_name(home):
    write(home, RETRIES, WRONG)

    done = noetl("test", "-k", "busy", home=home)
    none = noetl("test", "-k", "nothing like that", home=home)

    assert done.returncode == exits.DONE
    assert "1 test: 1 passed" in done.stdout
    assert none.returncode == exits.WRONG_INPUT
    assert "no test has 'nothing like that' in its name" in none.stderr


def test_a_document_that_is_wrong_does_not_stop_the_others(home):
    write(home, RETRIES)
    write(home, HEAD + "metadata: {name: x}\nplaybook: ../nowhere.yaml\n", name="a_test.yaml")
    write(home, RETRIES.replace("fetch.get_page:", "fetch.get_pages:"), name="b.yml")
    (home / "broken.yaml").write_text(PLAYBOOK.replace("kind: noop", "kind: nope"))
    write(home, RETRIES.replace("orders.yaml", "broken.yaml"), name="c.yaml")

    done = noetl("test", home=home)

    assert done.returncode == exits.WRONG_INPUT
    assert "1 passed, 3 documents wrong" in done.stdout
    assert 'tests/a_test.yaml:4:11: error NL136: the playbook "nowhere.yaml" cannot be read' in done.stdout
    assert 'tests/b.yml:6:3: error NL137: step "fetch" has no task "get_pages"' in done.stdout
    assert re.search(r"^broken\.yaml:\d+:18: error NL303", done.stdout, re.MULTILINE)


def test_a_folder_without_tests_says_how_to_get_one(tmp_path):
    done = noetl("test", home=tmp_path)

    assert done.returncode == exits.WRONG_INPUT
    assert done.stderr.endswith("next: noetl run FILE --record tests/NAME.test.yaml\n")


def test_a_path_that_is_not_there_is_wrong_usage(tmp_path):
    assert noetl("test", "nowhere", home=tmp_path).returncode == exits.WRONG_INPUT


def test_test_and_playbook_may_stand_in_one_file(home):
    both = PLAYBOOK + "---\n" + RETRIES.replace("playbook: ../orders.yaml\n", "")
    (home / "both.yaml").write_text(both)

    assert noetl("test", "both.yaml", home=home).returncode == exits.DONE
    assert noetl("check", "both.yaml", home=home).returncode == exits.DONE


def test_a_recording_answers_where_the_test_does_not(home):
    lines = [{"task": "fetch.get_page", "data": {"rows": [1]}}, {"task": "fetch.get_page", "data": {"rows": []}}]
    (home / "tests" / "orders.rec.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = UNANSWERED + "recording: orders.rec.jsonl\nexpect: {output: {rows: 1}}\n"
    file = write(home, text)

    assert noetl("test", home=home).returncode == exits.DONE
    file.write_text(text.replace("rows: 1", "rows: 3") + "tools: {fetch: {data: {rows: [1, 2, 3]}}}\n")
    assert noetl("test", home=home).returncode == exits.DONE
    (home / "tests" / "orders.rec.jsonl").write_text("{}\n")
    assert "orders.rec.jsonl:1:1: the line is no recorded answer" in noetl("test", home=home).stdout


def test_update_ends_lines_as_the_file_does(home):
    file = write(home, WRONG)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))

    assert noetl("test", "--update", home=home).returncode == exits.DONE

    text = file.read_bytes()
    assert text.count(b"\n") == text.count(b"\r\n")
    assert noetl("test", home=home).returncode == exits.DONE


def test_update_keeps_what_is_said_beside_values_that_get_company(home):
    file = write(home, WRONG.replace("  output:\n", "  output: # all of it\n    text: nothing # the text\n"))

    assert noetl("test", "--update", home=home).returncode == exits.DONE

    assert "  output: # all of it\n    text: no such order # the text\n  path:" in file.read_text()


def test_update_changes_nothing_that_an_alias_in_what_is_expected_repeats(home):
    test = RETRIES.replace("tools:", "payload: &same {rows: [1]}   # given\ntools:")
    file = write(home, test.replace("  runs:", "  ctx: {rows: [1, 2]}\n  output: *same   # wanted\n  runs:", 1))
    file.write_text(file.read_text().replace("  output: {rows: 2}\n", ""))

    done = noetl("test", "--update", home=home)

    assert done.returncode == exits.DONE, done.stdout + done.stderr
    assert "payload: &same {rows: [1]}   # given\n" in file.read_text()
    assert "  output: { rows: 2 }   # wanted\n" in file.read_text()
    assert noetl("test", home=home).returncode == exits.DONE


def test_update_tells_true_from_one(home):
    (home / "orders.yaml").write_text(PLAYBOOK.replace("{{ output.data.rows }}", "{{ [true, {'deep': true}] }}"))
    file = write(home, RETRIES.replace("  runs:", "  ctx: {rows: [1, {deep: 1}]}\n  runs:"))

    assert noetl("test", "--update", home=home).returncode == exits.DONE

    assert "ctx: {rows: [true, {deep: true}]}" in file.read_text()
    assert noetl("test", home=home).returncode == exits.DONE


def test_a_file_that_cannot_be_updated_does_not_stop_the_others(home):
    shared = WRONG.replace("  output:\n", "  output: # in braces\n    { # a comment\n").replace(
        "[1, 2]\n", "[1, 2] }\n"
    )
    shared = shared.replace("    rows: 3   # three rows", "    rows: 3,")
    before = write(home, shared, name="a.test.yaml").read_bytes()
    write(home, WRONG, name="b.test.yaml")

    done = noetl("test", "--update", home=home)

    assert done.returncode == exits.FAILED
    assert "a.test.yaml: what the test" in done.stderr
    assert done.stderr.endswith("next: noetl test\n")  # the same again would do no more
    assert "2 tests: 0 passed, 1 failed, 1 updated" in done.stdout
    assert (home / "tests" / "a.test.yaml").read_bytes() == before
    assert noetl("test", "tests/b.test.yaml", home=home).returncode == exits.DONE


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"data": 1}', "`task`"),
        ('{"task": 5}', "$.task"),
        ('{"task": "fetch.get_page", "error": "boom"}', "$.error"),
        ('{"task": "fetch.get_page", "takes": "long"}', "$.takes"),
        ('{"task": "fetch.get_page", "takes": -1}', "$.takes"),
        ('{"task": "fetch.get_page", "http": 5}', "an answer has no `http`, unless"),
        ('{"task": "fetch.get_page", "stored": {"base64": "?"}}', "base64"),
        ('{"task": "fetch.get_page", "logs": 5}', "$.logs"),
        ('{"task": "fetch.get_page", "da', "truncated"),
        ("[" * 100_000, "no recorded answer"),
    ],
)
def test_a_recorded_line_that_is_no_answer_is_told_with_its_place(home, line, why):
    (home / "tests" / "orders.rec.jsonl").write_text('{"task": "fetch", "data": {}}\n' + line + "\n")
    write(home, UNANSWERED + "recording: orders.rec.jsonl\n")

    done = noetl("test", home=home)

    assert done.returncode == exits.WRONG_INPUT
    assert "orders.rec.jsonl:2:1: the line is no recorded answer" in done.stdout
    assert why in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes in folders")
@pytest.mark.parametrize("key", ["recording", "playbook"])
def test_a_pipe_is_not_waited_for(home, key):
    os.mkfifo(home / "tests" / "pipe")
    named = {"recording": UNANSWERED + "recording: pipe\n", "playbook": UNANSWERED.replace("../orders.yaml", "pipe")}
    write(home, named[key])

    done = noetl("test", home=home)

    assert done.returncode == exits.WRONG_INPUT
    assert f'the {key} "tests/pipe" cannot be read: it is a pipe' in done.stdout


def test_a_recording_has_a_bound(home):
    with (home / "tests" / "orders.rec.jsonl").open("wb") as file:
        file.truncate(RECORDING_BYTES_MAX + 1)
    write(home, UNANSWERED + "recording: orders.rec.jsonl\n")

    done = noetl("test", home=home)

    assert done.returncode == exits.WRONG_INPUT
    assert "a recording may have 67,108,864 bytes, but this file has more" in done.stdout


CALLS = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: orders}
workflow: [{step: call, tool: {kind: playbook, path: PATH}}]
"""


@pytest.mark.parametrize(
    ("children", "why"),
    [
        ("{deep: {fetch.get_pge: {data: {rows: []}}}}", 'has no task "get_pge"'),
        ("{deep: {fecth: {data: {rows: []}}}}", 'the called playbook has no step "fecth"'),
        ("{midle: {call: {data: null}}}", 'no task calls a playbook "midle"'),
    ],
)
def test_answers_of_called_playbooks_have_names_that_are_there(home, children, why):
    (home / "deep.yaml").write_text(PLAYBOOK)
    (home / "middle.yaml").write_text(CALLS.replace("PATH", "deep"))
    (home / "orders.yaml").write_text(CALLS.replace("PATH", "middle"))
    file = write(
        home, UNANSWERED + "children: {deep: {fetch.get_page: {data: {rows: [1]}}}}\nexpect: {output: {rows: 1}}\n"
    )

    right = noetl("test", home=home)
    file.write_text(UNANSWERED + f"children: {children}\n")
    wrong = noetl("test", home=home)

    assert right.returncode == exits.DONE, right.stdout
    assert wrong.returncode == exits.WRONG_INPUT
    assert why in wrong.stdout
    assert "did you mean" in wrong.stdout


def test_a_playbook_that_calls_itself_is_looked_into_once(home):
    (home / "orders.yaml").write_text(CALLS.replace("PATH", "orders"))
    write(home, UNANSWERED + "children: {others: {}}\n")

    assert 'no task calls a playbook "others"' in noetl("test", home=home).stdout


WORKBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: orders}
workbook:
  ask:
    kind: http
    input: {url: "http://127.0.0.1:9/"}
    spec:
      policy:
        rules:
          - {when: "{{ output.error.retryable }}", then: {do: retry, attempts: 3, delay: 60}}
          - {when: "{{ output.status == 'error' }}", then: {do: fail}}
          - else: {then: {do: continue}}
workflow:
  - step: one
    tool: {kind: workbook, task: ask}
"""


def test_rules_of_workbook_tasks_count(home):
    (home / "orders.yaml").write_text(WORKBOOK)
    write(home, UNANSWERED + "tools: {one: [{error: {kind: timeout}}, {data: 1}]}\nexpect: {duration: {min: 60}}\n")

    done = noetl("test", "--coverage", home=home)

    assert done.returncode == exits.DONE, done.stdout
    assert "2 of 3 arcs and rules taken" in done.stdout
    assert 'orders.yaml:12:13: rule 2 of task "ask" in the workbook (fail)' in done.stdout


WAITING = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: orders}
workflow:
  - step: ask
    tool: {kind: noop}
    next: {arcs: [{step: pay}]}
  - step: pay
    spec:
      policy:
        admit:
          on_deny: wait
          rules: [{when: "{{ ctx.yes is defined }}", then: {allow: true}}, {else: {then: {allow: false}}}]
    tool: {kind: noop, input: {who: "{{ ctx.yes }}"}}
"""
SIGNALLED = HEAD + "metadata: {name: is signalled}\nplaybook: ../orders.yaml\n"


@pytest.mark.parametrize(
    ("signals", "expect"),
    [
        ("[{set: {ctx.yes: ada}}]", "{output: {who: ada}, duration: {max: 0}}"),
        ("[{at: 3600, set: {ctx.yes: ada}}]", "{output: {who: ada}, duration: {min: 3600, max: 3600}}"),
        ("[{set: {ctx.no: 1}}, {at: 60, set: {ctx.yes: ada}}]", "{output: {who: ada}, duration: {min: 60, max: 60}}"),
        ("[{set: {ctx.no: 1}}]", "{status: waiting, ctx: {no: 1}}"),
    ],
)
def test_a_run_that_waits_is_signalled(home, signals, expect):
    (home / "orders.yaml").write_text(WAITING)
    write(home, SIGNALLED + f"signals: {signals}\nexpect: {expect}\n")

    done = noetl("test", home=home)

    assert done.returncode == exits.DONE, done.stdout


def test_the_executions_of_a_called_playbook_are_signalled(home):
    (home / "child.yaml").write_text(WAITING)
    (home / "orders.yaml").write_text(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: orders}\n"
        "workflow: [{step: call, tool: {kind: playbook, path: child}}]\n"
    )
    write(home, SIGNALLED + "signals: [{child: child, set: {ctx.yes: ada}}]\nexpect: {output: {who: ada}}\n")

    done = noetl("test", home=home)

    assert done.returncode == exits.DONE, done.stdout


@pytest.mark.parametrize(
    ("signals", "why"),
    [
        (
            "[{set: {ctx.yes: 1}}, {set: {ctx.yes: 2}}]",
            "test.yaml:5:32: signal 2 was not sent: the run had ended",
        ),
        ("[{child: other, set: {ctx.yes: 1}}]", 'signal 1 was not sent: no execution of the called playbook "other"'),
        ("[{set: {ctx.yes.no: 1}}, {set: {ctx.yes: 2}}, {at: 9, set: {ctx.x: 1}}]", "signal 2 was not sent"),
    ],
)
def test_a_signal_that_comes_to_nobody_is_an_error_of_the_test(home, signals, why):
    (home / "orders.yaml").write_text(WAITING)
    write(home, SIGNALLED + f"signals: {signals}\n")

    done = noetl("test", home=home)

    assert done.returncode == exits.FAILED
    assert why in done.stdout


def test_the_tests_of_the_examples_pass():
    from tests.docs.test_examples import ROOT

    done = noetl("test", str(ROOT / "examples" / "tests"), home=ROOT / "examples")

    assert done.returncode == exits.DONE, done.stdout


def test_a_file_without_a_playbook_is_told_as_that_wherever_one_is_wanted(home):
    file = write(home, RETRIES.replace("../orders.yaml", "orders.test.yaml"))

    tested = noetl("test", home=home)
    others = [noetl(verb, str(file), home=home) for verb in ("run", "plan")]

    assert [one.returncode for one in (tested, *others)] == [exits.WRONG_INPUT] * 3
    for said in (tested.stdout, *(one.stderr for one in others)):
        assert "orders.test.yaml:1:1: error NL109: there is no playbook in this file" in said


def test_two_playbooks_in_the_file_that_a_test_names_are_told_with_the_second_one(home):
    (home / "orders.yaml").write_text(PLAYBOOK + "---\n" + PLAYBOOK)
    write(home, RETRIES)

    done = noetl("test", home=home)

    line = PLAYBOOK.count("\n") + 2
    assert done.returncode == exits.WRONG_INPUT
    assert f"orders.yaml:{line}:1: error NL109: one file runs one playbook, but there are 2 in it" in done.stdout


@pytest.mark.parametrize("target", ["missing/report.xml", "tests", "tests/orders.test.yaml"])
def test_a_report_that_cannot_be_written_is_refused_before_anything_is_updated(home, target):
    file = write(home, WRONG)

    done = noetl("test", "--update", "--junit", target, home=home)

    assert done.returncode == exits.WRONG_INPUT
    assert done.stdout == ""
    assert target.split("/")[0] in done.stderr
    assert file.read_text() == WRONG
