"""Kind http: what is sent, and what becomes of the answer."""

import sys
from email.utils import formatdate
from subprocess import run as run_process
from time import time

import pytest

from noetl import __version__, traceparent
from noetl.testing.http_server import Answer, running_api
from tests.tools.http_parts import answer_to, http_tool, raw_server, response, saying


@pytest.fixture(scope="module")
def server():
    with running_api() as api:
        yield api


@pytest.fixture
def api(server):
    server.clear()
    return server


def test_the_declaration_brings_no_http_library():
    code = "import sys, noetl.tools.http; print([m for m in ('aiohttp', 'asyncio', 'ssl') if m in sys.modules])"

    done = run_process([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.spec("TK-04")
async def test_the_parsed_body_is_the_data_and_the_helper_says_the_rest(api):
    api.script("/orders", Answer(json=[{"id": 1}], headers={"X-Request-Id": "abc", "X-Two": "1"}))

    output = await answer_to(f"{api.url}/orders?page=1")

    helper = output.helpers["http"]
    assert (output.status, output.data) == ("ok", [{"id": 1}])
    assert (helper["status"], helper["request_id"], helper["url"]) == (200, "abc", f"{api.url}/orders?page=1")
    assert helper["headers"]["content-type"] == "application/json"


async def test_params_join_the_query_of_the_url(api):
    params = {"tag": ["a b", "c&d"], "n": 1.5, "on": True, "none": None, "empty": ""}

    output = await answer_to(f"{api.url}/echo?page=2", params=params)

    assert output.data["query"] == {"page": ["2"], "tag": ["a b", "c&d"], "n": ["1.5"], "on": ["true"], "empty": [""]}


@pytest.mark.parametrize("value", [{"a": [1, None]}, [], "text", 0, False, None])
async def test_json_sends_any_data(api, value):
    output = await answer_to(f"{api.url}/echo", method="POST", json=value)

    assert output.data["json"] == value
    assert output.data["body"] != ""
    assert output.data["headers"]["content-type"] == "application/json"


async def test_a_form_and_a_plain_body_are_sent_as_such(api):
    form = await answer_to(f"{api.url}/echo", method="POST", form={"a": [1, 2], "b": "x y"})
    plain = await answer_to(f"{api.url}/echo", method="PUT", body="grün", headers={"Content-Type": "text/csv"})

    assert (form.data["body"], form.data["headers"]["content-type"]) == (
        "a=1&a=2&b=x+y",
        "application/x-www-form-urlencoded",
    )
    assert (plain.data["body"], plain.data["headers"]["content-type"]) == ("grün", "text/csv")


async def test_files_are_parts_of_a_multipart_body(api):
    files = {"report": {"filename": 'a"b.csv', "content": "x;y", "content_type": "text/csv"}, "note": "hello"}

    output = await answer_to(f"{api.url}/echo", method="POST", files=files, form={"id": 7})

    body, content_type = output.data["body"], output.data["headers"]["content-type"]
    boundary = content_type.partition("boundary=")[2]
    assert content_type.startswith("multipart/form-data; boundary=")
    assert body.count(f"--{boundary}") == 4
    assert 'name="report"; filename="a%22b.csv"\r\nContent-Type: text/csv\r\n\r\nx;y\r\n' in body
    assert 'name="id"\r\n\r\n7\r\n' in body


async def test_a_name_may_be_repeated_in_a_multipart_body_and_be_written_in_any_letters(api):
    by_name = {"doc": ["one", {"content": "two", "filename": "zwölf.txt"}], "grün": ""}
    by_list = [{"name": "doc", "content": "one"}, {"name": "doc", "content": None, "filename": "leer"}]

    mapped = await answer_to(f"{api.url}/echo", method="POST", files=by_name)
    listed = await answer_to(f"{api.url}/echo", method="POST", files=by_list)

    assert mapped.data["body"].count('; name="doc"') == 2
    assert 'filename="zwölf.txt"' in mapped.data["body"]
    assert 'name="grün"; filename="grün"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n' in mapped.data["body"]
    assert listed.data["body"].count('; name="doc"') == 2
    assert 'filename="leer"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n' in listed.data["body"]


async def test_a_multipart_body_without_files_has_the_form_and_one_without_either_has_only_its_end(api):
    form = await answer_to(f"{api.url}/echo", method="POST", files={}, form={"id": [1, 2]})
    empty = await answer_to(f"{api.url}/echo", method="POST", files={})

    assert form.data["body"].count('; name="id"') == 2
    assert empty.data["body"].endswith("--\r\n")


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304), ("DELETE", 204)])
async def test_an_answer_that_has_no_body_has_no_data(api, method, status):
    api.script("/none", Answer(status=status, headers={"Content-Type": "application/json"}))

    output = await answer_to(f"{api.url}/none", method=method)

    assert (output.error, output.data, output.helpers["http"]["status"]) == (None, None, status)


