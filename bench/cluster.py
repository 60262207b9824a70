"""The cluster's figures: one server and two worker processes on this machine, beside what PostgreSQL, aiohttp and the
interpreter do by themselves in the same run; and what a second worker process gains where code needs the processor."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench import limits, workloads
from bench.deployment import Cluster
from bench.http_server import http_server
from bench.measure import Rounds, repeated, timed
from bench.report import Figure
from bench.spawning import BARE_PYTHON, NOETL, spawned

STEPS = 200
ITERATIONS, IN_FLIGHT = 2_000, 100
WORKFLOWS, STEPS_EACH = 500, 3
REQUESTS, REQUESTS_IN_FLIGHT = 500, 50
EVENTS_PER_TASK = 4  # of a no-op iteration, and about those of a step of a workflow
BURNS, BURN_SECONDS = 200, 0.02
# A python task runs in a child process of a worker process, as many at once as that has slots: one each here, so that
# what is compared is one worker process with two and not one child with two.
ONE_SLOT = {"NOETL_PROCESS_SLOTS": "1"}
LOOPBACK = {"NOETL_HTTP_LOOPBACK": "true"}


class Pair(NamedTuple):
    """Seconds of ours and of the yardstick, processor seconds of server and workers, and their memory afterwards."""

    ours: float
    bare: float
    cpu: float
    mebibytes: float


def figures(rounds: int) -> Iterator[Figure]:
    with Cluster(processes=2, variables=LOOPBACK) as cluster:
        memory: list[float] = []
        for figure in _workloads(cluster, rounds):
            memory.append(figure.peak_mebibytes or 0.0)
            yield figure
        yield Figure(
            name="cluster memory",
            title="server and workers after the workloads, without PostgreSQL and NATS",
            unit="MiB",
            rounds=[max(memory)],
            rounds_taken=1,
            rounds_clean=1,
        )
    yield second_worker(rounds)


def _workloads(cluster: Cluster, rounds: int) -> Iterator[Figure]:
    yield chain(cluster, rounds)
    yield loop(cluster, rounds)
    yield many(cluster, rounds)
    yield hello(cluster, rounds)
    yield requests(cluster, rounds)


def chain(cluster: Cluster, rounds: int) -> Figure:
    text = workloads.chain(STEPS)
    taken = in_turns(cluster, lambda: cluster.run(text), lambda: cluster.bare.rows(STEPS, 1), rounds)
    return taken.figure(
        "cluster W1",
        f"chain of {STEPS} no-op steps",
        "ms/step",
        lambda pair: pair.ours / STEPS * 1000,
        beside="1 PostgreSQL commit of 1 row a step",
        beside_value=lambda pair: pair.bare / STEPS * 1000,
        **costs(taken.found, STEPS),
    )


def loop(cluster: Cluster, rounds: int) -> Figure:
    text = workloads.loop(ITERATIONS, IN_FLIGHT)
    rows = EVENTS_PER_TASK * ITERATIONS
    taken = in_turns(cluster, lambda: cluster.run(text), lambda: cluster.bare.rows(rows, 100), rounds)
    title = f"loop of {ITERATIONS:,} no-ops, {IN_FLIGHT} in flight"
    return rate("cluster W2", title, taken, ITERATIONS, "PostgreSQL alone, 4 rows a task, 100 a commit")


def many(cluster: Cluster, rounds: int) -> Figure:
    text = workloads.chain(STEPS_EACH)
    rows = EVENTS_PER_TASK * STEPS_EACH * WORKFLOWS
    taken = in_turns(cluster, lambda: cluster.run_many(text, WORKFLOWS), lambda: cluster.bare.rows(rows, 100), rounds)
    title = f"{WORKFLOWS} workflows of {STEPS_EACH} steps at once, each asked for over HTTP"
    return rate("cluster W3", title, taken, WORKFLOWS, "PostgreSQL alone, 12 rows a workflow, 100 a commit")


def hello(cluster: Cluster, rounds: int) -> Figure:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hello.yaml"
        file.write_text(workloads.chain(1), encoding="utf-8")
        words = ["run", str(file), "--server", cluster.url, "--token-file", str(cluster.token_file)]
        ours, bare = spawned([*NOETL, *words, "--format", "json"]), spawned(BARE_PYTHON)
        taken = in_turns(cluster, lambda: timed(ours), lambda: timed(bare), rounds)
    return taken.figure(
        "cluster W4",
        "`noetl run --server` of one step, a new process",
        "ms",
        lambda pair: pair.ours * 1000,
        beside="`python -c pass`",
        beside_value=lambda pair: pair.bare * 1000,
        **costs(taken.found, 1),
    )


def requests(cluster: Cluster, rounds: int) -> Figure:
    text = workloads.requests(REQUESTS, REQUESTS_IN_FLIGHT)
    with http_server() as url:
        taken = in_turns(
            cluster,
            lambda: cluster.run(text, {"url": url}),
            lambda: limits.requests(url, REQUESTS, REQUESTS_IN_FLIGHT),
            rounds,
        )
    title = f"loop of {REQUESTS} GETs on loopback, {REQUESTS_IN_FLIGHT} in flight"
    return rate("cluster W5", title, taken, REQUESTS, "bare aiohttp")


def second_worker(rounds: int) -> Figure:
    """Not in turns: there is one cluster at a time."""
    text = workloads.burning(BURNS, IN_FLIGHT, BURN_SECONDS)
    found = []
    for processes in (1, 2):
        with Cluster(processes=processes, variables=ONE_SLOT) as cluster:
            found.append(in_turns(cluster, lambda: cluster.run(text), lambda: 0.0, rounds))
    one, two = found
    return two.figure(
        "cluster second worker",
        f"loop of {BURNS} x {BURN_SECONDS * 1000:.0f} ms of processor time, two worker processes",
        "/s",
        lambda pair: BURNS / pair.ours,
        beside="one worker process",
        beside_value=lambda _: BURNS / sorted(pair.ours for pair in one.found)[len(one.found) // 2],
    )


def in_turns(cluster: Cluster, ours: Callable[[], float], bare: Callable[[], float], rounds: int) -> Rounds[Pair]:
    """Rounds of Pairs, after each side has run once."""
    ours(), bare()

    def once() -> Pair:
        cpu = cluster.cpu_seconds()
        seconds = ours()
        return Pair(seconds, bare(), cluster.cpu_seconds() - cpu, cluster.mebibytes())

    return repeated(once, rounds)


def rate(name: str, title: str, taken: Rounds[Pair], count: int, beside: str) -> Figure:
    return taken.figure(
        name,
        title,
        "/s",
        lambda pair: count / pair.ours,
        beside=beside,
        beside_value=lambda pair: count / pair.bare,
        **costs(taken.found, count),
    )


def costs(pairs: list[Pair], count: int) -> dict[str, float]:
    return {
        "cpu_ms_per_item": sorted(pair.cpu for pair in pairs)[len(pairs) // 2] / count * 1000,
        "peak_mebibytes": max(pair.mebibytes for pair in pairs),
    }
