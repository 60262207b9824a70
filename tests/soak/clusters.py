"""A soak of a cluster: the world of the kill test, with PostgreSQL gone every few seconds beside all other faults."""

import json
import random
import subprocess
import sys
import threading
from pathlib import Path

import psycopg

from noetl.testing.services import Restartable
from tests.cluster.cluster import Cluster, running_cluster, until
from tests.cluster.faults import WEIGHTS, Fault, Faults
from tests.cluster.load import Demand, Load
from tests.soak.figures import ROOT, Disturbances, Figures, Report
from tests.soak.patience import CHECK_SECONDS_MAX, END_SECONDS_MAX, WAIT_SECONDS_MAX, has_ended, story_in, telling

LIVE = "SELECT count(*) FROM execution WHERE status IN ('running', 'waiting', 'incident')"
SHAPES = ("chain", "chain", "chain", "loops", "caller", "stubborn", "stubborn", "patient")
DEMAND = Demand(between_seconds=(0.3, 1.5), wait_seconds_max=WAIT_SECONDS_MAX, shapes=SHAPES)
FAULTS: dict[Fault, int] = {fault: weight for fault, weight in WEIGHTS.items() if fault is not Faults.restart_postgres}
RESTART_SECONDS = (5.0, 40.0)  # between two restarts of PostgreSQL
DOWN_SECONDS = (0.0, 2.0)
TABLES = ("execution", "event", "job")


class Restarts:
    """Takes PostgreSQL away every few seconds, from a thread of its own: also while a server starts or is paused."""

    def __init__(self, postgres: Restartable, seed: int) -> None:
        self.postgres = postgres
        self.chance = random.Random(seed)
        self.count = 0
        self.failure: BaseException | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="restarts", daemon=True)

    def __enter__(self) -> "Restarts":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """PostgreSQL is there when this returns."""
        self._ending.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            while not self._ending.wait(self.chance.uniform(*RESTART_SECONDS)):
                self.postgres.stop()
                self._ending.wait(self.chance.uniform(*DOWN_SECONDS))
                self.postgres.start()
                self.count += 1
        except BaseException as failure:  # raised where the soak waits for this thread
            self.failure = failure


def soak(folder: Path, seconds: float, seed: int) -> Figures:
    with running_cluster(folder, stop_signal="SIGQUIT") as cluster:
        load, faults = Load(cluster, folder, seed, DEMAND), Faults(cluster, seed, FAULTS)
        load.register()
        load.schedule()
        load.start()
        progress = telling("cluster", seconds, lambda: f"{len(load.started)} started, {dict(faults.counts)}")
        with progress, story_in(folder / "story", faults.told):
            with Restarts(cluster.postgres, seed) as restarts:
                faults.disturb(seconds)
            settle(cluster)
            faults.heal()
            load.stop()
            has_ended(lambda: live(cluster), END_SECONDS_MAX)
        report = checked(cluster, load)
        if report["fault_count"]:
            keep_tables(cluster, folder)
    return Figures("cluster", seconds / 60.0, seed, disturbances_of(faults, restarts), (report,))


def settle(cluster: Cluster) -> None:
    """Wait for servers that began while PostgreSQL was gone: they may be about to end, and are then started again."""
    programs = (*cluster.servers, *cluster.workers)
    until(lambda: all(one.is_settled for one in programs), f"each is ready, or has ended: {cluster.logs()}")


def disturbances_of(faults: Faults, restarts: Restarts) -> Disturbances:
    counts = faults.counts
    return Disturbances(
        kills=counts["kill_worker"] + counts["kill_server"] + counts["kill_all_servers"] * len(faults.cluster.servers),
        pauses=counts["pause_worker"] + counts["pause_server"],
        restarts=restarts.count,
        outages=counts["stop_nats"],
    )


def live(cluster: Cluster) -> int:
    with psycopg.connect(cluster.postgres.url) as connection:
        (count,) = connection.execute(LIVE).fetchone() or (0,)
    return int(count)


def checked(cluster: Cluster, load: Load) -> Report:
    """What an independent program finds, that knows the tables and the file and nothing else."""
    words = [sys.executable, "-m", "tests.cluster.checker", cluster.postgres.url, str(load.ledger), str(load.promises)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=CHECK_SECONDS_MAX, check=False)
    assert done.stdout, done.stderr
    report: Report = json.loads(done.stdout)
    return report


def keep_tables(cluster: Cluster, folder: Path) -> None:
    """The database goes with the cluster; what it held stays as evidence."""
    with psycopg.connect(cluster.postgres.url) as connection:
        for table in TABLES:
            copying = connection.cursor().copy(f"COPY {table} TO STDOUT")
            with (folder / f"{table}.copy").open("wb") as file, copying as rows:
                file.writelines(rows)
