"""A cluster on this machine: PostgreSQL, NATS, servers and workers, all of them real processes.

What a test does to it goes through here: a request to a server, a process killed, paused or started again, a service
taken away. Servers, workers and command lines share one home, and with it the tokens that the first server makes.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from noetl.testing.services import Restartable, restarting_nats, restarting_postgres
from tests.cluster.deployment import LEASE_SECONDS, READY_SECONDS_MAX, Deployment
from tests.cluster.processes import LOOK_SECONDS, Program

ENROLLED = "worker of pool"  # in the first line that a worker prints once its processes are known to a server


class Cluster(Deployment):
    """See above; made by `running_cluster`."""

    def __init__(self, folder: Path, postgres: Restartable, nats: Restartable, lease_seconds: float) -> None:
        super().__init__(
            folder,
            lease_seconds,
            NOETL_STORE_URL=postgres.url,
            NOETL_QUEUE_URL=nats.url,
            NOETL_HTTP_LOOPBACK="true",  # the test's own web server is there
        )
        self.postgres = postgres
        self.nats = nats

    def add_worker(self, *flags: str, **environ: str) -> Program:
        """One process, so that a signal to it reaches the whole worker; it has no address of a database."""
        worker = Program(
            f"worker-{len(self.workers) + 1}",
            ("worker", "start", "--processes", "1", *flags),
            folder=self.folder,
            environ={name: value for name, value in self.environ.items() if name != "NOETL_STORE_URL"} | environ,
            is_ready=lambda program: ENROLLED in program.log,
        )
        self.workers.append(worker)
        worker.start()
        return worker


@contextmanager
def running_cluster(
    folder: Path,
    *,
    servers: int = 2,
    workers: int = 3,
    lease_seconds: float = LEASE_SECONDS,
    stop_signal: str = "SIGINT",
    **environ: str,
) -> Iterator[Cluster]:
    """A cluster that is ready; ended by force, whatever the test did to it. `stop_signal` is how PostgreSQL ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as services:
        postgres = services.enter_context(restarting_postgres(stop_signal=stop_signal))
        nats = services.enter_context(restarting_nats())
        cluster = Cluster(folder, postgres, nats, lease_seconds)
        cluster.environ |= environ
        try:
            start_all(cluster, servers, workers)
            yield cluster
        finally:
            for program in (*cluster.workers, *cluster.servers):
                program.discard()


def start_all(cluster: Cluster, servers: int, workers: int) -> None:
    cluster.home.mkdir(parents=True, exist_ok=True)
    for _ in range(servers):
        cluster.add_server()
    for server in cluster.servers:
        server.await_ready(READY_SECONDS_MAX)
    for _ in range(workers):
        cluster.add_worker()
    cluster.await_ready()


def until(is_so: Callable[[], object], what: str, seconds_max: float = READY_SECONDS_MAX) -> None:
    """Look until something that other processes do has happened."""
    deadline = time.monotonic() + seconds_max
    while not is_so():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(LOOK_SECONDS)
