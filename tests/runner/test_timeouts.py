"""spec.timeout at work: one attempt of a task, whatever its tool does (TK-18)."""

from pathlib import Path

import pytest

from noetl.testing.http_server import Answer, running_api
from tests.runner.runs import run

SLOW = "import time; time.sleep(30)"


@pytest.mark.spec("TK-18", "TK-19", "TK-04")
@pytest.mark.slow
@pytest.mark.parametrize("timeout", ["0.3", "{total: 0.3}"])
def test_an_attempt_over_its_time_is_a_retryable_timeout(tmp_path: Path, timeout: str) -> None:
    ran = run(
        tmp_path,
        f"""
        workflow:
          - step: start
            tool:
              - name: slow
                kind: python
                code: "{SLOW}"
                set: {{ctx.error: "{{{{ output.error }}}}"}}
                spec:
                  timeout: {timeout}
                  policy: {{rules: [{{else: {{then: {{do: continue}}}}}}]}}
        """,
    )

    error = ran.ctx["error"]
    assert (error["kind"], error["retryable"]) == ("timeout", True)
    assert "0.3 s" in error["message"]
    assert 300 <= ran.summary["duration_ms"] < 20_000


@pytest.mark.spec("TK-18", "TK-08")
@pytest.mark.slow
def test_the_time_is_for_one_attempt_and_a_retry_has_its_own(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        f"""
        workflow:
          - step: start
            tool:
              - name: slow
                kind: python
                code: "{SLOW}"
                spec:
                  timeout: 0.2
                  policy:
                    rules:
                      - when: "{{{{ output.error.retryable }}}}"
                        then: {{do: retry, attempts: 3, delay: 0}}
                      - else: {{then: {{do: continue}}}}
        """,
    )

    durations = [event["payload"]["output"]["meta"]["duration_ms"] for event in ran.events("task.done")]
    assert (ran.status, ran.error["kind"]) == ("failed", "timeout")
    assert len(durations) == 3
    assert min(durations) >= 200


@pytest.mark.spec("TK-18", "TK-03")
@pytest.mark.slow
@pytest.mark.parametrize(
    "executor",
    [
        "{spec: {http: {timeout: 0.2}}}",
        "{spec: {policy: {defaults: {timeouts: {total: 0.2}}}}}",
        "{spec: {timeout: {read: 0.2}}}",
    ],
)
def test_defaults_stand_below_the_tasks_own_timeout(tmp_path: Path, executor: str) -> None:
    with running_api() as api:
        api.script("/slow", Answer(json={}, delay_seconds=0.6))
        ran = run(
            tmp_path,
            f"""
            executor: {executor}
            workflow:
              - step: start
                tool:
                  - name: short
                    kind: http
                    url: "{api.url}/slow"
                    spec: {{policy: {{rules: [{{else: {{then: {{do: continue}}}}}}]}}}}
                  - name: long
                    kind: http
                    url: "{api.url}/slow"
                    spec: {{timeout: {{connect: 20, read: 20, total: 20}}}}
            """,
        )

    short, long = (event["payload"]["output"] for event in ran.events("task.done"))
    assert (short["error"]["kind"], short["error"]["retryable"]) == ("timeout", True)
    assert long["status"] == "ok", long


@pytest.mark.spec("TK-18")
@pytest.mark.slow
def test_an_iteration_over_its_time_fails_alone(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """
        workflow:
          - step: start
            loop: {in: [0, 5, 0], iterator: wait, spec: {mode: parallel}}
            spec: {policy: {failure: {mode: best_effort}}}
            tool:
              - name: t
                kind: python
                input: {wait: "{{ iter.wait }}"}
                code: "import time; time.sleep(input['wait']); result = input['wait']"
                spec: {timeout: 1.5}
        """,
    )

    assert ran.output["loop"] == {"total": 3, "done": 2, "failed": 1, "skipped": 0}
    assert ran.output["data"] == [0, None, 0]


@pytest.mark.slow
@pytest.mark.spec("TK-18")
def test_waiting_for_a_process_does_not_count(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """
        workflow:
          - step: start
            loop: {in: "{{ range(12) }}", iterator: i, spec: {mode: parallel}}
            tool: {kind: shell, input: {command: sleep 0.3}, spec: {timeout: 1.5}}
        """,
    )

    assert ran.status == "success"


@pytest.mark.spec("TK-18", "TK-04")
@pytest.mark.slow
def test_a_request_over_its_time_names_the_host_and_has_its_helper(tmp_path: Path) -> None:
    with running_api() as api:
        api.script("/slow", Answer(delay_seconds=5))
        ran = run(
            tmp_path,
            f"""
            workflow:
              - step: start
                tool:
                  - name: ask
                    kind: http
                    url: {api.url}/slow
                    set: {{ctx.message: "{{{{ output.error.message }}}}", ctx.url: "{{{{ output.http.url }}}}"}}
                    spec: {{timeout: 0.3, policy: {{rules: [{{else: {{then: {{do: continue}}}}}}]}}}}
            """,
        )

    assert ran.ctx["message"] == "no answer of 127.0.0.1 within 0.3 s (timeout.total)"
    assert ran.ctx["url"] == f"{api.url}/slow"
