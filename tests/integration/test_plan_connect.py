"""noetl plan --connect against real services, as whole processes: what a run would reach is ok, what it would not reach
fails, and what cannot be tried as a task would is said to be not tried."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from noetl.cli import exits
from noetl.testing.services import running_nats
from tests.cli.running import HEAD, document, noetl
from tests.integration.postgres_parts import guarded_postgres
from tests.tools.tls_parts import Authority, server_context

pytestmark = pytest.mark.slow

CANARY = "canary-2be81f60"
KEYCHAIN = """keychain:
  - {{name: warehouse, kind: {kind}}}
workflow:
  - step: start
    tool: {{kind: noop}}
"""
ASK = """keychain:
  - {{name: shop, kind: {kind}}}
workload: {{url: "{url}", who: shop}}
workflow:
  - step: ask
    tool:
      kind: http
      url: "{{{{ workload.url }}}}/orders"
{more}
"""


def found(home: Path, playbook: str, **environ: str) -> tuple[int, dict]:
    """The exit code, and the findings by area."""
    (home / "orders.yaml").write_text(HEAD + playbook)
    done = noetl("plan", "orders.yaml", "--connect", "--format", "json", home=home, **environ)
    assert CANARY not in done.stdout + done.stderr
    return done.returncode, {one["area"]: one for one in document(done)["connections"]}


def signed_in(home: Path, kind: str, fields: dict) -> tuple[int, dict]:
    code, areas = found(home, KEYCHAIN.format(kind=kind), NOETL_SECRET_WAREHOUSE=json.dumps(fields))
    return code, areas["credential"]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


# --- PostgreSQL ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("KC-04")
def test_a_database_that_answers_is_signed_in_at(tmp_path, postgres_url):
    code, said = signed_in(tmp_path, "postgres_credential", {"dsn": postgres_url})

    assert (code, said["state"]) == (exits.DONE, "ok")
    assert "signed in at " in said["says"]


@pytest.mark.spec("KC-04", "KC-05")
def test_a_database_that_refuses_the_password_fails_and_no_password_is_shown(tmp_path):
    with guarded_postgres("right") as url:
        right = signed_in(tmp_path, "postgres_credential", {"dsn": url, "password": "right"})
        code, wrong = signed_in(tmp_path, "postgres_credential", {"dsn": url, "password": CANARY})

    assert (right[0], right[1]["state"]) == (exits.DONE, "ok")
    assert (code, wrong["state"], wrong["fix"]) == (exits.FAILED, "fail", "noetl keychain test warehouse")
    assert "password authentication failed" in wrong["says"]


# --- NATS ------------------------------------------------------------------------------------------------------------


def test_nats_that_answers_is_signed_in_at(tmp_path):
    with running_nats(f"authorization {{ token: {CANARY} }}") as url:
        code, said = signed_in(tmp_path, "nats", {"url": url, "token": CANARY})

    assert (code, said["state"]) == (exits.DONE, "ok"), said
    assert said["says"].startswith("signed in at NATS 127.0.0.1")


def test_nats_that_refuses_is_said_to_refuse(tmp_path):
    with running_nats("authorization { token: another }") as url:
        code, said = signed_in(tmp_path, "nats", {"url": url, "token": CANARY})

    assert (code, said["state"]) == (exits.FAILED, "fail")
    assert "refuses the credential" in said["says"]


@pytest.mark.parametrize(
    ("url", "says"),
    [("nats://127.0.0.1:{port}", "Connection refused"), ("ftp://127.0.0.1", "a NATS server is named as")],
)
def test_nats_that_is_not_there_or_no_address_fails_with_the_reason(tmp_path, url, says):
    code, said = signed_in(tmp_path, "nats", {"url": url.format(port=free_port())})

    assert (code, said["state"]) == (exits.FAILED, "fail")
    assert says in said["says"]


# --- http ------------------------------------------------------------------------------------------------------------


class Answering(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Nobody reads it."""


class Quiet(HTTPServer):
    def handle_error(self, *_words: object) -> None:
        """A client that is refused is what is wanted here."""


