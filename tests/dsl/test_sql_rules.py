"""Templates in fields that are SQL (NL621, NL624), and what the model keeps of it."""

import pytest

from tests.dsl.front import Front

TASK = """
keychain: [{{name: db, kind: postgres_credential}}]
workload: {{sql: SELECT 1, sqls: [SELECT 1]}}
workflow:
  - step: start
    tool:
      - name: load
        kind: {kind}
        auth: db
        {field}
"""


def codes(front: Front, field: str, kind: str = "postgres") -> list[str]:
    found = front.check(TASK.format(kind=kind, field=field)).findings
    return [one.code for one in found if one.code in ("NL621", "NL624")]


@pytest.mark.spec("TL-03", "TP-05")
@pytest.mark.parametrize("kind", ["postgres", "duckdb"])
@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ('command: "{{ workload.sql }}"', ["NL624"]),
        ('query: " {{ workload.sql }} "', ["NL624"]),
        ('commands: ["SELECT 1", "{{ workload.sql }}"]', ["NL624"]),
        ('commands: "{{ workload.sqls }}"', ["NL624"]),
        ('command: "{{ workload.sql | raw_sql }}"', ["NL621"]),
        ("command: \"{{ 'SELECT 1' | raw_sql }}\"", []),
        ('command: "SELECT {{ workload.sql }}"', []),
        ('command: "{% if workload.sql %}SELECT 1{% endif %}"', []),
        ('command: "SELECT * FROM {{ workload.sql | ident }}"', []),
        ('input: {command: "SELECT $1", params: "{{ workload.sqls }}"}', []),
        ('input: {command: "{{ workload.sql }}"}', ["NL624"]),
    ],
)
def test_a_command_that_is_one_value_is_found_before_the_run(
    front: Front, kind: str, field: str, expected: list[str]
) -> None:
    assert codes(front, field, kind) == expected


@pytest.mark.spec("TL-03", "TP-05")
@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        ('{from: "{{ workload.sql }}"}', ['"copy.from" is one value, and a value is never run as SQL']),
        ('{from: "{{ workload.sql | raw_sql }}"}', []),
        ('{from: "TABLE {{ workload.sql | ident }}"}', []),
        ('{into: orders, rows: "{{ workload.sqls }}"}', []),
    ],
)
def test_sql_inside_of_a_mapping_is_looked_at_too(front: Front, copy: str, expected: list[str]) -> None:
    found = front.check(TASK.format(kind="postgres", field=f"copy: {copy}")).findings

    assert [one.message for one in found if one.code == "NL624"] == expected


@pytest.mark.spec("TP-01")
def test_ident_outside_of_sql_is_harmless(front: Front) -> None:
    body = TASK.format(kind="noop", field='input: {a: "{{ workload.sql | ident }}"}').replace("        auth: db\n", "")

    assert [one.code for one in front.check(body).findings] == []


@pytest.mark.spec("TL-03")
def test_the_model_knows_which_texts_are_sql(front: Front) -> None:
    field = 'command: "SELECT {{ workload.sql }}"\n        params: ["{{ workload.sql }}"]'

    task = front.playbook(TASK.format(kind="postgres", field=field)).steps["start"].tasks[0]

    assert {name: value.is_sql for name, value in task.input.items()} == {
        "auth": False,
        "command": True,
        "params": False,
    }
