"""I14: twenty secrets through every kind, failing in every way; not one byte of them is written or printed."""

import json
import os
import secrets
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.integration.canaries import KINDS, SHAPES, canaries, credentials, files_below, forms, playbook, sightings
from tests.stores.unpacked import unpacked


class Mirror(BaseHTTPRequestHandler):
    """Shows whoever asks all that they sent: in the body, in headers, in a redirect."""

    def do_GET(self):
        length = int(self.headers.get("Content-Length") or 0)
        seen = {"path": self.path, "headers": dict(self.headers), "body": self.rfile.read(length).decode("latin-1")}
        body = json.dumps(seen).encode()
        self.send_response({"/deny": 401, "/moved": 302}.get(self.path.partition("?")[0], 200))
        if self.path.startswith("/moved"):
            self.send_header("Location", "/deny?" + self.path.partition("?")[2])
        for name in ("Authorization", "X-Secret"):
            if self.headers.get(name):
                self.send_header(f"X-Echo-{name}", self.headers[name])
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def mirror_url():
    with ThreadingHTTPServer(("127.0.0.1", 0), Mirror) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def planted():
    return canaries(secrets.token_hex(4))


@pytest.fixture
def entries(planted, postgres_url, nats_url):
    found = {"database": ("postgres_credential", {"dsn": postgres_url}), "bus": ("secret_manager", {"url": nats_url})}
    for place, secret in enumerate(planted):
        found |= credentials(place, secret)
    return found


def environment(home, entries, names):
    variables = {
        f"NOETL_SECRET_{name.upper()}": json.dumps(entry) for name, (_, entry) in entries.items() if name in names
    }
    return {**os.environ, **variables, "NOETL_HOME": str(home), "NOETL_SLOTS": "8"}


def noetl(*words, folder, environ, given=None):
    return subprocess.run(
        [sys.executable, "-m", "noetl", *words], cwd=folder, env=environ, input=given, capture_output=True, timeout=300
    )


def store_half(entries, folder, home):
    """Every second credential goes into the encrypted keychain, the others come from the environment."""
    stored = [name for place, name in enumerate(sorted(entries)) if place % 2]
    clean = environment(home, entries, ())
    for name in stored:
        kind, entry = entries[name]
        words = ("keychain", "set", name, "--kind", kind, "--from-json", "-")
        done = noetl(*words, folder=folder, environ=clean, given=json.dumps(entry).encode())
        assert done.returncode == 0, done.stderr.decode()
        yield done.stdout + done.stderr
    yield b"".join(noetl("keychain", word, folder=folder, environ=clean).stdout for word in ("list", "rotate"))


@pytest.mark.slow
@pytest.mark.spec("KC-05", "KC-02", "KC-03")
@pytest.mark.parametrize("kind", KINDS)
def test_no_byte_of_a_secret_is_written_or_printed(
    kind, planted, entries, mirror_url, postgres_url, nats_url, tmp_path
):
    home, folder = tmp_path / "home", tmp_path / "work"
    folder.mkdir()
    (folder / "fail.sh").write_text('#!/bin/sh\necho "$1 $S"; echo "$S" >&2; exit 3\n')
    used = {name: entry for name, entry in entries.items() if is_used(kind, name)}
    made = playbook(kind, used, {"http": mirror_url, "postgres": postgres_url, "nats": nats_url})
    (folder / "playbook.yaml").write_text(json.dumps(made))
    said = list(store_half(used, folder, home)) if kind == "python" else []
    stored = {name for place, name in enumerate(sorted(used)) if place % 2} if said else set()
    environ = environment(home, used, set(used) - stored)

    done = noetl("run", "playbook.yaml", "--format", "json", folder=folder, environ=environ)
    looks = [
        noetl(*words, folder=folder, environ=environ)
        for words in (("events", "last", "--format", "json"), ("show", "last"), ("list",))
    ]

    found = json.loads(done.stdout)
    assert found["status"] == "success", found["error"]
    told = [done.stdout, done.stderr, *said, *(part for look in looks for part in (look.stdout, look.stderr))]
    assert [sightings(data, planted) for data in told] == [[]] * len(told)
    written = {str(path.relative_to(home)): sightings(unpacked(path), planted) for path in files_below(home)}
    assert {name: seen for name, seen in written.items() if seen} == {}
    outcomes = [json.loads(line) for line in looks[0].stdout.splitlines()]
    if kind in ("python", "shell", "script", "http", "postgres", "duckdb", "workbook"):
        assert looks[0].stdout.count(b"***") > len(planted), "these kinds show what they are given"
    assert sum(event["name"] == "task.done" for event in outcomes) == len(made["workflow"][0]["tool"])


def is_used(kind, name):
    sorts = {
        "http": ("value", "bearer", "key", "basic"),
        "postgres": ("value", "pg", "dsn", "database"),
        "nats": ("value", "nats", "bus"),
        "secrets": ("value", "pg"),
        "transfer": ("bearer", "pg"),
    }
    return name.partition("_")[0] in sorts.get(kind, ("value",))


def test_the_search_finds_a_secret_that_is_there(planted):
    for place, secret in enumerate(planted):
        assert all(sightings(b"x" + form + b"y", planted) for form in forms(secret)), SHAPES[place]