async def test_a_retry_sends_the_same_bytes(api):
    for _ in range(2):
        await answer_to(f"{api.url}/echo", method="POST", files={"a": {"content": {"base64": "aGk="}}})

    first, second = api.requests("/echo")
    assert (first.body, first.headers) == (second.body, second.headers)
    assert "\r\n\r\nhi\r\n" in first.body


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"json": {}, "body": "x"}, "one body"),
        ({"json": {}, "files": {"a": "x"}}, "one body"),
        ({"body": {"a": 1}}, "give data as json"),
        ({"params": {"a": {"b": 1}}}, '"params.a" must be text'),
        ({"headers": {"X-A": "1\r\nX-B: 2"}}, "line break"),
        ({"headers": {"X A": "1"}}, "no header can have"),
        ({"headers": {"Content-Length": "3"}, "body": "GET / HTTP/1.1"}, "cannot be chosen"),
        ({"headers": {"transfer-encoding": "chunked"}}, "cannot be chosen"),
        ({"files": {"a": 1}}, '"files.a"'),
        ({"spec": {"version": 2}}, "must be 1.1"),
        ({"auth": {"token": "x"}}, "keychain entry"),
        ({"spec": {"verify": "/no/such/file.pem"}}, "spec.verify"),
    ],
)
async def test_a_request_that_cannot_be_sent_is_refused_with_a_reason(api, values, words):
    output = await answer_to(f"{api.url}/echo", **values)

    assert (output.error.kind, output.error.retryable) == ("client_error", False)
    assert words in output.error.message
    assert api.requests() == []


@pytest.mark.parametrize(
    "url",
    ["", "ftp://example.com/x", "file:///etc/passwd", "/orders", "http://", "http://a:b:c/", "http://a..b/", None],
)
async def test_a_url_that_is_not_http_is_refused(url):
    output = await answer_to(url)

    assert output.error.kind == "client_error"
    assert '"url"' in output.error.message


@pytest.mark.parametrize("method", ["BREW", "GET / HTTP/1.1\r\nX: y", ["GET"]])
async def test_a_method_that_a_template_made_up_is_refused(api, method):
    output = await answer_to(f"{api.url}/echo", method=method)

    assert output.error.kind == "client_error"
    assert '"method" must be one of: GET, POST' in output.error.message


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_request_that_changes_something_carries_the_idempotency_key(api, method):
    output = await answer_to(f"{api.url}/echo", method=method, idempotency_key="7:1:-1:a:1.0", trace_id="d429")

    assert output.data["headers"]["idempotency-key"] == "d429.7:1:-1:a:1.0"  # another store may have a 7:1:-1:a:1.0


async def test_a_get_has_no_key_and_the_authors_own_key_stays(api):
    read = await answer_to(f"{api.url}/echo", idempotency_key="7/1/2/1")
    own = await answer_to(f"{api.url}/echo", method="POST", key="7/1/2/1", headers={"IDEMPOTENCY-KEY": "mine"})

    assert "idempotency-key" not in read.data["headers"]
    assert own.data["headers"]["idempotency-key"] == "mine"
    assert read.data["headers"]["user-agent"] == f"noetl/{__version__}"


async def test_a_request_carries_its_attempts_place_in_the_trace_and_the_authors_own_header_stays(api):
    trace_id, task_run = "4bf92f3577b34da6a3ce929d0e0e4736", "7:1:-1:a:1"
    given = {"idempotency_key": f"{task_run}.0", "trace_id": trace_id}

    plain = await answer_to(f"{api.url}/echo", **given)
    own = await answer_to(f"{api.url}/echo", headers={"Traceparent": "mine"}, **given)
    none = await answer_to(f"{api.url}/echo", idempotency_key=f"{task_run}.0", trace_id="d429")

    place = traceparent.read(plain.data["headers"]["traceparent"])
    assert place == (trace_id, traceparent.attempt_span_id(trace_id, task_run, 1))
    assert own.data["headers"]["traceparent"] == "mine"
    assert "traceparent" not in none.data["headers"]


@pytest.mark.spec("TK-19")
@pytest.mark.parametrize(
    ("status", "kind", "is_retryable"),
    [
        (400, "client_error", False),
        (401, "auth", False),
        (403, "auth", False),
        (404, "not_found", False),
        (408, "timeout", True),
        (409, "client_error", False),
        (410, "not_found", False),
        (422, "client_error", False),
        (429, "rate_limit", True),
        (500, "server_error", True),
        (501, "server_error", False),
        (503, "server_error", True),
        (505, "server_error", False),
        (599, "server_error", True),
    ],
)
async def test_a_failing_status_is_an_error_with_the_body_in_data(api, status, kind, is_retryable):
    output = await answer_to(f"{api.url}/status/{status}?token=hidden")

    assert (output.error.kind, output.error.retryable) == (kind, is_retryable)
    assert output.error.message == f"HTTP {status} from 127.0.0.1"
    assert output.data == {"status": status}
    assert output.is_definite


