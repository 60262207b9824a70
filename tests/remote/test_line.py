"""A line to a server: what is sent where, and what is in the way of an answer."""

import socket
import threading
from contextlib import contextmanager

import pytest

from noetl.config import Settings
from noetl.errors import RequestError, TokenUnusable, Unreachable
from noetl.remote.line import ANSWER_BYTES_MAX, Line, Token, token_of
from noetl.secret import Secret

TOKEN = "noetl_" + "A" * 43


def settings_of(folder, url="http://127.0.0.1:1", **more):
    return Settings(home=folder, store_url=f"sqlite:///{folder}/noetl.db", server_url=url, **more)


@contextmanager
def answering(*answers):
    """A server that says these bytes, one connection each; gives its URL and what it was asked."""
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            for data in answers:
                client, _ = listener.accept()
                with client:
                    asked.append(client.recv(65536))
                    client.sendall(data)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
        thread.join()


def http(body, status="200 OK", media="application/json", **headers):
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {media}", f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode() + body


def line_to(url, tmp_path):
    return Line(settings_of(tmp_path, url), Token(Secret(TOKEN), "a test"))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "does not speak HTTP"),
        (b"", "the connection broke"),
        (http(b"<h1>hello</h1>", media="text/html"), "is no NoETL server"),
        (http(b"not found", "404 Not Found", "text/plain"), "is no NoETL server"),
        (http(b"", "302 Found", Location="http://127.0.0.1:1/"), "is no NoETL server"),
        (http(b"[" * 100_000), "is no NoETL server"),
    ],
)
def test_what_is_no_server_of_ours_is_told_apart(answer, says, tmp_path):
    with answering(answer, answer) as (url, asked):
        line = line_to(url, tmp_path)

        with pytest.raises(Unreachable, match=says) as refused:
            line.get("/api/v1/executions")

        if not asked[1:]:
            socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))).close()  # the answer nobody took
    assert TOKEN not in str(refused.value)


def test_an_answer_without_end_is_not_collected_for_ever(tmp_path):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n"
    with answering(head + b" " * (ANSWER_BYTES_MAX + 1)) as (url, _), pytest.raises(Unreachable, match="more than"):
        line_to(url, tmp_path).get("/api/v1/executions")


def test_the_token_is_sent_in_one_header_and_shown_nowhere(tmp_path):
    with answering(http(b"{}")) as (url, asked):
        line = line_to(url, tmp_path)
        line.get("/x", path="a b&c", version=None)

    assert asked[0].startswith(b"GET /x?path=a+b%26c HTTP/1.1\r\n")
    assert asked[0].count(f"Authorization: Bearer {TOKEN}\r\n".encode()) == 1
    assert TOKEN not in repr(line._token)


def test_a_certificate_file_that_cannot_be_used_is_named(tmp_path):
    (tmp_path / "ca.pem").write_text("none")

    with pytest.raises(Unreachable, match=r"server\.ca_file .*ca\.pem"):
        Line(settings_of(tmp_path, "https://x.example", server_ca_file=tmp_path / "ca.pem"), Token(Secret(TOKEN), ""))


# --- where the token comes from --------------------------------------------------------------------------------------


def test_a_named_file_wins_over_the_variable_and_that_over_the_home(tmp_path):
    for name in ("server.token", "named"):
        (tmp_path / name).write_text(f"noetl_{name}\n")
        (tmp_path / name).chmod(0o600)
    named, plain = settings_of(tmp_path, server_token_file=tmp_path / "named"), settings_of(tmp_path)

    found = [
        token_of(named, {"NOETL_TOKEN": "noetl_variable"}),
        token_of(plain, {"NOETL_TOKEN": "noetl_variable"}),
        token_of(plain, {}),
    ]

    assert [one.secret.reveal() for one in found] == ["noetl_named", "noetl_variable", "noetl_server.token"]


@pytest.mark.parametrize("url", ["https://noetl.example.com", "https://127.0.0.1.example.com", "https://10.0.0.1"])
def test_the_token_of_the_home_goes_to_no_other_machine(tmp_path, url):
    (tmp_path / "server.token").write_text(TOKEN)
    (tmp_path / "server.token").chmod(0o600)

    with pytest.raises(TokenUnusable, match="--token-file"):
        token_of(settings_of(tmp_path, url), {})


@pytest.mark.parametrize("text", ["two words", "a\r\nX-More: b", "é"])
def test_a_variable_that_holds_no_token_is_refused_and_not_shown(tmp_path, text):
    with pytest.raises(TokenUnusable, match="one token and nothing else") as refused:
        token_of(settings_of(tmp_path), {"NOETL_TOKEN": text})

    assert text not in str(refused.value)


def test_a_request_key_that_no_header_can_hold_is_refused(tmp_path):
    from noetl.control.requests import Nobody, RunRequest
    from noetl.remote.watching import run

    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    request = RunRequest(path="a", request_key="a\r\nb")

    with pytest.raises(RequestError, match="request key"):
        run(settings_of(tmp_path, server_token_file=tmp_path / "token"), request, Nobody())
