"""I14 in a cluster: twenty secrets, kept by a server, used and shown by a worker's tools in every way that fails; not
one of them, and no token, is in the database, on NATS, in its files, in a log, in an answer or among arguments."""

import base64
import json
import re
import secrets
import subprocess
import sys
import threading
from http.server import ThreadingHTTPServer
from typing import Any

import pytest

from noetl.keychain.key_variable import VARIABLE
from tests.cluster.cluster import Cluster
from tests.integration.canaries import SHAPES, canaries, credentials, playbook, sightings
from tests.integration.cluster_canaries import answers, listened_to, processes, run_all, tables, written
from tests.integration.test_canaries import Mirror, is_used

KINDS = ("python", "http", "shell", "postgres")
LARGE = 100_000  # characters: more than an event holds, so that it goes to the result store
SESSION = re.compile(rb"noetl_session_[A-Za-z0-9_-]{43}")


def spilling() -> dict[str, Any]:
    """Secrets in large results, in loops, in what a child gets; and the variables that tools are given."""
    large = f"result = ['x' * {LARGE}, auth['value'], repr(dict(auth))]"
    variables = "import os\nresult = {name: value for name, value in os.environ.items()}"
    tasks = [{"name": f"large_{n}", "kind": "python", "code": large, "auth": f"value_{n}"} for n in range(len(SHAPES))]
    tasks += [{"name": "python_sees", "kind": "python", "code": variables}]
    tasks += [{"name": "shell_sees", "kind": "shell", "command": "env; tr '\\0' '\\n' < /proc/$$/cmdline"}]
    looped = {
        "step": "looped",
        "loop": {"in": "{{ range(20) }}", "iterator": "n", "spec": {"mode": "parallel"}},
        "tool": [{"name": "one", "kind": "python", "code": "result = auth['value']", "auth": "value_3"}],
    }
    return {
        "apiVersion": "noetl.io/v2",
        "kind": "Playbook",
        "metadata": {"name": "canaries_spilling"},
        "keychain": [{"name": f"value_{n}", "kind": "secret_manager"} for n in range(len(SHAPES))],
        "workflow": [
            {
                "step": "spill",
                "tool": tasks,
                "set": {"ctx.seen": "{{ output.data }}"},
                "next": {"arcs": [{"step": "looped"}]},
            },
            looped,
        ],
    }


def keep_all(cluster: Cluster, entries: dict[str, tuple[str, dict[str, Any]]]) -> bytes:
    """Keep credentials on the server: one of each sort by the command line, the others by the API. What was said."""
    said, sorts = b"", set()
    environ = {**cluster.environ, "NOETL_SERVER_URL": cluster.urls[0]}
    for name, (kind, entry) in entries.items():
        if name.partition("_")[0] in sorts:
            answer = cluster.ask_any("PUT", f"/api/v1/keychain/{name}", {"kind": kind, "fields": entry})
            assert answer.status == 200, answer
            said += json.dumps(answer.body).encode()
            continue
        sorts.add(name.partition("_")[0])
        words = ("keychain", "set", name, "--kind", kind, "--from-json", "-")
        command = [sys.executable, "-m", "noetl", *words]
        done = subprocess.run(command, input=json.dumps(entry).encode(), env=environ, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
        said += done.stdout + done.stderr
    return said


@pytest.mark.slow
@pytest.mark.spec("KC-05", "KC-02", "KC-03", "RO-03")
def test_no_secret_and_no_token_is_seen_anywhere_in_a_cluster(database_url, postgres_url, tmp_path):
    planted = canaries(secrets.token_hex(4))
    keys, password, database_password = (base64.b64encode(secrets.token_bytes(32)).decode() for _ in range(3))
    password, database_password = password.replace("/", "_"), database_password.replace("/", "_")
    store_url = database_url.replace("postgres@", f"postgres:{database_password}@")
    entries = {"database": ("postgres_credential", {"dsn": postgres_url})}
    for place, secret in enumerate(planted):
        entries |= credentials(place, secret)
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Mirror) as mirror,
        listened_to(tmp_path, store_url, nats_password=password, keys=keys) as (cluster, ear),
    ):
        threading.Thread(target=mirror.serve_forever, daemon=True).start()
        services = {"http": f"http://127.0.0.1:{mirror.server_address[1]}"}
        said = keep_all(cluster, entries)
        made = [
            playbook(kind, {name: one for name, one in entries.items() if is_used(kind, name)}, services)
            for kind in KINDS
        ]

        statuses = run_all(cluster, [*made, spilling()])

        tokens = [(cluster.home / name).read_text().strip() for name in ("server.token", "worker.token")]
        hidden = [*planted, *tokens, keys, password, database_password]
        told = dict(answers(cluster, list(statuses)))
        ran = dict(processes(cluster))
        cluster.stop()
        mirror.shutdown()
        files = dict(written(cluster, "server.token", "worker.token"))
    kept = dict(tables(database_url))
    heard = b"\n".join(ear.heard)

    assert set(statuses.values()) == {"success"}, told
    seen = {
        where: sightings(data, hidden)
        for where, data in {"NATS": heard, "the command line": said, **told, **ran, **files, **kept}.items()
    }
    assert {where: which for where, which in seen.items() if which} == {}
    unsealed = {**told, **ran, **files, **kept}
    assert [where for where, data in unsealed.items() if SESSION.search(data)] == []
    assert_they_were_used(told, files, kept, heard)


def assert_they_were_used(told, files, kept, heard):
    """The search means something: the secrets were there to be shown, and the places are those where they would be."""
    assert sum(data.count(b"***") for data in told.values()) > 10 * len(SHAPES)
    assert sum("results?" in path for path in told) >= len(SHAPES)
    assert any(path.startswith("jetstream") and b"task.done" in data for path, data in files.items())
    assert b".credential" in heard
    assert b"ciphertext" in heard
    assert b"task.done" in heard
    assert kept["table event"].count(b"***") > 10 * len(SHAPES)
    log = files["server-1.log"].decode()
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    deeds = [line.get("deed") for line in lines if line.get("action") == "audit"]
    assert {"credential_resolved", "credential_stored", "worker_enrolled", "token_created"} <= set(deeds)
    seen = b"".join(told.values())
    assert b"PATH=" in seen, "tools showed their variables"
    assert [name for name in (VARIABLE, "NOETL_QUEUE_URL", "NOETL_STORE_URL") if name.encode() in seen] == []
