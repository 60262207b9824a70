"""A known vulnerability fails the audit, whoever tells of it; that nobody answered is said, and fails on demand."""

import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from noetl.testing.services import free_port
from scripts import audit, locked

ADVISORY = {
    "id": "GHSA-test-0001",
    "aliases": ["CVE-2099-0001"],
    "summary": "templates\nescape",
    "affected": [{"package": {"name": "jinja2"}, "ranges": [{"events": [{"introduced": "0"}, {"fixed": "99.0"}]}]}],
}
EVERY_PYTHON, EVERY_OF_PAGES = locked.python_lock().every(), locked.pages_lock().every()
PYTHON = {package.name: package for package in EVERY_PYTHON}
PAGES = {package.name: package for package in EVERY_OF_PAGES}


@contextmanager
def service(answer):
    """A service on loopback; `answer(method, path, body)` gives the JSON, or a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.reply(None)

        def do_POST(self):
            self.reply(self.rfile.read(int(self.headers["Content-Length"])))

        def reply(self, body):
            given = answer(self.command, self.path, body)
            self.send_response(given if isinstance(given, int) else 200)
            self.end_headers()
            if not isinstance(given, int):
                self.wfile.write(json.dumps(given).encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def osv(vulnerable, advisory=ADVISORY):
    """OSV, which knows of one advisory about one package."""

    def answer(method, path, body):
        if path == "/v1/querybatch":
            names = [query["package"]["name"] for query in json.loads(body)["queries"]]
            return {"results": [{"vulns": [{"id": advisory["id"]}]} if name == vulnerable else {} for name in names]}
        return advisory if path == f"/v1/vulns/{advisory['id']}" else 404

    return answer


def index_of(vulnerable=None, silent=()):
    """A Python index, which tells only of the version that we lock."""

    def answer(method, path, body):
        _, _, name, *rest = path.split("/")
        if name not in PYTHON or name in silent or len(rest) == 2:
            return 404
        rows = [{"id": "PYSEC-1", "aliases": [], "summary": "bad", "fixed_in": ["9"]}] if name == vulnerable else []
        return {"info": {"version": PYTHON[name].version}, "vulnerabilities": rows}

    return answer


def run(*words, **environ):
    command = [sys.executable, str(locked.ROOT / "scripts" / "audit.py"), *words]
    bare = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    return subprocess.run(command, env={**bare, **environ}, capture_output=True, text=True, timeout=120, check=False)


def nowhere():
    return f"http://127.0.0.1:{free_port()}"


def test_a_vulnerability_of_what_noetl_runs_with_fails_and_says_the_cure():
    with service(osv("jinja2")) as url:
        done = run("--service", url)

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"error: jinja2 {PYTHON['jinja2'].version}: GHSA-test-0001 (CVE-2099-0001): templates escape; repaired in 99.0"
    ]
    assert "1 vulnerabilities to repair" in done.stdout


def test_a_vulnerability_of_what_is_built_into_the_pages_fails():
    with service(osv("react")) as url:
        done = run("--service", url)

    assert (done.returncode, done.stderr.startswith(f"error: react {PAGES['react'].version}: GHSA")) == (1, True)


@pytest.mark.parametrize("name", ["pytest", "vite"])
def test_a_vulnerability_of_a_tool_of_development_is_told(name):
    with service(osv(name)) as url:
        done = run("--service", url, "--required")

    assert (done.returncode, done.stderr) == (0, "")
    assert f"development only: {name} " in done.stdout


def test_without_vulnerabilities_every_package_was_asked_about():
    with service(osv("nothing")) as url:
        done = run("--service", url, "--required")

    every = len(EVERY_PYTHON) + len(EVERY_OF_PAGES)
    assert (done.returncode, done.stdout) == (
        0,
        f"audited {every} of {every} locked packages: 0 vulnerabilities to repair\n",
    )


def test_an_advisory_that_was_withdrawn_is_none():
    with service(osv("jinja2", {**ADVISORY, "withdrawn": "2099-01-01T00:00:00Z"})) as url:
        assert run("--service", url).returncode == 0


def test_pages_of_advisories_are_followed():
    def answer(method, path, body):
        if path != "/v1/querybatch":
            return {**ADVISORY, "id": path.rpartition("/")[2]}
        queries = json.loads(body)["queries"]
        if "page_token" in queries[0]:
            return {"results": [{"vulns": [{"id": "SECOND"}]}]}
        return {"results": [{"vulns": [{"id": "FIRST"}], "next_page_token": "more"}]}

    with service(answer) as url:
        found = audit.ask_osv([PYTHON["jinja2"]], url).found

    assert [one.ids[0] for one in found] == ["FIRST", "SECOND"]


@pytest.mark.parametrize("reply", [500, 404, [], {"results": []}, {}], ids=str)
def test_a_service_that_answers_something_else_has_not_answered(reply):
    with service(lambda *_: reply) as url, pytest.raises(audit.Unreachable):
        audit.ask_osv([PYTHON["jinja2"]], url)


@pytest.mark.slow
def test_where_osv_is_away_the_index_and_npm_are_asked():
    def registry(method, path, body):
        advisory = {
            "id": 1,
            "url": "https://x/GHSA-npm",
            "title": "bad pages",
            "severity": "high",
            "vulnerable_versions": "*",
        }
        return {"react": [advisory]} if method == "POST" else 404

    with service(index_of("jinja2")) as index, service(registry) as registry_url:
        done = run("--service", nowhere(), "--index", index, "--required", npm_config_registry=registry_url)

    assert "OSV could not be asked" in done.stdout
    assert f"error: jinja2 {PYTHON['jinja2'].version}: PYSEC-1: bad; repaired in 9" in done.stderr
    assert done.returncode == 1
    if shutil.which("npm"):
        assert "bad pages" in done.stderr
    else:
        assert "npm could not be asked: npm is not there" in done.stdout


@pytest.mark.slow
def test_what_nobody_answered_is_said_and_fails_only_where_it_must_not_be():
    with service(index_of(silent={"rich", "click"})) as index:
        words = ("--service", nowhere(), "--index", index)
        lenient = run(*words, npm_config_registry=nowhere(), npm_config_fetch_retries="0")
        strict = run(*words, "--required", npm_config_registry=nowhere(), npm_config_fetch_retries="0")

    assert (lenient.returncode, strict.returncode) == (0, 1)
    unanswered = 2 + len(EVERY_PYTHON) - len(PYTHON)  # the silent ones, and second versions of others
    assert (
        f"NOT AUDITED, {unanswered} PyPI packages: the index at {index} tells nothing of these versions"
        in lenient.stdout
    )
    assert f"NOT AUDITED, {len(EVERY_OF_PAGES)} npm packages: npm could not be asked" in lenient.stdout


def test_an_accepted_advisory_passes_until_its_day(tmp_path, capsys):
    rows = tmp_path / "advisories.toml"
    rows.write_text('[accepted.CVE-2099-0001]\nuntil = 2030-01-31\nwhy = "we never call it"\n')
    found = [audit.of_osv(PYTHON["jinja2"], ADVISORY)]
    runtime = {PYTHON["jinja2"]}

    on_the_day = audit.judge(found, runtime, audit.accepted(date(2030, 1, 31), rows))
    after_it = audit.judge(found, runtime, audit.accepted(date(2030, 2, 1), rows))

    assert (on_the_day, after_it) == (0, 1)
    assert capsys.readouterr().out.startswith("accepted: jinja2 ")


def test_the_accepted_advisories_can_be_read():
    assert isinstance(audit.accepted(date(2020, 1, 1)), set)
