"""What somebody does who has just installed NoETL: run by `dist_check.py` with the Python of an empty environment.

In: the `noetl` beside this interpreter, an empty folder. Out: nothing if all went well, else the command, what was
wanted and what came. Needs nothing but the standard library; imports noetl from nowhere but that environment.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

NOETL = str(Path(sys.executable).parent / "noetl")
SECONDS_MAX = 60
PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: first, path: story/first}
workload: {count: 3}
workflow:
  - step: squares
    loop:
      in: "{{ range(workload.count) }}"
      iterator: number
      spec: {mode: parallel}
    tool:
      kind: python
      input: {number: "{{ iter.number }}"}
      code: return input["number"] ** 2
    set:
      ctx.squares: "{{ output.data }}"
    next:
      arcs:
        - step: total
  - step: total
    tool:
      kind: python
      input: {squares: "{{ ctx.squares }}"}
      code: return sum(input["squares"])
"""
SMALL = PLAYBOOK.replace("workload: {count: 3}", "workload: {count: 2}").replace("story/first", "story/small")


class Disappointment(Exception):
    """A command that did not do what a newcomer was told it does."""


def noetl(*words: str, wanted: int = 0) -> str:
    """One command to its end; its standard output."""
    command = [NOETL, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    if done.returncode != wanted or "Traceback" in done.stderr:
        said = f"{done.stdout}{done.stderr}"
        raise Disappointment(f"noetl {' '.join(words)}: exit code {done.returncode}, wanted {wanted}:\n{said}")
    return done.stdout


def answer(*words: str) -> Any:
    return json.loads(noetl(*words, "--format", "json"))


def expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise Disappointment(f"{what}: wanted {wanted!r}, found {found!r}")


def look_around() -> None:
    expect("noetl --version", metadata.version("noetl") in noetl("--version"), True)
    expect("where noetl is", str(Path(sys.prefix)) in noetl_file(), True)
    noetl("explain", "NL301")


def noetl_file() -> str:
    command = [sys.executable, "-I", "-c", "import noetl; print(noetl.__file__)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def run_a_playbook() -> None:
    Path("first.yaml").write_text(PLAYBOOK)
    noetl("check", "first.yaml")
    noetl("graph", "first.yaml")
    ran = answer("run", "first.yaml")
    expect("the run", (ran["status"], ran["output"]["data"]), ("success", 5))
    identity = ran["execution_id"]
    expect("the list", [row["execution_id"] for row in answer("list")], [identity])
    noetl("show", identity)
    names = [json.loads(line)["name"] for line in noetl("events", identity, "--format", "json").splitlines()]
    expect(
        "the first and the last event", (names[0], names[-1]), ("playbook.execution.requested", "playbook.processed")
    )
    noetl("replay", identity, "--verify")
    noetl("why", identity, "total")
    noetl("export", identity, "--output", "first.noetl")
    noetl("check", "missing.yaml", wanted=2)


def start_a_project() -> None:
    noetl("init", "project")
    noetl("check", *map(str, Path("project").rglob("*.yaml")))
    ran = answer("run", "project/orders.yaml")
    expect("the run of a new project", ran["status"], "success")
    noetl("test", "project")


def use_a_server() -> None:
    with server() as url:
        Path("small.yaml").write_text(SMALL)
        ran = answer("run", "small.yaml", "--server", url)
        expect("the run on a server", (ran["status"], ran["output"]["data"]), ("success", 1))
        listed = [row["execution_id"] for row in answer("list", "--server", url)]
        expect("the list of a server has the run", ran["execution_id"] in listed, True)
        pages(f"{url}/ui/")


@contextmanager
def server(*words: str) -> Iterator[str]:
    port = free_port()
    noetl("server", "start", "--detach", "--port", str(port), *words)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        noetl("server", "stop")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def started(*words: str) -> Iterator[Any]:
    """A command that goes on: the first line it prints, read as JSON."""
    with subprocess.Popen([NOETL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()  # type: ignore[union-attr]
            if not line:
                raise Disappointment(f"noetl {' '.join(words)} said nothing:\n{process.stderr.read()}")  # type: ignore[union-attr]
            yield json.loads(line)
        finally:
            process.terminate()


def open_the_pages() -> None:
    with started("ui", "--no-browser", "--format", "json") as place:
        pages(place["url"])


def pages(url: str) -> None:
    """The page answers, and so does everything it names."""
    ask = build_opener(ProxyHandler({})).open
    with ask(url, timeout=SECONDS_MAX) as page:
        text = page.read().decode()
    named = re.findall(r'(?:src|href)="([^"]*assets/[^"]+)"', text)
    expect("scripts and styles that the page names", len(named) >= 2, True)
    for name in named:
        with ask(url.partition("/ui/")[0] + "/ui/assets/" + name.rpartition("/")[2], timeout=SECONDS_MAX) as part:
            expect(f"{name} is there", len(part.read()) > 0, True)


def use_a_cluster() -> None:
    """A server and a worker of their own, over the PostgreSQL and the NATS that the settings name."""
    Path("first.yaml").write_text(PLAYBOOK)
    with server("--no-workers") as url:
        noetl("worker", "start", "--detach", "--processes", "1")
        try:
            ran = answer("run", "first.yaml", "--server", url)
            expect("the run on a cluster", (ran["status"], ran["output"]["data"]), ("success", 5))
            noetl("replay", ran["execution_id"], "--verify", "--server", url)
        finally:
            noetl("worker", "stop")


STORIES = (look_around, run_a_playbook, start_a_project, use_a_server, open_the_pages)


def main() -> int:
    parser = argparse.ArgumentParser(description="Use a new installation.")
    parser.add_argument("--extra", choices=("cluster",))
    extra = parser.parse_args().extra
    try:
        for part in STORIES if extra is None else (use_a_cluster,):
            part()
    except (Disappointment, subprocess.TimeoutExpired) as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
