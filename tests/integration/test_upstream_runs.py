"""Playbooks with the habits of the public NoETL against a real PostgreSQL, through `noetl run --compat upstream`."""

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.noetl import Ended, Noetl
from tests.integration.postgres_parts import seen

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\n"

SQL = """
    metadata: {name: orders, path: field/orders}
    keychain: [{name: warehouse, kind: postgres_credential}]
    workload: {customer: "O'Brien; DROP TABLE field_orders; --"}
    workflow:
      - step: prepare
        tool:
          kind: postgres
          credential: warehouse
          pool: {min_size: 1, max_size: 4}
          commands:
            - DROP TABLE IF EXISTS field_orders
            - CREATE TABLE field_orders (id int PRIMARY KEY, customer text, note text)
        next: {arcs: [{step: load, when: "{{ event.name == 'call.done' }}"}]}
      - step: load
        tool:
          kind: postgres
          auth: warehouse
          command: |
            -- a semicolon; in a comment
            INSERT INTO field_orders VALUES (1, '{{ workload.customer }}', 'a;b');
            DO $$ BEGIN PERFORM 1; PERFORM 2; END $$;
            INSERT INTO field_orders SELECT n, 'other', null FROM generate_series(2, 3) AS n;
            SELECT id, customer FROM field_orders ORDER BY id;
        next:
          arcs:
            - step: show
              when: "{{ load.row_count == 3 }}"
              set:
                first: "{{ load.rows[0].customer }}"
                columns: "{{ load.columns }}"
                inserted: "{{ [load.command_0.affected_rows, load.command_2.affected_rows] }}"
                last: "{{ load.command_3.rows == load.rows }}"
      - step: show
        tool: {kind: postgres, auth: warehouse, query: "SELECT count(*) AS n FROM field_orders"}
    """


@pytest.fixture
def field(tmp_path: Path, database_url: str) -> Callable[..., Ended]:
    """`noetl run --compat upstream` of a body, in a home that knows the credential `warehouse`."""
    noetl = Noetl(tmp_path)
    noetl.environ["NOETL_SECRET_WAREHOUSE"] = json.dumps({"dsn": database_url})

    def run(body: str, **others: str) -> Ended:
        for name, text in {"main": body, **others}.items():
            (tmp_path / f"{name}.yaml").write_text(HEAD + textwrap.dedent(text))
        return noetl("run", "main.yaml", "--compat", "upstream", "--format", "json")

    return run


def succeeded(ended: Ended) -> Any:
    assert ended.code == 0, ended.err or ended.out
    return ended.document


@pytest.mark.slow
@pytest.mark.spec("UP-03", "UP-04")
def test_many_statements_give_a_value_each_and_that_of_the_last(field: Callable[..., Ended], database_url: str) -> None:
    done = succeeded(field(SQL))

    assert done["ctx"] == {
        "first": "O'Brien; DROP TABLE field_orders; --",
        "columns": ["id", "customer"],
        "inserted": [1, 2],
        "last": True,
    }
    assert done["output"]["data"]["rows"] == [{"n": 3}]
    assert seen(database_url, "SELECT note FROM field_orders WHERE id = 1") == [("a;b",)]


@pytest.mark.slow
@pytest.mark.spec("UP-03", "UP-08")
def test_a_statement_that_fails_fails_the_step_unless_a_rule_says_otherwise(field: Callable[..., Ended]) -> None:
    body = """
        metadata: {name: broken}
        keychain: [{name: warehouse, kind: postgres_credential}]
        workflow:
          - step: ask
            tool:
              kind: postgres
              credential: warehouse
              query: SELECT * FROM nowhere
              spec: {policy: {rules: [{when: "{{ outcome.error.kind == 'connection' }}", then: {do: retry}}]}}
            next: {arcs: [{step: told, when: "{{ event.name == 'call.error' }}", set: {code: "{{ output.pg.code }}"}}]}
          - {step: told, tool: {kind: noop}}
        """

    assert succeeded(field(body))["ctx"] == {"code": "42P01"}


@pytest.mark.slow
@pytest.mark.spec("UP-06", "UP-03", "UP-05")
def test_children_fill_a_table_and_their_caller_reads_what_the_named_step_gave(
    field: Callable[..., Ended], database_url: str
) -> None:
    child = """
        metadata: {name: score}
        keychain: [{name: warehouse, kind: postgres_credential}]
        executor: {spec: {compat: upstream}}
        workload: {user: nobody}
        workflow:
          - step: write
            tool:
              kind: postgres
              credential: warehouse
              command: |
                SET LOCAL application_name = 'field; scores';
                INSERT INTO field_scores VALUES ('{{ workload.user }}', length('{{ workload.user }}')) RETURNING points;
            next: {arcs: [{step: tidy}]}
          - {step: tidy, tool: {kind: noop, input: {tidied: true}}}
        """
    caller = """
        metadata: {name: scores}
        keychain: [{name: warehouse, kind: postgres_credential}]
        workflow:
          - step: start
            tool: {kind: postgres, auth: warehouse, command: "CREATE TABLE field_scores (who text, points int)"}
            next: {spec: {mode: inclusive}, arcs: [{step: ada}, {step: grace}]}
          - step: ada
            tool: {kind: playbook, path: score, return_step: write, payload: {user: Ada}}
            next: {arcs: [{step: both}]}
          - step: grace
            tool: {kind: playbook, path: score, return_step: write, payload: {user: "Grace'"}}
            next: {arcs: [{step: both}]}
          - step: both
            tool:
              kind: python
              args: {points: "{{ [ada.rows[0].points, grace.rows[0].points] }}"}
              code: |
                result = {"total": sum(points)}
        """

    done = succeeded(field(caller, score=child))

    assert done["output"]["data"] == {"total": 9}
    assert {step["step"]: step["runs"] for step in done["steps"]}["both"] == 1
    assert sorted(seen(database_url, "SELECT who, points FROM field_scores")) == [("Ada", 3), ("Grace'", 6)]
