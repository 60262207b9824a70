"""kind: workbook at work: a call boundary with its own labels, input, retries and writes."""

from pathlib import Path

import pytest

from noetl.testing.http_server import Answer, running_api
from tests.runner.runs import run


@pytest.mark.spec("PB-06", "TK-11")
def test_a_called_task_reads_the_callers_input_and_none_of_its_labels(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """
        workbook:
          greet:
            kind: noop
            input: {text: "hello {{ input.who }}", label: "{{ _task }}"}
            set: {ctx.greeted: "{{ output.data.text }}"}
        workflow:
          - step: start
            tool:
              - {name: first, kind: noop, input: {x: 1}}
              - {name: call, kind: workbook, task: greet, input: {who: Ada}}
              - {name: after, kind: noop, input: {prev: "{{ _prev }}", call: "{{ call.data.text }}"}}
        """,
    )

    assert ran.status == "success", ran.error
    assert ran.output["data"]["call"] == "hello Ada"
    assert ran.ctx == {"greeted": "hello Ada"}
    assert [event["task_label"] for event in ran.events("task.done")] == ["first", "call", "after"]


@pytest.mark.spec("TK-14", "PB-06")
def test_the_called_tasks_own_retry_happens_before_the_callers_and_does_not_show(tmp_path: Path) -> None:
    with running_api() as api:
        api.script("/flaky", *(Answer(status=500, json={}),) * 3, Answer(json={"ok": True}))
        ran = run(
            tmp_path,
            f"""
            workbook:
              fetch:
                kind: http
                url: "{api.url}/flaky"
                spec:
                  policy:
                    rules:
                      - when: "{{{{ output.status == 'error' }}}}"
                        then: {{do: retry, attempts: 2, delay: 0}}
                      - else: {{then: {{do: continue}}}}
            workflow:
              - step: start
                tool:
                  - name: call
                    kind: workbook
                    task: fetch
                    spec:
                      policy:
                        rules:
                          - when: "{{{{ output.status == 'error' }}}}"
                            then: {{do: retry, attempts: 3, delay: 0}}
                          - else: {{then: {{do: continue}}}}
            """,
        )
        requests = len(api.requests("/flaky"))

    assert (ran.status, ran.output["data"]) == ("success", {"ok": True})
    assert requests == 4
    assert [event["attempt"] for event in ran.events("task.done")] == [1, 2]


@pytest.mark.spec("TK-10", "PB-06")
def test_a_called_task_that_is_skipped_passes_on_what_was_before_it(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """
        workload: {off: true, no: null}
        workbook:
          act:
            kind: python
            code: "raise SystemExit('never')"
            spec: {policy: {rules: [{when: "{{ workload.off }}", then: {do: skip}}]}}
        workflow:
          - step: start
            tool:
              - {name: large, kind: python, code: "result = ['x' * 1000] * 200"}
              - name: bad
                kind: python
                code: "raise ValueError('no')"
                spec: {policy: {rules: [{else: {then: {do: skip}}}]}}
              - {name: call, kind: workbook, task: act}
              - {name: after, kind: noop, input: {n: "{{ _prev | length }}"}}
        """,
    )

    assert ran.status == "success", ran.error
    assert ran.output["data"] == {"n": 200}


@pytest.mark.spec("TK-08", "PB-06")
def test_a_delay_of_a_called_task_that_is_no_number_fails_the_step_and_nothing_else(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """
        workload: {wait: soon}
        workbook:
          act:
            kind: python
            code: "raise ValueError('no')"
            spec: {policy: {rules: [{else: {then: {do: retry, delay: "{{ workload.wait }}"}}}]}}
        workflow:
          - step: start
            tool: [{name: call, kind: workbook, task: act}]
        """,
    )

    assert (ran.status, ran.error["kind"], ran.error["task"]) == ("failed", "type", "call")
    assert "delay must be a number of seconds" in ran.error["message"]


@pytest.mark.spec("PB-06", "TK-07", "TK-08")
@pytest.mark.parametrize(
    ("code", "rule", "status", "message"),
    [
        ("result = 1", "{else: {then: {do: fail}}}", "failed", "says fail"),
        ("result = 1", "{else: {then: {do: retry, attempts: 2, delay: 0}}}", "failed", "has no attempt left"),
        ("1 / 0", "{else: {then: {do: continue}}}", "success", ""),
        ("1 / 0", "{else: {then: {do: retry, attempts: 2, delay: 0}}}", "failed", "division by zero"),
    ],
)
def test_the_policy_of_a_called_task_decides_what_the_caller_gets(
    tmp_path: Path, code: str, rule: str, status: str, message: str
) -> None:
    ran = run(
        tmp_path,
        f"""
        workflow:
          - step: start
            tool: {{kind: workbook, task: called}}
        workbook:
          called:
            kind: python
            input: {{code: "{code}"}}
            spec: {{policy: {{rules: [{rule}]}}}}
        """,
    )

    assert ran.status == status
    assert message in (ran.error or {"message": ""})["message"]


@pytest.mark.spec("PB-06", "TK-18")
def test_a_call_has_the_time_of_its_caller(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """
        workflow:
          - step: start
            tool: {kind: workbook, task: slow, spec: {timeout: 0.2}}
        workbook:
          slow: {kind: shell, input: {command: sleep 30}}
        """,
    )

    assert ran.status == "failed"
    assert ran.error["kind"] == "timeout"
