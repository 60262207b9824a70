"""spec.result.schema: a result that is not as declared is an error, and nothing of it is recorded."""

import json
from pathlib import Path

import pytest

from noetl.runner import result_schema
from tests.runner.runs import run


def playbook(code: str, schema: str, more: str = "") -> str:
    return f"""
        workflow:
          - step: start
            tool:
              kind: python
              code: {json.dumps(code)}
              spec:
                result: {{schema: {schema}}}
                {more}
        """


ROWS = "{type: array, items: {type: object, required: [id], properties: {id: {type: integer}}}}"


@pytest.mark.spec("RS-07")
def test_a_result_as_declared_is_the_output(tmp_path: Path) -> None:
    ran = run(tmp_path, playbook("result = [{'id': 1}, {'id': 2}]", ROWS))

    assert ran.output["data"] == [{"id": 1}, {"id": 2}]


@pytest.mark.spec("RS-07")
def test_another_result_fails_the_task_and_is_recorded_nowhere(tmp_path: Path) -> None:
    ran = run(tmp_path, playbook("result = [{'id': 1}, {'id': 'payload-text'}]", ROWS))

    assert ran.status == "failed"
    assert ran.error["kind"] == "type"
    assert "data[1].id: wanted integer, found a string of 12 characters" in ran.error["message"]
    assert b"payload-text" not in b"".join(file.read_bytes() for file in tmp_path.rglob("*.results/**/*"))
    (done,) = ran.events("task.done")
    assert "payload-text" not in json.dumps(done["payload"]["output"])
    assert done["payload"]["output"]["error"]["retryable"] is False


@pytest.mark.spec("RS-07")
def test_an_author_can_handle_the_violation(tmp_path: Path) -> None:
    handled = """
                policy:
                  rules:
                    - {when: "{{ output.error.kind == 'type' }}", then: {do: continue, set: {ctx.bad: true}}}
                    - {else: {then: {do: continue}}}
    """

    ran = run(tmp_path, playbook("result = 'x'", "{type: integer}", handled.strip()))

    assert ran.status == "success"
    assert ran.ctx["bad"] is True


@pytest.mark.spec("RS-07", "RS-01")
@pytest.mark.parametrize(("wanted", "status"), [("string", "success"), ("array", "failed")])
def test_a_large_result_is_checked_before_it_is_stored(tmp_path: Path, wanted: str, status: str) -> None:
    ran = run(tmp_path, playbook("result = 'x' * 200_000", f"{{type: {wanted}}}"))

    assert ran.status == status
    stored = [file for file in (tmp_path / "noetl.results").rglob("*") if file.is_file()]
    assert bool(stored) == (status == "success")


@pytest.mark.spec("RS-07")
def test_a_workbook_tasks_schema_is_asked_on_each_call(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """
        workflow:
          - step: start
            tool: {kind: workbook, task: rows}
        workbook:
          rows:
            kind: python
            code: result = 5
            spec: {result: {schema: {type: string}}}
        """,
    )

    assert ran.error["kind"] == "type"
    assert "data: wanted string, found an integer" in ran.error["message"]


@pytest.mark.spec("RS-07")
def test_the_library_reads_what_we_do_not(tmp_path: Path) -> None:
    ran = run(tmp_path, playbook("result = {'code': 'nope'}", "{properties: {code: {pattern: '^[A-Z]+$'}}}"))

    assert ran.error["kind"] == "type"
    assert 'data.code: wanted pattern: "^[A-Z]+$", found a string of 4 characters' in ran.error["message"]


def test_a_pattern_that_backtracks_elsewhere_takes_no_time(tmp_path: Path) -> None:
    ran = run(tmp_path, playbook("result = 'a' * 50_000 + '!'", "{pattern: '^(a+)+$'}"))

    assert ran.error["kind"] == "type"


@pytest.mark.parametrize(
    ("schema", "words"),
    [("{pattern: '('}", "spec.result.schema cannot be used"), ("{$ref: 'https://example.com/x'}", "cannot be used")],
)
def test_a_schema_that_the_library_refuses_is_said_to_be_at_fault(tmp_path: Path, schema: str, words: str) -> None:
    ran = run(tmp_path, playbook("result = 'a'", schema))

    assert ran.error["kind"] == "exception"
    assert words in ran.error["message"]


@pytest.mark.spec("RS-07")
def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jsonschema_rs", None)
    result_schema._check_of.cache_clear()

    ran = run(tmp_path, playbook("result = 'a'", "{format: date}"))

    assert ran.error["kind"] == "exception"
    assert 'spec.result.schema with "format" needs: pip install "noetl[schema]"' in ran.error["message"]
