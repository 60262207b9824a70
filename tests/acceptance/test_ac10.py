"""AC-10: every example playbook printed in the five documents runs, against servers on loopback.

The texts are those of tests/playbooks/documents, which tests/dsl/test_documents.py checks. A host that a document
made up becomes the local server's address; nothing else is changed. A task of a kind that this version cannot run yet
is swapped, alone, for a request that posts the same statement to the local server: `needs` says which kind. When that
kind can run, the counts below have to be raised and the swap has to go.
"""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl.testing.http_server import Answer, ApiServer
from noetl.tools.registry import can_run
from tests.acceptance.noetl import Noetl

DOCUMENTS = Path(__file__).parent.parent / "playbooks" / "documents"
MADE_UP_HOSTS = ("https://api.example.com", "http://127.0.0.1:8080")
SECRETS = {
    "NOETL_SECRET_PG_K8S": '{"dsn": "postgresql://127.0.0.1/none"}',
    "NOETL_SECRET_OPENAI_TOKEN": '{"value": "token-of-the-test"}',
}
AS_PRINTED, SWAPPED = 16, 4  # of the 20 examples


class Example(msgspec.Struct, frozen=True):
    """What the local server answers, and what must come of it."""

    steps: dict[str, int]  # runs of each step
    requests: dict[str, int] = {}  # how often each path was asked
    answers: dict[str, tuple[Answer, ...]] = {}
    data: Any = None  # of the execution's output
    ctx: tuple[str, ...] = ()  # names in ctx at the end
    flags: tuple[str, ...] = ()
    needs: str = ""  # the kind that cannot run yet, and was swapped


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
    "000-3.1-keychain": Example(
        {"start": 1}, {"/models": 1, "/store": 1}, {"/models": (Answer(json=[]),)}, needs="postgres"
    ),
    "000-7-admission": Example({"start": 1}),
    "000-8.1-loop": Example({"start": 1}, data=[{"item": 1}, {"item": 2}, {"item": 3}]),
    "000-9.1-pipeline": Example(
        {"start": 1}, {"/items": 1, "/store": 1}, {"/items": (Answer(json=ITEM_ROWS),)}, needs="postgres"
    ),
    "000-appendix-a-minimal": Example(
        {"start": 1, "fetch": 1, "end": 1}, {"/ping": 1}, {"/ping": (Answer(json="pong"),)}, data="pong"
    ),
    # It names a result store of NATS, which a result of this size does not need.
    "001-2.2-executor": Example({"start": 1}, {"/ping": 1}, {"/ping": (Answer(json="pong"),)}, data="pong"),
    "001-2.A-executor": Example({"start": 1}),
    "002-12-streaming-pagination": Example(
        {"fetch_all_endpoints": 1, "validate_results": 1, "cleanup": 0},
        {"/assessments": 3, "/users": 1, "/store": 4},
        {
            "/assessments": (page(1, has_more=True), page(2, has_more=True), page(3, has_more=False)),
            "/users": (Answer(status=404, json={}),),
        },
        needs="postgres",
    ),
    "002-7.1-canonical-tasks": Example({"start": 1}, {"/": 2}, {"/": (Answer(json=[]),)}, data=[[], []]),
    "002-7.2-unnamed-tasks": Example({"start": 1}, {"/items": 1}, data=1),
    "002-7.3-single-tool": Example({"start": 1}, {"/": 1}, {"/": (Answer(json={"is": "here"}),)}, data={"is": "here"}),
    "003-14-loop-pagination-sink": Example(
        {"fetch_all_endpoints": 1, "validate_results": 1, "cleanup": 0},
        {"/assessments": 2, "/store": 2},
        {"/assessments": (page(1, has_more=True), page(2, has_more=False))},
        flags=("--legacy",),
        needs="postgres",
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
    return swapped(text, api) if EXAMPLES[name].needs else text


def swapped(text: str, api: ApiServer) -> str:
    """Each `kind: postgres` as a request that posts its statement."""
    request = r"\1kind: http\n\1method: POST\n\1url: " + api.url + r"/store"
    text = re.sub(r"^( +)kind: postgres$", request, text, flags=re.MULTILINE)
    return re.sub(r"^ +auth: pg_k8s\n", "", text, flags=re.MULTILINE).replace(" command:", " body:")


@pytest.mark.spec("AC-10", "DI-01", "DI-02", "PB-10")
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_the_documents_runs(noetl: Noetl, api: ApiServer, name: str) -> None:
    example = EXAMPLES[name]
    api.script("/store", Answer(status=201, json={}))
    for path, answers in example.answers.items():
        api.script(path, *answers)
    noetl.environ |= SECRETS

    found = noetl.succeed(text_of(name, api), *example.flags)

    assert {row["step"]: row["runs"] for row in found["steps"]} == example.steps
    assert {path: len(api.requests(path)) for path in example.requests} == example.requests
    assert len(api.requests()) == sum(example.requests.values())
    assert example.data is None or found["output"]["data"] == example.data
    assert set(found["ctx"]) == set(example.ctx)


@pytest.mark.spec("AC-10")
def test_every_example_is_in_the_table_and_it_is_known_how_many_run_as_printed() -> None:
    needed = [example.needs for example in EXAMPLES.values() if example.needs]

    assert set(EXAMPLES) == {path.stem for path in DOCUMENTS.glob("*.yaml")}
    assert (len(EXAMPLES) - len(needed), len(needed)) == (AS_PRINTED, SWAPPED)
    assert [kind for kind in needed if can_run(kind)] == []


@pytest.mark.spec("AC-10", "TL-01")
def test_an_example_whose_kind_cannot_run_yet_is_refused_before_anything_is_done(noetl: Noetl, api: ApiServer) -> None:
    text = (DOCUMENTS / "000-9.1-pipeline.yaml").read_text(encoding="utf-8").replace(MADE_UP_HOSTS[0], api.url)
    noetl.environ |= SECRETS

    ended = noetl.run(text)

    assert (ended.code, ended.out) == (2, "")
    assert "kind: postgres" in ended.err
    assert api.requests() == []
    assert noetl("list", "--format", "json").document == []