@contextmanager
def web(context: ssl.SSLContext | None = None) -> Iterator[str]:
    with Quiet(("127.0.0.1", 0), Answering) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"{'http' if context is None else 'https'}://127.0.0.1:{server.server_port}"
        server.shutdown()


def asked(home: Path, url: str, more: str = "", kind: str = "secret_manager", **environ: str) -> tuple[int, str, str]:
    code, areas = found(home, ASK.format(kind=kind, url=url, more=more), **environ)
    return code, areas["http"]["state"], areas["http"]["says"]


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def shown(authority: Authority) -> str:
    """A credential with a client certificate."""
    certificate, key = authority.issue("shop")
    return json.dumps({"certificate": certificate, "private_key": key, "authority": authority.pem})


TOKEN = json.dumps({"token": CANARY})


def test_a_host_that_answers_is_ok_and_one_that_refuses_fails(tmp_path):
    with web() as url:
        good = asked(tmp_path, url, kind="bearer", NOETL_SECRET_SHOP=TOKEN)
    bad = asked(tmp_path, f"http://127.0.0.1:{free_port()}", kind="bearer", NOETL_SECRET_SHOP=TOKEN)

    assert good == (exits.DONE, "ok", "answered HEAD / with 204")
    assert bad[:2] == (exits.FAILED, "fail")
    assert "Connection refused" in bad[2]


def test_a_host_with_a_ca_of_its_own_is_tried_with_the_ca_that_the_task_names(tmp_path, authority):
    (tmp_path / "ca.pem").write_text(authority.pem)
    context = server_context(tmp_path, authority.issue("127.0.0.1"))
    with web(context) as url:
        with_ca = asked(tmp_path, url, "      spec: {verify: ca.pem}", "bearer", NOETL_SECRET_SHOP=TOKEN)
        unchecked = asked(tmp_path, url, "      spec: {verify: false}", "bearer", NOETL_SECRET_SHOP=TOKEN)
        without = asked(tmp_path, url, "", "bearer", NOETL_SECRET_SHOP=TOKEN)
        no_file = asked(tmp_path, url, "      spec: {verify: other.pem}", "bearer", NOETL_SECRET_SHOP=TOKEN)

    assert with_ca[:2] == unchecked[:2] == (exits.DONE, "ok")
    assert without[:2] == no_file[:2] == (exits.FAILED, "fail")
    assert "spec.verify" in without[2]
    assert "other.pem" in no_file[2]


def test_a_host_that_wants_a_certificate_is_shown_the_one_of_the_tasks_credential(tmp_path, authority):
    context = server_context(tmp_path, authority.issue("127.0.0.1"), clients_of=authority)
    with web(context) as url:
        named = asked(tmp_path, url, "      auth: shop", NOETL_SECRET_SHOP=shown(authority))
        by_workload = asked(tmp_path, url, '      auth: "{{ workload.who }}"', NOETL_SECRET_SHOP=shown(authority))
        stranger = asked(tmp_path, url, "      auth: shop", NOETL_SECRET_SHOP=shown(Authority("another CA")))

    assert named[:2] == by_workload[:2] == (exits.DONE, "ok"), (named, by_workload)
    assert stranger[:2] == (exits.FAILED, "fail")


def test_what_cannot_be_tried_as_the_task_would_is_not_called_failed(tmp_path, authority):
    (tmp_path / "ca.pem").write_text(authority.pem)
    context = server_context(tmp_path, authority.issue("127.0.0.1"), clients_of=authority)
    with web(context) as url:
        untold = asked(
            tmp_path,
            url,
            '      auth: "{{ ctx.who }}"\n      spec: {verify: ca.pem}',
            NOETL_SECRET_SHOP=shown(authority),
        )
        missing = asked(tmp_path, url, "      auth: shop")

    assert untold[:2] == (exits.DONE, "warn")
    assert "depends on ctx.who" in untold[2]
    assert missing[:2] == (exits.FAILED, "warn")  # the credential itself is what failed
    assert missing[2].startswith('not tried: its credential "shop" is not to be had')