@pytest.mark.spec("TK-08")
async def test_retry_after_says_how_long_to_wait(api):
    api.script("/seconds", Answer(status=429, headers={"Retry-After": "7"}))
    api.script("/date", Answer(status=503, headers={"Retry-After": formatdate(time() + 100, usegmt=True)}))
    api.script("/past", Answer(status=503, headers={"Retry-After": formatdate(0, usegmt=True)}))
    api.script("/odd", Answer(status=503, headers={"Retry-After": "soon"}))
    api.script("/other", Answer(status=500, headers={"Retry-After": "7"}))

    waits = [
        (await answer_to(f"{api.url}/{path}")).retry_after_seconds
        for path in ("seconds", "date", "past", "odd", "other")
    ]

    assert waits[0] == 7
    assert 90 < waits[1] < 101
    assert waits[2:] == [0, None, None]


@pytest.mark.parametrize(
    ("body", "content_type", "data"),
    [
        (b'{"a": 1}', "application/json", {"a": 1}),
        (b"\xef\xbb\xbf[1]", "application/json; charset=utf-8", [1]),
        ('["ü"]'.encode("latin-1"), "application/json; charset=latin-1", ["ü"]),
        (
            b"[18446744073709551616, -9223372036854775808]",
            "application/problem+json",
            ["18446744073709551616", -(2**63)],
        ),
        ("grün".encode("latin-1"), "text/plain; charset=iso-8859-1", "grün"),
        ("grün".encode(), "text/plain; charset=nonsense", "grün"),
        (b"<a/>", "application/xml", "<a/>"),
        (b"a,b", "text/csv", "a,b"),
        (b"\x00\xff", "application/octet-stream", {"base64": "AP8="}),
        (b"%PDF", "application/pdf", {"base64": "JVBERg=="}),
        (b"", "application/json", None),
    ],
)
async def test_a_body_becomes_data_as_its_content_type_says(body, content_type, data):
    async with raw_server(saying(response(body, Content_Type=content_type))) as server:
        output = await answer_to(server.url)

    assert (output.status, output.data) == ("ok", data)


@pytest.mark.parametrize(("body", "data"), [(b"text", "text"), (b"\xff", {"base64": "/w=="})])
async def test_a_body_without_a_content_type_is_text_if_it_can_be(body, data):
    async with raw_server(saying(response(body))) as server:
        output = await answer_to(server.url)

    assert output.data == data


@pytest.mark.parametrize(
    "body", [b"{", b"[NaN]", b"[Infinity]", b"[" * 65 + b"]" * 65, b"[" * 99999, b'"\xff"', b"1e999"]
)
async def test_a_body_that_is_not_the_json_it_says_is_an_error_with_the_text_in_data(body):
    async with raw_server(saying(response(body, Content_Type="application/json"))) as server:
        output = await answer_to(server.url)

    assert (output.error.kind, output.error.retryable) == ("type", False)
    assert "says that it is JSON" in output.error.message
    assert output.data == body.decode("utf-8", "replace")


async def test_brackets_inside_of_strings_do_not_count_as_depth():
    body = b'["' + b'[{\\"' * 100 + b'", ' + b"[" * 63 + b"]" * 63 + b"]"
    async with raw_server(saying(response(body, Content_Type="application/json"))) as server:
        output = await answer_to(server.url)

    assert output.status == "ok"


async def test_a_large_body_is_parsed_whole():
    body = b"[" + b",".join([b'{"name": "x"}'] * 50_000) + b"]"
    async with raw_server(saying(response(body, Content_Type="application/json"))) as server:
        output = await answer_to(server.url)

    assert output.data == [{"name": "x"}] * 50_000


async def test_no_content_and_head_give_null(api):
    api.script("/none", Answer(status=204))

    outputs = [await answer_to(f"{api.url}/none"), await answer_to(f"{api.url}/echo", method="HEAD")]

    assert [(output.status, output.data) for output in outputs] == [("ok", None), ("ok", None)]


async def test_two_tasks_share_a_connection(api):
    async with http_tool() as send:
        await send(f"{api.url}/echo")
        await send(f"{api.url}/items")

    assert api.connection_count == 1


async def test_cookies_of_one_task_do_not_reach_the_next(api):
    api.script("/login", Answer(headers={"Set-Cookie": "session=abc"}))
    async with http_tool() as send:
        first = await send(f"{api.url}/login")

        second = await send(f"{api.url}/echo")

    assert first.helpers["http"]["headers"]["set-cookie"] == "session=abc"
    assert "cookie" not in second.data["headers"]
