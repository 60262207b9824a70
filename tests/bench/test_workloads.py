"""What is measured: playbooks that check, a server that refuses some pages once, and an engine that gives figures."""

import json

import pytest

from bench import engine, workloads
from bench.http_server import PAGES, ROWS_PER_PAGE, TOO_MANY, Answers
from noetl.dsl.check import check
from noetl.tools.registry import declarations

PLAYBOOKS = {
    "chain": workloads.chain(3),
    "loop": workloads.loop(10, 2),
    "chain beside ctx": workloads.chain_beside_ctx(3, 40),
    "loop beside ctx": workloads.loop_beside_ctx(10, 2, 40),
    "requests": workloads.requests(10, 2),
    "code": workloads.code(10, 2, "inline"),
    "burning": workloads.burning(10, 2, 0.02),
    "waiting": workloads.WAITING,
    "paging": workloads.paging(10, 0.05),
}


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_the_playbooks_check_without_findings(name: str) -> None:
    found = check(PLAYBOOKS[name], "bench.yaml", declarations)

    assert [finding.message for finding in found.findings] == []


def test_a_page_is_refused_once_in_each_round() -> None:
    answers = Answers(set())
    asked = [
        b"GET /one/items/4?page=1 HTTP/1.1",
        b"GET /one/items/4?page=1 HTTP/1.1",
        b"GET /two/items/4?page=1 HTTP/1.1",
    ]

    found = [answers.answer(head) == TOO_MANY for head in asked]

    assert found == [True, False, True]


def test_an_item_has_so_many_pages_of_different_rows() -> None:
    answers = Answers(set())

    pages = [answers.answer(b"GET /one/items/1?page=%d HTTP/1.1" % number) for number in range(1, PAGES + 1)]

    bodies = [json.loads(page.partition(b"\r\n\r\n")[2]) for page in pages]
    assert [body["has_more"] for body in bodies] == [True] * (PAGES - 1) + [False]
    assert len({row["id"] for body in bodies for row in body["rows"]}) == PAGES * ROWS_PER_PAGE


@pytest.mark.slow  # processes of its own
def test_a_small_engine_yields_every_figure() -> None:
    found = list(engine.figures(1, steps=3, iterations=20, workflows=2))

    names = ["W1", "W2", "W3", "memory W1", "memory W2", "memory W3", "disk W1", "disk W2"]
    assert [figure.name for figure in found] == names
    assert [figure.name for figure in found if figure.error or len(figure.rounds) != 1] == []
    assert all(figure.median > 0 for figure in found if not figure.name.startswith("disk"))  # a page may have room
