"""AC-10: every example playbook printed in the five documents runs, against servers on loopback.

The texts are those of tests/playbooks/documents, which tests/dsl/test_documents.py checks. A host that a document
made up becomes the local server's address; nothing else is changed. The database is a real PostgreSQL with the tables
that an example writes to.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from noetl.testing.http_server import Answer, ApiServer
from tests.acceptance.noetl import Noetl

DOCUMENTS = Path(__file__).parent.parent / "playbooks" / "documents"
MADE_UP_HOSTS = ("https://api.example.com", "http://127.0.0.1:8080")
TABLES = """
CREATE TABLE items (doc jsonb);
CREATE TABLE results_ok (path text, items jsonb);
CREATE TABLE results_not_found (path text);
CREATE TABLE pagination_test_results (path text, items jsonb);
"""


class Example(msgspec.Struct, frozen=True):
    """What the local server answers, and what must come of it."""

    steps: dict[str, int]  # runs of each step
    requests: dict[str, int] = {}  # how often each path was asked
    answers: dict[str, tuple[Answer, ...]] = {}
    data: Any = None  # of the execution's output
    ctx: tuple[str, ...] = ()  # names in ctx at the end
    flags: tuple[str, ...] = ()
    rows: dict[str, list[tuple[Any, ...]]] = {}  # of each table that must have some at the end


def page(number: int, *, has_more: bool) -> Answer:
    """A page as documents 002 §12 and 003 §14 read it."""
    return Answer(json={"data": [{"id": number}], "paging": {"page": number, "hasMore": has_more}})


def records(number: int, total: int) -> Answer:
    """A page as document 004 §4.2 reads it."""
    return Answer(json={"rows": [number], "meta": {"page": number, "totalPages": total}})


ITEM_ROWS = [{"id": number, "name": f"item {number}"} for number in (1, 2)]
EXAMPLES = {
    "000-12.1-policy": Example({"start": 1}, {"/items": 3}),
    "000-13.1-router": Example({"start": 1, "some_step": 1, "other_step": 1}),
    "000-3.1-keychain": Example({"start": 1}, {"/models": 1}, {"/models": (Answer(json=[]),)}, data=[{"?column?": 1}]),
    "000-7-admission": Example({"start": 1}),
    "000-8.1-loop": Example({"start": 1}, data=[{"item": 1}, {"item": 2}, {"item": 3}]),
    "000-9.1-pipeline": Example(
        {"start": 1},
        {"/items": 1},
        {"/items": (Answer(json=ITEM_ROWS),)},
        rows={"items": [([{"id": 1}, {"id": 2}],)]},
    ),
    "000-appendix-a-minimal": Example(
        {"start": 1, "fetch": 1, "end": 1}, {"/ping": 1}, {"/ping": (Answer(json="pong"),)}, data="pong"
    ),
    # It names a result store of NATS, which a result of this size does not need.
    "001-2.2-executor": Example({"start": 1}, {"/ping": 1}, {"/ping": (Answer(json="pong"),)}, data="pong"),
    "001-2.A-executor": Example({"start": 1}),
    "002-12-streaming-pagination": Example(
        {"fetch_all_endpoints": 1, "validate_results": 1, "cleanup": 0},
        {"/assessments": 3, "/users": 1},
        {
            "/assessments": (page(1, has_more=True), page(2, has_more=True), page(3, has_more=False)),
            "/users": (Answer(status=404, json={}),),
        },
        rows={
            "results_ok": [("/assessments", [{"id": number}]) for number in (1, 2, 3)],
            "results_not_found": [("/users",)],
        },
    ),
    "002-7.1-canonical-tasks": Example({"start": 1}, {"/": 2}, {"/": (Answer(json=[]),)}, data=[[], []]),
    "002-7.2-unnamed-tasks": Example({"start": 1}, {"/items": 1}, data=1),
    "002-7.3-single-tool": Example({"start": 1}, {"/": 1}, {"/": (Answer(json={"is": "here"}),)}, data={"is": "here"}),
    "003-14-loop-pagination-sink": Example(
        {"fetch_all_endpoints": 1, "validate_results": 1, "cleanup": 0},
        {"/assessments": 2},
        {"/assessments": (page(1, has_more=True), page(2, has_more=False))},
        flags=("--legacy",),
        rows={"pagination_test_results": [("/assessments", [{"id": number}]) for number in (1, 2)]},
    ),
    "003-2.1-step": Example({"start": 1, "end": 1}, data={"rows": 2}, flags=("--legacy",)),
    "003-6.1-eval": Example({"start": 1}, {"/items": 2}, flags=("--legacy",)),
    "004-3.3-tool-forms": Example(
        {"single": 1, "composite": 1},
        {"/": 1, "/pages": 1},
        {"/": (Answer(json={}),), "/pages": (Answer(json=[]),)},
        data=[],
    ),
    "004-4.2-composite": Example(
        {"fetch_patients": 1},
        {"/api/v1/patient-records": 5},
        {
            "/api/v1/patient-records": (Answer(status=429), records(1, 2), records(2, 2), records(1, 1)),
        },
    ),
    "004-6-set": Example(
        {"start": 1, "validate": 1},
        {"/": 2},
        {"/": (Answer(json={"token": 1}),)},
        ctx=("token_ref", "last_ref", "last_status", "validation_ref"),
    ),
    "004-7-references": Example(
        {"fetch_records": 1, "resolve_records": 1},
        {"/records": 1},
        {"/records": (Answer(json=[{"id": 1}]),)},
        data=[{"id": 1}],
        ctx=("patient_records_ref", "patient_records"),
    ),
}


def text_of(name: str, api: ApiServer) -> str:
    text = (DOCUMENTS / f"{name}.yaml").read_text(encoding="utf-8")
    for host in MADE_UP_HOSTS:
        text = text.replace(host, api.url)
    return text


def rows_of(database: psycopg.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every table that has some, in the order in which they were written."""
    names = [name for (name,) in database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    found = {name: database.execute(f"SELECT * FROM {name} ORDER BY ctid").fetchall() for name in names}  # noqa: S608
    return {name: rows for name, rows in found.items() if rows}


@pytest.mark.spec("AC-10", "DI-01", "DI-02", "PB-10")
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_the_documents_runs(
    noetl: Noetl, api: ApiServer, database: psycopg.Connection, name: str
) -> None:
    example = EXAMPLES[name]
    database.execute(TABLES)
    for path, answers in example.answers.items():
        api.script(path, *answers)
    noetl.environ |= {
        "NOETL_SECRET_PG_K8S": json.dumps({"dsn": database.info.dsn}),
        "NOETL_SECRET_OPENAI_TOKEN": '{"value": "token-of-the-test"}',
    }

    found = noetl.succeed(text_of(name, api), *example.flags)

    assert {row["step"]: row["runs"] for row in found["steps"]} == example.steps
    assert {path: len(api.requests(path)) for path in example.requests} == example.requests
    assert len(api.requests()) == sum(example.requests.values())
    assert example.data is None or found["output"]["data"] == example.data
    assert set(found["ctx"]) == set(example.ctx)
    assert rows_of(database) == example.rows


@pytest.mark.spec("AC-10")
def test_every_example_is_in_the_table() -> None:
    assert set(EXAMPLES) == {path.stem for path in DOCUMENTS.glob("*.yaml")}
