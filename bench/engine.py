"""The engine: steps, iterations, workflows and requests, each beside what the machine could do at best."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import limits, workloads
from bench.embedded import Measured, run
from bench.front_end import NOETL, NOTHING, spawn
from bench.measure import Ratio, compare, ratio_of

ROUNDS = 7
STEPS = 200
ITERATIONS, IN_FLIGHT = 2_000, 100
WORKFLOWS, STEPS_EACH = 500, 3
REQUESTS, REQUESTS_IN_FLIGHT = 500, 50


def measurements() -> Iterator[Ratio]:
    """Every figure of the engine, with the limit it has to keep."""
    yield chain()
    yield from loop()
    yield workflows()
    yield start_up()
    yield requests()


def in_turns(ours: Callable[[], Measured], theirs: Callable[[], float]) -> list[tuple[Measured, float]]:
    return [(ours(), theirs()) for _ in range(ROUNDS)]


def chain() -> Ratio:
    """A step must be on disk before the next one begins: one commit of one row is the least."""
    text = workloads.chain(STEPS)
    rows = [row for commit in run(text, keeps_commits=True).commits for row in commit]
    single = [[row] for row in rows[:STEPS]]
    pairs = [(one.seconds, two) for one, two in in_turns(lambda: run(text), lambda: limits.sqlite(single))]
    return ratio_of(f"chain of {STEPS} steps", "1 commit of 1 row each", pairs, limit=8, count=STEPS)


def loop() -> Iterator[Ratio]:
    text = workloads.loop(ITERATIONS, IN_FLIGHT)
    commits = run(text, keeps_commits=True).commits
    rounds = [
        (run(text), limits.sqlite(commits), limits.bare_tasks(ITERATIONS, IN_FLIGHT)) for _ in range(ROUNDS)
    ]  # in turns, as everywhere
    name, same = f"loop of {ITERATIONS:,}, {IN_FLIGHT} at once", "SQLite, the same commits"
    tasks = [(ours.seconds, bare) for ours, _, bare in rounds]
    yield ratio_of(name, "bare asyncio tasks", tasks, limit=80, count=ITERATIONS)
    whole = [(ours.seconds, stored) for ours, stored, _ in rounds]
    yield ratio_of(name, same, whole, limit=25, count=ITERATIONS)
    storage = [(ours.storage_seconds, stored) for ours, stored, _ in rounds]
    yield ratio_of("  its storage", same, storage, limit=6, count=ITERATIONS)


def workflows() -> Ratio:
    text = workloads.chain(STEPS_EACH)
    commits = run(text, executions=WORKFLOWS, keeps_commits=True).commits
    pairs = in_turns(lambda: run(text, executions=WORKFLOWS), lambda: limits.sqlite(commits))
    name = f"{WORKFLOWS} workflows of {STEPS_EACH} steps"
    return ratio_of(
        name, "SQLite, the same commits", [(one.seconds, two) for one, two in pairs], limit=25, count=WORKFLOWS
    )


def start_up() -> Ratio:
    """A new process, one step that does nothing, and out: what every run pays."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "one.yaml"
        file.write_text(workloads.chain(1), encoding="utf-8")
        words = ["run", str(file), "--home", folder, "--format", "json"]
        return compare(
            "noetl run, one step", spawn([*NOETL, *words]), "python -c pass", spawn(NOTHING), rounds=15, limit=40
        )


def requests() -> Ratio:
    text = workloads.requests(REQUESTS, REQUESTS_IN_FLIGHT)
    with http_server() as url:
        pairs = in_turns(
            lambda: run(text, payload={"url": url}), lambda: limits.bare_requests(url, REQUESTS, REQUESTS_IN_FLIGHT)
        )
    name = f"{REQUESTS} GETs, {REQUESTS_IN_FLIGHT} at once"
    return ratio_of(name, "bare aiohttp", [(one.seconds, two) for one, two in pairs], limit=10, count=REQUESTS)


@contextmanager
def http_server() -> Iterator[str]:
    """A process of its own, so that it does not share our interpreter's lock."""
    command = [sys.executable, "-m", "bench.http_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip() if server.stdout else ""
        finally:
            server.terminate()
