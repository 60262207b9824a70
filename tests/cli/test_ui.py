"""noetl ui, as whole processes: a server is found or started, and a browser is sent to it without telling anybody."""

import asyncio
import http.client
import json
import os
import re
import signal
import stat
import subprocess
import sys
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest

from noetl.testing.services import free_port
from noetl.testing.waiting import until
from tests.cli.remote_server import Server
from tests.cli.running import noetl

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")]

END_SECONDS_MAX = 60.0
# A browser of a few lines: it goes where it is sent, follows once by hand, and writes down what it saw.
BROWSER = """#!{python}
import json, sys, urllib.request, urllib.error, pathlib
class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *given): return None
opener = urllib.request.build_opener(urllib.request.ProxyHandler({{}}), Stay)
seen = []
for path in ("-wrong", "", ""):
    try: opener.open(sys.argv[1] + path, timeout=10)
    except urllib.error.HTTPError as answer: seen.append([answer.code, answer.headers.get("Location", "")])
    except OSError as fault: seen.append([0, type(fault).__name__])
written = pathlib.Path({file!r} + ".new")
written.write_text(json.dumps({{"asked": sys.argv[1], "seen": seen}}))
written.rename({file!r})
"""


@pytest.fixture
def home(tmp_path):
    return tmp_path


@pytest.fixture
def browser(home):
    """The command of a browser, and the file with what it saw."""
    program, file = home / "browser", home / "seen.json"
    program.write_text(BROWSER.format(python=sys.executable, file=str(file)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return f"{program} %s", file


@contextmanager
def running(home, *words, **environment):
    """`noetl ui` until the block ends."""
    command = [sys.executable, "-m", "noetl", "ui", *words]
    given = {**os.environ, "NOETL_HOME": str(home / ".noetl"), **environment}
    process = subprocess.Popen(command, cwd=home, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=END_SECONDS_MAX)


def pages_at(line):
    return re.fullmatch(r"the pages are at (http://127\.0\.0\.1:\d+/ui/)(#token=\S+)?\n", line)


def get(url, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    with closing(line):
        line.request("GET", urlsplit(url).path, headers=headers)
        answer = line.getresponse()
        return answer.status, answer.read()


def test_it_starts_a_server_and_sends_a_browser_there_signed_in(home, browser):
    program, file = browser

    with running(home, BROWSER=program) as process:
        url = pages_at(process.stdout.readline())[1]
        asyncio.run(until(file.exists))
        token = (home / ".noetl" / "server.token").read_text().strip()
        seen = json.loads(file.read_text())
        page, answer = get(url), get(url.replace("/ui/", "/api/v1/identity"), token)
        status = noetl("server", "status", "--format", "json", home=home)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=END_SECONDS_MAX)

    assert token not in seen["asked"]
    assert seen["seen"][:2] == [[404, ""], [303, f"{url}#token={token}"]]
    assert seen["seen"][2][0] == 0, "the door opens once"
    assert (page[0], b"<title>NoETL</title>" in page[1]) == (200, True)
    assert json.loads(answer[1])["role"] == "admin"
    assert url.startswith(json.loads(status.stdout)[0]["url"])
    assert token not in said
    assert process.returncode == 0


def test_without_a_browser_it_says_where_the_pages_are_and_where_the_token_is(home):
    port = free_port()

    with running(home, "--no-browser", "--port", str(port)) as process:
        found = pages_at(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=END_SECONDS_MAX)

    token = (home / ".noetl" / "server.token").read_text().strip()
    assert (found[1], found[2]) == (f"http://127.0.0.1:{port}/ui/", None)
    assert str(home / ".noetl" / "server.token") in said
    assert token not in rest + said


def test_the_token_is_printed_when_that_is_asked_for(home):
    with running(home, "--no-browser", "--show-token", "--format", "json") as process:
        shown = json.loads(process.stdout.readline())

    token = (home / ".noetl" / "server.token").read_text().strip()
    assert shown["url"].endswith(f"/ui/#token={token}")
    assert (shown["is_started"], shown["token_from"]) == (True, str(home / ".noetl" / "server.token"))


def test_a_server_of_this_home_that_runs_is_used_and_stays(home, browser):
    program, file = browser
    server = Server(home / ".noetl")
    server.start()
    try:
        done = noetl("ui", home=home, BROWSER=program)
        asyncio.run(until(file.exists))
        still = get(f"{server.url}/healthz")
    finally:
        server.stop()

    assert done.returncode == 0, done.stderr
    assert pages_at(done.stdout)[1] == f"{server.url}/ui/"
    assert json.loads(file.read_text())["seen"][1][1].startswith(f"{server.url}/ui/#token=")
    assert still[0] == 200


def test_another_store_gets_a_server_of_its_own(home):
    server = Server(home / ".noetl")
    server.start()
    try:
        with running(home, "--no-browser", "--store", f"sqlite:///{home}/other.db") as process:
            url = pages_at(process.stdout.readline())[1]
    finally:
        server.stop()

    assert url != f"{server.url}/ui/"


def test_the_pages_of_a_named_server_need_a_token_for_it(home):
    done = noetl("ui", "--no-browser", "--server", "https://noetl.example.com", home=home)
    named = noetl(
        "ui", "--no-browser", "--show-token", "--server", "https://noetl.example.com/", home=home, NOETL_TOKEN="t0"
    )

    assert (done.returncode, done.stdout) == (0, "the pages are at https://noetl.example.com/ui/\n")
    assert "wants a token, and there is none" in done.stderr
    assert named.stdout == "the pages are at https://noetl.example.com/ui/#token=t0\n"


def test_where_there_is_no_browser_it_says_how_to_get_in(home):
    server = Server(home / ".noetl")
    server.start()
    try:
        done = noetl("ui", home=home, BROWSER="/nowhere/browser %s", PATH="/nowhere", DISPLAY="", WAYLAND_DISPLAY="")
    finally:
        server.stop()

    assert done.returncode == 1
    assert f"no browser could be started here: open {server.url}/ui/" in done.stderr
    assert (home / ".noetl" / "server.token").read_text().strip() not in done.stdout + done.stderr
