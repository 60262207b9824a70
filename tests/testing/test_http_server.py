"""The test API: scripted answers in order, paging, and a log that others rely on."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, RemoteDisconnected
from urllib.parse import urlsplit

import pytest

from noetl.testing.http_server import Answer, running_api


def ask(url: str, *targets: str, method: str = "GET", body: str | None = None) -> list[tuple[int, object]]:
    """Ask for each target in turn, on one connection."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=10)
    answers = []
    for target in targets:
        connection.request(method, target, body=body)
        with connection.getresponse() as response:
            answers.append((response.status, json.loads(response.read())))
    connection.close()
    return answers


def test_a_scripted_path_gives_its_answers_in_order_and_the_last_one_from_then_on():
    with running_api() as api:
        api.script("/orders", Answer(status=503), Answer(json=[1]))

        answers = ask(api.url, "/orders", "/orders", "/orders")

        assert answers == [(503, None), (200, [1]), (200, [1])]
        assert [seen.status for seen in api.requests("/orders")] == [503, 200, 200]


def test_one_page_can_be_scripted_while_the_others_answer_as_ever():
    with running_api(item_count=3) as api:
        api.script("/items?page=2&per_page=2", Answer(status=500))

        answers = ask(api.url, "/items?page=1&per_page=2", "/items?page=2&per_page=2")

        assert [status for status, _ in answers] == [200, 500]
        assert answers[0][1]["has_more"] is True
        assert [item["id"] for item in answers[0][1]["items"]] == [1, 2]


def test_requests_on_one_connection_have_one_number():
    with running_api() as api:
        ask(api.url, "/echo", "/echo")
        ask(api.url, "/echo")

        assert [seen.connection for seen in api.requests()] == [1, 1, 2]
        assert api.connection_count == 2


def test_the_log_knows_how_many_requests_there_were_at_once():
    with running_api() as api, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: ask(api.url, "/delay/0.2"), range(4)))

        assert api.concurrency_max() >= 2
        assert api.concurrency_max("/delay/0.2") == api.concurrency_max()


def test_an_answer_can_be_to_hang_up():
    with running_api() as api:
        api.script("/orders", Answer(hangs_up=True))

        with pytest.raises(RemoteDisconnected):
            ask(api.url, "/orders")

        assert api.requests("/orders")[0].status == 0


def test_as_a_process_it_prints_its_address_and_is_scripted_over_http():
    command = [sys.executable, "-m", "noetl.testing.http_server", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        url = server.stdout.readline().strip()
        order = json.dumps({"path": "/orders", "answers": [{"status": 418, "json": "tea"}]})
        ask(url, "/_script", method="POST", body=order)

        answers = ask(url, "/orders", "/_log")

        server.terminate()
        assert answers[0] == (418, "tea")
        assert [seen["path"] for seen in answers[1][1]["requests"]] == ["/orders"]
