"""A playbook rehearsed: by the real engine, with answers in place of tools."""

from pathlib import Path

import pytest

from noetl.config import load
from noetl.control.requests import RunRequest
from noetl.errors import InvalidPlaybook
from noetl.rehearsal.answers import ByPlaybook, Listed
from noetl.rehearsal.checking import path_of, runs_of
from noetl.rehearsal.stage import LATE, LONG, Stage, Wanted
from noetl.rehearsal.tools import HARMLESS

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: trial, path: tests/trial}\n"
FETCH = (
    HEAD
    + """workflow:
  - step: fetch
    tool:
      - name: get
        kind: http
        input: {url: "https://example.com/{{ workload.page | default('x') }}"}
        spec:
          timeout: 60
          policy:
            rules:
              - when: "{{ output.status == 'error' and output.error.retryable }}"
                then: {do: retry, attempts: 8, backoff: exponential, delay: 100}
              - when: "{{ output.status == 'error' }}"
                then: {do: fail}
              - else: {then: {do: continue, set: {ctx.status: "{{ output.http.status }}"}}}
"""
)
EACH = (
    HEAD
    + """workflow:
  - step: each
    loop:
      in: "{{ [[10, 11], [20]] }}"
      iterator: row
      spec: {mode: parallel}
    tool:
      - name: get
        kind: http
        input: {url: "https://example.com/{{ iter.row }}"}
"""
)
CALL = (
    HEAD
    + """workflow:
  - step: call
    tool: {kind: playbook, input: {path: child, number: 3}}
"""
)
CHILD = (
    HEAD.replace("trial", "child")
    + """workload: {number: 0}
workflow:
  - step: ask
    tool: {kind: http, name: it, input: {url: "https://example.com/{{ workload.number }}"}}
"""
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stage")
    with Stage(load(environ={"NOETL_HOME": str(folder)}, folder=folder)) as entered:
        yield entered


@pytest.fixture
def rehearse(stage, tmp_path):
    def rehearsed(text, answers=None, *, children=None, payload=None, **wanted):
        request = RunRequest(data=text.encode(), name="trial.yaml", folder=str(tmp_path), payload=payload or {})
        listed = {name: one if isinstance(one, list) else [one] for name, one in (answers or {}).items()}
        by_child = {
            path: Listed({name: [one] for name, one in tools.items()}) for path, tools in (children or {}).items()
        }
        return stage.rehearse(Wanted(request=request, answers=ByPlaybook(Listed(listed), by_child), **wanted))

    return rehearsed


@pytest.mark.spec("TK-08")
def test_retries_of_hours_pass_in_simulated_time(rehearse):
    busy = {"error": {"kind": "server_error"}}

    found = rehearse(FETCH, {"fetch.get": [*[busy] * 5, {"data": 1}]})

    assert found.summary["status"] == "success"
    assert found.seconds == 100 + 200 + 400 + 800 + 1600
    assert [call.asked.attempt for call in found.calls] == [1, 2, 3, 4, 5, 6]
    assert runs_of(found) == {"fetch": 1, "fetch.get": 6}


def test_the_same_rehearsal_gives_the_same_log(rehearse):
    answers = {"each": [{"iteration": 0, "data": 1, "takes": 3}, {"data": 2}]}

    first, second = rehearse(EACH, answers), rehearse(EACH, answers)

    assert first.events == second.events


def test_the_last_answer_answers_all_further_calls(rehearse):
    found = rehearse(FETCH, {"fetch": [{"error": {"kind": "timeout"}}]})

    assert found.summary["status"] == "failed"
    assert runs_of(found)["fetch.get"] == 8


@pytest.mark.parametrize(
    ("answer", "kind", "status"),
    [
        ({"http": {"status": 404}}, "not_found", 404),
        ({"error": {"kind": "auth"}}, "auth", 401),
        ({"error": {"kind": "client_error"}, "http": {"status": 418}}, "client_error", 418),
    ],
)
def test_what_an_answer_leaves_out_is_as_the_kind_would_have_it(rehearse, answer, kind, status):
    found = rehearse(FETCH, {"fetch": answer})

    assert found.summary["error"]["kind"] == kind
    (done,) = [event for event in found.events[1] if type(event).__name__ == "TaskDone"]
    assert done.output["http"]["status"] == status


def test_an_answer_that_takes_longer_than_the_time_limit_is_a_timeout(rehearse):
    found = rehearse(FETCH, {"fetch": [{"data": 1, "takes": 61}, {"data": 2, "takes": 59}]})

    assert found.summary["output"]["data"] == 2
    assert found.seconds == 60 + 100 + 59


def test_an_answer_may_say_how_long_to_wait(rehearse):
    found = rehearse(FETCH, {"fetch": [{"error": {"kind": "rate_limit"}, "retry_after": 3600}, {"data": 1}]})

    assert found.seconds == 3600


def test_answers_of_an_iteration_come_before_those_of_all(rehearse):
    found = rehearse(EACH, {"each.get": [{"iteration": 1, "data": "second"}, {"data": "any"}]})

    assert found.summary["output"]["data"] == ["any", "second"]
    assert {call.asked.iteration for call in found.calls} == {"0", "1"}


def test_a_call_that_nobody_answers_ends_the_rehearsal_and_says_what_it_was_given(rehearse):
    found = rehearse(FETCH, payload={"page": "a/b"})

    assert (found.unanswered.name, found.unanswered.kind) == ("fetch.get", "http")
    assert found.unanswered.input == {"url": "https://example.com/a/b"}


def test_python_runs_for_real_and_takes_no_simulated_time(rehearse):
    text = (
        HEAD
        + "workflow:\n  - {step: a, tool: {kind: python, input: {code: 'import time; time.sleep(0.05); return 7'}}}\n"
    )

    found = rehearse(text)

    assert (found.summary["output"]["data"], found.seconds) == (7, 0)


def test_python_may_be_answered_too(rehearse):
    text = HEAD + "workflow:\n  - {step: a, tool: {kind: python, input: {code: 'return 7'}}}\n"

    assert rehearse(text, {"a": {"data": 8}}).summary["output"]["data"] == 8
    assert rehearse(text, real=frozenset(("noop",))).unanswered.kind == "python"


def test_a_python_task_that_hangs_keeps_its_own_time_limit(rehearse):
    code = "import time; time.sleep(30)"
    text = (
        HEAD
        + f"workflow:\n  - {{step: a, tool: {{kind: python, input: {{code: '{code}'}}, spec: {{timeout: 0.2}}}}}}\n"
    )

    assert rehearse(text).summary["error"]["kind"] == "timeout"


def test_a_rehearsal_that_takes_too_long_is_ended(rehearse):
    text = HEAD + "workflow:\n  - {step: a, tool: {kind: python, input: {code: 'import time; time.sleep(30)'}}}\n"

    assert rehearse(text, seconds_max=0.2).stopped == LATE


def test_a_rehearsal_with_too_many_events_is_ended(rehearse):
    text = (
        HEAD
        + """workflow:
  - step: a
    tool: {kind: noop}
    next: {arcs: [{step: b}]}
  - step: b
    tool: {kind: noop}
    next: {arcs: [{step: a, when: "{{ workload.on | default(true) }}"}]}
"""
    )

    assert rehearse(text, events_max=500).stopped == LONG


def test_a_child_is_rehearsed_with_answers_of_its_own(rehearse, tmp_path):
    (tmp_path / "child.yaml").write_text(CHILD)

    found = rehearse(CALL, children={"child": {"ask.it": {"data": 42}}})

    assert found.summary["output"]["data"] == 42
    (asked,) = [call.asked for call in found.calls if call.asked.kind == "http"]
    assert (asked.playbook, asked.input["url"]) == ("child", "https://example.com/3")


def test_a_child_may_be_answered_by_its_caller(rehearse):
    found = rehearse(CALL, {"call": {"data": 5}})

    assert (found.summary["status"], found.summary["output"]["data"]) == ("success", 5)
    assert path_of(found) == ["call"]


def test_an_answered_child_may_fail(rehearse):
    found = rehearse(CALL, {"call": {"error": {"kind": "child_failed", "message": "no more beds"}}})

    assert found.summary["status"] == "failed"
    assert (found.summary["error"]["kind"], found.summary["error"]["message"]) == (
        "child_failed",
        "the child failed: no more beds",
    )


def test_a_child_that_is_nowhere_is_a_call_that_nobody_answers(rehearse):
    assert rehearse(CALL).unanswered.input["path"] == "child"


@pytest.mark.spec("KC-02")
def test_credentials_are_words_that_are_no_secrets(rehearse):
    text = (
        HEAD
        + """keychain:
  - {name: shop, kind: secret_manager}
workflow:
  - step: a
    tool:
      - {name: get, kind: http, input: {url: "https://example.com", headers: {x: "{{ keychain.shop.door_code }}"}}}
      - {name: make, kind: python, input: {code: "return input['x'][:4]", x: "{{ keychain.shop['value'] }}"}}
"""
    )

    found = rehearse(text, {"a.get": {"data": 1}})

    assert found.summary["status"] == "success", found.summary
    assert found.calls[0].asked.input["headers"] == {"x": "rehearsal-shop-door_code"}  # tells two calls apart


def test_a_wait_for_a_signal_ends_the_rehearsal_as_waiting(rehearse):
    text = (
        HEAD
        + """workflow:
  - step: approve
    spec:
      policy:
        admit:
          on_deny: wait
          rules:
            - {when: "{{ ctx.approved }}", then: {allow: true}}
            - else: {then: {allow: false}}
    tool: {kind: noop}
"""
    )

    assert rehearse(text).summary["status"] == "waiting"


def test_a_deadline_of_a_step_passes_in_simulated_time(rehearse):
    text = (
        HEAD
        + """workflow:
  - step: slow
    spec: {policy: {lifecycle: {deadline_s: 3600}}}
    tool: {kind: http, input: {url: "https://example.com"}}
"""
    )

    found = rehearse(text, {"slow": {"data": 1, "takes": 7200}})

    assert found.summary["error"]["kind"] == "timeout"
    assert 3600 <= found.seconds < 3601


def test_a_payload_over_the_limit_is_kept_beside_the_log_and_found_again(rehearse):
    text = (
        HEAD
        + """workflow:
  - step: a
    tool:
      - {name: get, kind: http, input: {url: "https://example.com"}}
      - {name: back, kind: resolve, input: {ref: "{{ get.ref }}"}}
      - {name: count, kind: python, input: {code: "return len(input['rows'])", rows: "{{ back.data }}"}}
"""
    )

    found = rehearse(text, {"a.get": {"data": list(range(50_000))}})

    assert found.summary["output"]["data"] == 50_000, found.summary


def test_a_playbook_that_does_not_check_is_refused(rehearse):
    with pytest.raises(InvalidPlaybook):
        rehearse(FETCH.replace("kind: http", "kind: htp"))


def test_a_kind_whose_library_is_not_here_can_be_answered(rehearse, monkeypatch):
    text = (
        HEAD
        + """keychain: [{name: db, kind: postgres_credential}]
workflow:
  - {step: a, tool: {kind: postgres, input: {auth: db, command: "select 1"}}}
"""
    )
    monkeypatch.setattr("noetl.embedded.is_installed", lambda _kind: False)
    monkeypatch.setattr("noetl.runner.toolbox.is_installed", lambda kind: not kind.module)

    found = rehearse(text, {"a": {"data": [{"one": 1}], "pg": {"affected_rows": 1}}})

    assert found.summary["output"]["data"] == [{"one": 1}]


def test_no_folder_is_written_to(rehearse, tmp_path, stage):
    before = set(Path(stage.settings.home).rglob("*")) if Path(stage.settings.home).exists() else set()

    rehearse(FETCH, {"fetch": {"data": "x" * 200_000}})

    home = Path(stage.settings.home)
    assert (set(home.rglob("*")) if home.exists() else set()) == before
    assert list(tmp_path.iterdir()) == []
    assert "http" not in HARMLESS
