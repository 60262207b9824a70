"""What README.md and docs/cluster.md tell whoever goes from one machine to many, done as it stands there.

Only what belongs to a place is another: ports, the URLs of the services, and that NoETL is installed already.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from noetl.testing.services import free_port
from tests.cli.running import noetl

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="the pages speak to a POSIX shell")]

ROOT = Path(__file__).parent.parent.parent
SECONDS_MAX = 120


def section(page, heading):
    return (ROOT / page).read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def indented(text):
    """The commands of a section whose blocks are indented, block by block."""
    return [
        re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in re.findall(r"(?:^    .+\n)+", text, re.MULTILINE)
    ]


class Machine:
    """A project on a machine with a PostgreSQL and a NATS, and a shell that runs what a page says."""

    def __init__(self, folder, database_url, nats_url):
        self.folder = folder
        self.first, self.second = free_port(), free_port()
        self.places = {
            "postgresql://…": database_url,
            "postgresql://noetl@localhost/noetl": f"'{database_url}'",
            "nats://…": nats_url,
            "nats://localhost:4222": nats_url,
            "nats://nats.example.com:4222": nats_url,
            "8642": str(self.first),
            "8643": str(self.second),
            "examples/": f"{ROOT}/examples/",
        }
        self.environ = {
            "HOME": str(folder),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "NOETL_SERVER_PORT": str(self.first),
            "NOETL_QUEUE_PREFIX": folder.name,
        }

    def does(self, *blocks):
        """Every command of these blocks in one shell; it ends at the first that fails."""
        lines = [line for block in blocks for line in block.splitlines() if not line.startswith("pip ")]
        script = "\n".join(["set -eu", *lines])
        for written, here in self.places.items():
            script = script.replace(written, here)
        done = subprocess.run(
            ["/bin/bash", "-c", script],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
        )
        assert done.returncode == 0, script + done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def machine(tmp_path, database_url, nats_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")  # a new home gets tokens from an empty store only
        connection.execute("CREATE SCHEMA public")
    noetl("init", ".", home=tmp_path)
    found = Machine(tmp_path, database_url, nats_url)
    yield found
    for pid_file in tmp_path.rglob("run/*.pid"):
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)


def test_what_the_readme_says_of_a_cluster_can_be_pasted(machine):
    (block,) = re.findall(
        r"^```\n(.*?)^```", section("README.md", "From one machine to many"), re.MULTILINE | re.DOTALL
    )

    said = machine.does(block)

    assert '"total": 77.0' in said
    assert "0 failures" in said
    assert re.findall(r"stopped the server on port (\d+)", said) == [str(machine.second), str(machine.first)]


def test_the_ten_lines_of_the_page_and_what_follows_them_can_be_pasted(machine):
    ten, more = indented(section("docs/cluster.md", "In ten lines"))
    (tokens,) = indented(section("docs/cluster.md", "Tokens"))
    (scaling,) = indented(section("docs/cluster.md", "Scaling"))
    second_server, another_machine = more.splitlines()
    elsewhere = f"cp .noetl/worker.token worker.token\nNOETL_HOME=elsewhere {another_machine}"
    end = "noetl worker stop --pool default\nnoetl worker stop --pool gpu\nNOETL_HOME=elsewhere noetl worker stop\n"

    said = machine.does(ten, second_server, elsewhere, tokens, scaling, "noetl worker status", end)

    assert "hello, world" in said
    assert "0 failures" in said
    assert "nightly reports" in said
    assert re.search(r"^default +yes +8 ", said, re.MULTILINE)
    assert re.search(r"^gpu +yes +2 ", said, re.MULTILINE)
